//! Failures of calls: what one leaves behind, and several as one error.

use std::fmt;

use weir_cni::Error;

/// A plugin's call that failed.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) error: Error,
    /// Whether it needs a DEL: an ADD of a program that has run. What a component did, the host has undone.
    pub(super) owes_del: bool,
}

impl From<Error> for Failed {
    /// A call that left nothing.
    fn from(error: Error) -> Self {
        Self {
            error,
            owes_del: false,
        }
    }
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        failed.error
    }
}

impl Failed {
    /// The same with a prefix before its error.
    pub(super) fn with_prefix(self, prefix: impl fmt::Display) -> Self {
        let error = self.error.with_prefix(prefix);
        Self { error, ..self }
    }
}

/// The error of an ADD, with the failures of undoing it in its details.
pub fn with_left(error: Error, left: &[Error]) -> Error {
    let mut details = vec![error.details.clone()];
    details.retain(|details| !details.is_empty());
    details.extend(left.iter().map(|left| format!("and then DEL: {left}")));
    error.with_details(details.join("; "))
}

/// Fails if anything failed: with the first failure, and the others in its details.
pub fn together(failures: impl IntoIterator<Item = Error>) -> Result<(), Error> {
    let mut failures = failures.into_iter();
    let Some(first) = failures.next() else {
        return Ok(());
    };
    let mut details = vec![first.details.clone()];
    details.retain(|details| !details.is_empty());
    details.extend(failures.map(|failure| failure.to_string()));
    Err(first.with_details(details.join("; ")))
}
