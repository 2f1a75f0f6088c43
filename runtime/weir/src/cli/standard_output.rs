//! Standard output, whose failure is reported once, when the command has ended.
//!
//! A command continues if nothing can be written any more, so that it finishes its work: it removes a temporary node, or
//! finds an answer. The failure is kept, and nothing is written after it.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

static FAILURE: OnceLock<Failure> = OnceLock::new();

/// Why standard output cannot be written: the disk is full, or there is no reader.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot write to standard output: {why}")]
pub struct Failure {
    kind: ErrorKind,
    why: String,
}

impl Failure {
    /// Whether the reader has ended.
    pub fn is_without_reader(&self) -> bool {
        self.kind == ErrorKind::BrokenPipe
    }

    /// Whether an error comes from such a failure.
    pub fn is_cause_of(error: &anyhow::Error) -> bool {
        let root = error.root_cause().downcast_ref::<io::Error>();
        let inner = root.and_then(|error| error.get_ref());
        inner.is_some_and(|inner| inner.is::<Self>())
    }
}

impl From<&Failure> for io::Error {
    fn from(failure: &Failure) -> Self {
        Self::new(failure.kind, failure.clone())
    }
}

/// Prints, unless that has failed before.
pub fn print(text: fmt::Arguments<'_>) {
    // `finish` reports it.
    let _ = StandardOutput.write_fmt(text);
}

/// Writes what is buffered. Errors: the first failure since the program began.
pub fn finish() -> Result<(), Failure> {
    let _ = StandardOutput.flush();
    FAILURE.get().cloned().map_or(Ok(()), Err)
}

/// Standard output as a writer. Its errors are a [`Failure`].
#[derive(Clone, Copy, Debug)]
pub struct StandardOutput;

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        attempt(|| io::stdout().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        attempt(|| io::stdout().flush())
    }
}

fn attempt<T>(write: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    if let Some(failure) = FAILURE.get() {
        return Err(failure.into());
    }
    write().map_err(|error| match error.kind() {
        // The caller tries again.
        ErrorKind::Interrupted => error,
        kind => {
            let why = error.to_string();
            io::Error::from(FAILURE.get_or_init(|| Failure { kind, why }))
        }
    })
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn a_failure_is_found_below_the_context_of_others() {
        let failure = Failure {
            kind: ErrorKind::StorageFull,
            why: "no space".to_owned(),
        };
        let through = |error: io::Error| Err::<(), _>(error).context("read the log");
        let error = through((&failure).into()).expect_err("it is one");
        assert!(Failure::is_cause_of(&error), "{error:#}");
        let wrapped = io::Error::other(error);
        let error = through(wrapped).expect_err("it is one");
        assert!(Failure::is_cause_of(&error), "{error:#}");
        let error = through(ErrorKind::StorageFull.into()).expect_err("it is one");
        assert!(!Failure::is_cause_of(&error), "{error:#}");
    }
}
