//! A gate that lets everything through: the kernel layer's functions want a permit.

use weir_gate::{Outcome, Permit, Refusal};
use weir_grant::Operation;
use weir_kernel as kernel;
use weir_kit::gate;

/// What can come of an operation here.
#[derive(Debug)]
pub enum Failure {
    Denied(Refusal),
    Kernel(kernel::Error),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Denied(refusal) => refusal.fmt(f),
            Self::Kernel(error) => error.fmt(f),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Denied(refusal)
    }
}

impl Outcome for Failure {
    fn is_refusal(&self) -> bool {
        false
    }
}

/// Carries an operation out, whatever a grant may say of it.
pub fn permitted<O: Operation, T>(
    operation: O,
    act: impl FnOnce(&Permit<O>) -> Result<T, kernel::Error>,
) -> Result<T, Failure> {
    gate::everything().perform(operation, |permit| act(permit).map_err(Failure::Kernel))
}
