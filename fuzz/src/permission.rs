//! A gate that lets everything through: the kernel layer's functions want a permit.

use weir::gate::{Audit, Denied, Gate, Permit, Subject};
use weir::grant::{Capabilities, Invocation, Operation};
use weir::kernel;

/// What can come of an operation here.
#[derive(Debug)]
pub enum Failure {
    Denied(Denied),
    Kernel(kernel::Error),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Denied(denied) => denied.fmt(f),
            Self::Kernel(error) => error.fmt(f),
        }
    }
}

impl From<Denied> for Failure {
    fn from(denied: Denied) -> Self {
        Self::Denied(denied)
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
        container_id: String::new(),
        ifname: String::new(),
        network: String::new(),
        definition: None,
        plugin: String::new(),
        digest: String::new(),
    };
    let audit = Audit::new(subject, Err("nothing is recorded".to_owned()), false);
    Gate::new(capabilities, Invocation::default(), audit)
}
