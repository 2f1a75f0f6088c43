//! Decisions as the tests of the capabilities ask for them.

use crate::facts::LinkFacts;
use crate::namespace::Namespace;
use crate::{Capabilities, Decision, Invocation, Operation, decide};

/// The decision of a grant's capabilities, as JSON, on an operation of the attachment of `eth0` to the network `net`.
pub(crate) fn decision<O: Operation>(grant: &str, operation: &O) -> Decision {
    let capabilities: Capabilities = serde_json::from_str(grant).expect("a grant");
    let invocation = Invocation {
        ifname: "eth0".to_owned(),
        network: "net".to_owned(),
        ..Invocation::default()
    };
    decide(&capabilities, &invocation, operation)
}

/// The rule that came closest and the field in which it missed, as `link[0]: names`; empty where there is no rule, and
/// none where the operation is allowed.
pub(crate) fn missed<O: Operation>(grant: &str, operation: &O) -> Option<String> {
    match decision(grant, operation) {
        Decision::Allowed { .. } => None,
        Decision::Denied { closest, .. } => {
            Some(closest.map_or_else(String::new, |c| c.to_string()))
        }
    }
}

/// The decision that these rules allow it.
pub(crate) fn allowed(rules: &[&str]) -> Decision {
    Decision::Allowed {
        rules: rules.iter().map(|rule| (*rule).to_owned()).collect(),
    }
}

/// The decision that nothing allows what is required.
pub(crate) fn denied(requirement: &str, closest: Option<&str>) -> Decision {
    Decision::Denied {
        requirement: requirement.to_owned(),
        closest: closest.map(Into::into),
    }
}

/// A link of `host` that weir did not make.
pub(crate) fn link(name: &str, kind: &str) -> LinkFacts {
    LinkFacts {
        owner: String::new(),
        by_index: false,
        namespace: Namespace::Host,
        index: 7,
        name: name.to_owned(),
        kind: kind.to_owned(),
    }
}
