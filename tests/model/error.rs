//! Errors as the kernel gives them.

use std::fmt;

use nix::errno::Errno;
use weir_kernel::Error;

/// The kernel's number, with what was being done.
pub(crate) fn refused(errno: Errno, doing: impl fmt::Display) -> Error {
    while_doing(errno.into(), doing)
}

/// Says what was being done.
pub(crate) fn while_doing(error: Error, doing: impl fmt::Display) -> Error {
    Error {
        message: format!("{doing}: {}", error.message),
        ..error
    }
}
