//! Errors as the kernel gives them.

use std::fmt;

use nix::errno::Errno;
use weir_kernel::Error;

/// The kernel's number, with what was being done.
pub(crate) fn refused(errno: Errno, doing: impl fmt::Display) -> Error {
    Error::from(errno).while_doing(doing)
}
