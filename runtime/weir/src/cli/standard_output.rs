//! Standard output, of which a failure is told once, when the command has ended.
//!
//! Whoever prints goes on where nothing can be written any more, so that what is left to do is done:
//! a throw-away node removed, an answer found. What failed is kept, and nothing is written after it.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

static FAILURE: OnceLock<Failure> = OnceLock::new();

/// Why standard output cannot be written: the disk is full, or nobody reads.
#[derive(Clone, Debug, thiserror::Error)]
#[error("standard output cannot be written: {why}")]
pub struct Failure {
    kind: ErrorKind,
    why: String,
}

impl Failure {
    /// Whether who was reading has ended, having seen enough.
    pub fn is_without_reader(&self) -> bool {
        self.kind == ErrorKind::BrokenPipe
    }

    /// Whether this is what another error comes from.
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
    // `finish` tells of it.
    let _ = StandardOutput.write_fmt(text);
}

/// Writes what is not written yet. Errors: the first failure since the program began.
pub fn finish() -> Result<(), Failure> {
    let _ = StandardOutput.flush();
    match FAILURE.get() {
        Some(failure) => Err(failure.clone()),
        None => Ok(()),
    }
}

/// For what writes by itself. Its errors are a [`Failure`].
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
        // To be tried again.
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
    fn a_failure_is_found_below_what_others_say_of_it() {
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
