//! Errors of operations, and how they become CNI errors.

use std::fmt;

use weir_cni::Error;

use crate::{ErrorCode, OperationError, codes};

/// What an operation returns.
pub type Result<T, E = OperationError> = std::result::Result<T, E>;

impl OperationError {
    /// Whether the object of the operation is gone: it does not exist, or its namespace does not.
    pub fn is_gone(&self) -> bool {
        matches!(self.code, ErrorCode::NotFound | ErrorCode::NoNamespace)
    }
}

impl From<OperationError> for Error {
    fn from(error: OperationError) -> Self {
        Error::new(codes::of(error.code), error.message)
    }
}

/// Reads the result of an operation whose object may be gone, or exist already.
pub trait Outcome<T> {
    /// Returns the value, or none if the operation's object is gone: not found, or in a namespace that
    /// no longer exists.
    fn found(self) -> Result<Option<T>, OperationError>;

    /// Succeeds also if the object exists already, and returns `false` then.
    fn or_exists(self) -> Result<bool, OperationError>;
}

impl<T> Outcome<T> for Result<T, OperationError> {
    fn found(self) -> Result<Option<T>, OperationError> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.is_gone() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn or_exists(self) -> Result<bool, OperationError> {
        match self {
            Ok(_) => Ok(true),
            Err(error) if error.code == ErrorCode::Exists => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Adds to an error what the plugin was doing.
pub trait Context<T> {
    /// Makes it a CNI error whose message begins with `doing: `.
    fn context(self, doing: impl fmt::Display) -> Result<T, Error>;
}

impl<T, E: Into<Error>> Context<T> for Result<T, E> {
    fn context(self, doing: impl fmt::Display) -> Result<T, Error> {
        self.map_err(|error| error.into().with_prefix(doing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(code: ErrorCode) -> Result<(), OperationError> {
        Err(OperationError {
            code,
            message: "link `eth0` in host: no such link".to_owned(),
            errno: Some(19),
        })
    }

    fn in_a_plugin() -> Result<(), Error> {
        failed(ErrorCode::NotFound).context("cannot set `eth0` up")?;
        Ok(())
    }

    #[test]
    fn question_mark_and_context_make_a_cni_error() {
        let error = in_a_plugin().unwrap_err();
        assert_eq!(error.code, codes::NOT_FOUND);
        assert_eq!(
            error.msg,
            "cannot set `eth0` up: link `eth0` in host: no such link"
        );
    }

    #[test]
    fn gone_objects_are_none_and_other_failures_stay() {
        assert_eq!(failed(ErrorCode::NotFound).found(), Ok(None));
        assert_eq!(failed(ErrorCode::NoNamespace).found(), Ok(None));
        assert!(failed(ErrorCode::Denied).found().is_err());
        assert_eq!(Ok(()).found(), Ok(Some(())));
    }

    #[test]
    fn existing_objects_are_no_failure_for_or_exists() {
        assert_eq!(failed(ErrorCode::Exists).or_exists(), Ok(false));
        assert!(failed(ErrorCode::NotFound).or_exists().is_err());
    }
}
