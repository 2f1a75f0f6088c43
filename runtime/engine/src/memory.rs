//! Makes code executable where it lies: in the pages of the binary itself, or in a mapping.

use std::ffi::c_void;
use std::ptr::NonNull;

use nix::sys::mman::{ProtFlags, mprotect};
use wasmtime::{CustomCodeMemory, Result};

/// A divisor of Linux's page size on every architecture that the engine supports.
const PAGE: usize = 4096;

/// Changes the protection of pages in place; memory is never writable and executable at once.
pub(crate) struct InPlace;

impl CustomCodeMemory for InPlace {
    fn required_alignment(&self) -> usize {
        PAGE
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
