//! A gate that lets everything through: the kernel layer's functions want a permit.

use weir_gate::{Audit, Gate, Outcome, Permit, Refusal, Subject};
use weir_grant::{Capabilities, Invocation, Operation};
use weir_kernel as kernel;

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
    everything().perform(operation, |permit| act(permit).map_err(Failure::Kernel))
}

/// A gate with a rule for each capability that matches all of it, and no log.
fn everything() -> Gate {
    let all = r#"{"link": [{}], "address": [{}], "route": [{}], "neighbour": [{}], "traffic": [{}],
        "firewall": [{}], "conntrack": [{}]}"#;
    let capabilities: Capabilities = serde_json::from_str(all).expect("rules without keys");
    let subject = Subject {
        command: "ADD",
        ..Subject::default()
    };
    let audit = Audit::nowhere(subject);
    Gate::new(capabilities, Invocation::default(), audit)
}
