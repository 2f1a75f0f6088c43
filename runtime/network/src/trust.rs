//! The errors of files that decide what runs: unreadable ones, and those that someone else could have written.

use std::fmt::Display;

use weir_cni::{Code, Error};
use weir_files::file_trust::Untrusted;

/// The error for a file that is not read, which `what` names: code 5 where it cannot be, `code` where it is not trusted.
pub fn unread(what: impl Display, untrusted: &Untrusted, code: impl Into<Code>) -> Error {
    match untrusted {
        Untrusted::Unreadable(error) => Error::io_failure(format!("{what}: {error}")),
        Untrusted::Exposed(exposed) => {
            let why = format!("{what} is not trusted: {exposed}");
            Error::new(code, why).with_details(exposed.remedy())
        }
    }
}
