//! The renames that only renameat2(2) can do.

use std::os::fd::{AsFd, AsRawFd};

use nix::NixPath;
use nix::errno::Errno;
use nix::libc::{self, c_uint};

/// Swaps two names in a directory atomically. Errors: `ENOENT` if one does not exist; `EINVAL` if the file system cannot
/// do it.
pub fn exchange(directory: &impl AsFd, one: &str, other: &str) -> nix::Result<()> {
    rename(directory, one, other, libc::RENAME_EXCHANGE)
}

/// Renames a file in a directory, unless the new name exists. Errors: `EEXIST` if it does; `EINVAL` if the file system
/// cannot do it.
pub fn rename_new(directory: &impl AsFd, from: &str, to: &str) -> nix::Result<()> {
    rename(directory, from, to, libc::RENAME_NOREPLACE)
}

fn rename(directory: &impl AsFd, from: &str, to: &str, flags: c_uint) -> nix::Result<()> {
    let directory = directory.as_fd().as_raw_fd();
    // musl has no function for this system call.
    let result = from.with_nix_path(|from| {
        to.with_nix_path(|to| {
            let (from, to) = (from.as_ptr(), to.as_ptr());
            // SAFETY: the names end in NUL, and the descriptor is open.
            unsafe { libc::syscall(libc::SYS_renameat2, directory, from, directory, to, flags) }
        })
    })??;
    Errno::result(result).map(drop)
}
