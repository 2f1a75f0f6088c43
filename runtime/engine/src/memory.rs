//! Makes code executable where it lies: in a mapping, or in the pages of the binary itself. The code of the standard plugins already is,
//! and the kernel changes nothing.

use std::ffi::c_void;
use std::ptr::NonNull;

use nix::libc;
use nix::sys::mman::{ProtFlags, mprotect};
use wasmtime::{CustomCodeMemory, Result};

/// The largest page of Linux on this architecture, at which code built into the binary is aligned.
pub(crate) const LARGEST_PAGE: usize = if cfg!(target_arch = "aarch64") {
    65536
} else {
    4096
};

/// The page of this kernel: on AArch64 it can have 4, 16 or 64 KiB.
fn page() -> usize {
    // SAFETY: it reads a number that the kernel gave to the process.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(page).unwrap_or(LARGEST_PAGE)
}

/// Changes the protection of pages in place; memory is never writable and executable at once.
pub(crate) struct InPlace;

impl CustomCodeMemory for InPlace {
    fn required_alignment(&self) -> usize {
        page()
    }

    fn publish_executable(&self, ptr: *const u8, len: usize) -> Result<()> {
        protect(ptr, len, ProtFlags::PROT_READ | ProtFlags::PROT_EXEC)
    }

    fn unpublish_executable(&self, ptr: *const u8, len: usize) -> Result<()> {
        protect(ptr, len, ProtFlags::PROT_READ)
    }
}

fn protect(ptr: *const u8, len: usize, protection: ProtFlags) -> Result<()> {
    let Some(start) = NonNull::new(ptr.cast_mut().cast::<c_void>()) else {
        return Ok(());
    };
    // SAFETY: the engine owns these pages as code, and makes none writable.
    unsafe { mprotect(start, len, protection) }?;
    Ok(())
}
