//! Files that decide what runs: their content, and the errors of unreadable ones and of those that someone else could have
//! written.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, ErrorKind, Read};

use weir_cni::{Code, Error};
use weir_files::file_trust::Untrusted;

/// Returns the error for a file that is not read, which `what` names: code 5 where it cannot be, `code` where it is not
/// trusted.
pub fn unread(what: impl Display, untrusted: &Untrusted, code: impl Into<Code>) -> Error {
    match untrusted {
        Untrusted::Unreadable(error) => Error::io_failure(format!("{what}: {error}")),
        Untrusted::Exposed(exposed) => {
            let why = format!("{what} is not trusted: {exposed}");
            Error::new(code, why).with_details(exposed.remedy())
        }
    }
}

/// The largest record or cached result, in bytes.
const MOST_BYTES: u64 = 16 << 20;

/// Reads a file whole. Errors: also if it is larger than 16 MiB.
pub(crate) fn text_of(file: &File) -> io::Result<String> {
    let mut text = String::new();
    file.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        let why = format!("it is larger than {MOST_BYTES} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(text)
}
