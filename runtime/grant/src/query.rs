//! Operations of any capability behind one type, for the tools.
//!
//! A record of the audit log and a person name an operation by words. Here the words become the
//! operation that the gate decides, so that a tool's answer is the gate's.

use serde::Serialize;
use serde_json::Value;

use super::Capabilities;
pub use super::Need;
use super::act::{Act, Severity};
use super::invocation::Invocation;
use super::operation::{Decision, Operation, decide};
use super::rule::Rule;

/// An operation of some capability.
pub trait Query {
    /// `link.create`.
    fn name(&self) -> &'static str;

    /// Says what it does: "move veth `eth0` from container to host".
    fn act(&self) -> String;

    /// Says how far it reaches.
    fn severity(&self, invocation: &Invocation) -> Severity;

    /// Whether it changes nothing.
    fn is_read(&self) -> bool;

    /// What the gate would decide.
    fn decide(&self, capabilities: &Capabilities, invocation: &Invocation) -> Decision;

    /// Everything that must be allowed for the operation to be allowed.
    fn needs(&self) -> Vec<Need>;

    /// The fields of a rule that bound parts of it which are not known.
    fn unseen(&self) -> &'static [&'static str];

    /// Says why weir refuses it whatever a grant allows.
    fn flaw(&self) -> Option<String>;

    /// Its arguments, as a record of the audit log has them.
    fn arguments(&self) -> Value;
}

impl<O> Query for O
where
    O: Operation,
    Need: From<<O::Rule as Rule>::Requirement>,
{
    fn name(&self) -> &'static str {
        O::NAME
    }

    fn act(&self) -> String {
        Act::act(self)
    }

    fn severity(&self, invocation: &Invocation) -> Severity {
        Act::severity(self, invocation)
    }

    fn is_read(&self) -> bool {
        O::VERB.is_read()
    }

    fn decide(&self, capabilities: &Capabilities, invocation: &Invocation) -> Decision {
        decide(capabilities, invocation, self)
    }

    fn needs(&self) -> Vec<Need> {
        self.requirements().into_iter().map(Need::from).collect()
    }

    fn unseen(&self) -> &'static [&'static str] {
        Operation::unseen(self)
    }

    fn flaw(&self) -> Option<String> {
        Operation::flaw(self)
    }

    fn arguments(&self) -> Value {
        to_value(self)
    }
}

fn to_value(operation: &impl Serialize) -> Value {
    serde_json::to_value(operation).expect("an operation is JSON")
}
