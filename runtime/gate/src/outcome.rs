//! The outcome of an operation.

use std::fmt;

use crate::refusal::Refusal;

/// The error type of an operation that is carried out; a refusal of the gate is one of its cases.
pub trait Outcome: From<Refusal> + fmt::Display {
    /// Whether weir refused the operation without asking the kernel.
    fn is_refusal(&self) -> bool;
}

impl Outcome for Refusal {
    /// The gate has recorded its own refusals already.
    fn is_refusal(&self) -> bool {
        false
    }
}

/// The outcome as records have it.
pub(crate) fn answer_of<T, E: fmt::Display>(outcome: &Result<T, E>) -> String {
    match outcome {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.to_string(),
    }
}
