//! renameat2(2): the renames that rename(2) has not.

use std::os::fd::{AsFd, AsRawFd};

use nix::NixPath;
use nix::errno::Errno;
use nix::libc::{self, c_uint};

/// Swaps two names of one directory in one step. Errors: `ENOENT` where one of them is missing; `EINVAL` where the file
/// system cannot.
pub fn exchange(directory: &impl AsFd, one: &str, other: &str) -> nix::Result<()> {
    rename(directory, one, other, libc::RENAME_EXCHANGE)
}

/// Gives a file of one directory another name. Errors: `EEXIST` where the name is taken; `EINVAL`
/// where the file system cannot look at that and rename in one step.
pub fn rename_new(directory: &impl AsFd, from: &str, to: &str) -> nix::Result<()> {
    rename(directory, from, to, libc::RENAME_NOREPLACE)
}

fn rename(directory: &impl AsFd, from: &str, to: &str, flags: c_uint) -> nix::Result<()> {
    let directory = directory.as_fd().as_raw_fd();
    // The C library that weir is linked with has no function for this system call.
    let result = from.with_nix_path(|from| {
        to.with_nix_path(|to| {
            let (from, to) = (from.as_ptr(), to.as_ptr());
            // SAFETY: the names are strings with a NUL at their end, and the descriptor is open.
            unsafe { libc::syscall(libc::SYS_renameat2, directory, from, directory, to, flags) }
        })
    })??;
    Errno::result(result).map(drop)
}
