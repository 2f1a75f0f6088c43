//! Errors as the kernel gives them.

use crate::bindings::OperationError;
use crate::bindings::weir::cni::types::ErrorCode;

/// What an operation answers.
pub(crate) type Result<T, E = OperationError> = std::result::Result<T, E>;

/// One of the kernel's error numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Errno {
    number: i32,
    code: ErrorCode,
    text: &'static str,
}

const fn errno(number: i32, code: ErrorCode, text: &'static str) -> Errno {
    Errno { number, code, text }
}

pub(super) const ENOENT: Errno =
    errno(2, ErrorCode::NotFound, "No such file or directory (ENOENT)");
pub(super) const ESRCH: Errno = errno(3, ErrorCode::NotFound, "No such process (ESRCH)");
pub(super) const EACCES: Errno = errno(13, ErrorCode::Failed, "Permission denied (EACCES)");
pub(super) const EBUSY: Errno = errno(16, ErrorCode::Busy, "Device or resource busy (EBUSY)");
pub(super) const EEXIST: Errno = errno(17, ErrorCode::Exists, "File exists (EEXIST)");
pub(super) const ENODEV: Errno = errno(19, ErrorCode::NotFound, "No such device (ENODEV)");
pub(super) const EINVAL: Errno = errno(22, ErrorCode::Invalid, "Invalid argument (EINVAL)");
pub(super) const ELOOP: Errno = errno(40, ErrorCode::Invalid, "Too many levels of links (ELOOP)");
pub(super) const EOPNOTSUPP: Errno = errno(
    95,
    ErrorCode::Unsupported,
    "Operation not supported (EOPNOTSUPP)",
);
pub(super) const EADDRNOTAVAIL: Errno = errno(
    99,
    ErrorCode::NotFound,
    "Cannot assign requested address (EADDRNOTAVAIL)",
);
pub(super) const ENETDOWN: Errno = errno(100, ErrorCode::Failed, "Network is down (ENETDOWN)");
pub(super) const ENETUNREACH: Errno = errno(
    101,
    ErrorCode::Invalid,
    "Network is unreachable (ENETUNREACH)",
);
pub(super) const EHOSTUNREACH: Errno =
    errno(113, ErrorCode::Invalid, "No route to host (EHOSTUNREACH)");

impl From<Errno> for OperationError {
    fn from(errno: Errno) -> Self {
        OperationError {
            code: errno.code,
            message: errno.text.to_owned(),
            errno: Some(errno.number),
        }
    }
}

/// Refuses with one of the kernel's numbers.
pub(super) fn refuse<T>(errno: Errno) -> Result<T> {
    Err(errno.into())
}

/// Makes an error that is not the kernel's.
pub(super) fn error(code: ErrorCode, message: impl Into<String>) -> OperationError {
    OperationError {
        code,
        message: message.into(),
        errno: None,
    }
}

/// Makes the error for a malformed argument.
pub(super) fn invalid(message: impl Into<String>) -> OperationError {
    error(ErrorCode::Invalid, message)
}

/// Makes the error for what does not exist.
pub(super) fn not_found(message: impl Into<String>) -> OperationError {
    error(ErrorCode::NotFound, message)
}
