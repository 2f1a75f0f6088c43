//! What came of an operation.

use std::fmt;

use crate::refusal::Refusal;

/// The error of what carries an operation out: a refusal of the gate is one of its cases.
pub trait Outcome: From<Refusal> + fmt::Display {
    /// Whether weir itself refused it, and the kernel was not asked.
    fn is_refusal(&self) -> bool;
}

impl Outcome for Refusal {
    /// It is recorded as what it is.
    fn is_refusal(&self) -> bool {
        false
    }
}

/// What a record says of an outcome.
pub(crate) fn answer_of<T, E: fmt::Display>(outcome: &Result<T, E>) -> String {
    match outcome {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.to_string(),
    }
}
