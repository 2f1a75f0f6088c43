//! Capability `ipam`: running the IPAM plugin that a configuration names.

use std::fmt;

use serde::Serialize;

use super::document::Capabilities;
use super::operation::{Capability, Fields, Invocation, Miss, Operation, Rule, Verb};

/// Runs one command of an IPAM plugin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// `ipam.type` of the plugin configuration.
    pub plugin: String,
    /// `ADD`, `DEL`, `CHECK`, `STATUS` or `GC`.
    pub command: &'static str,
}

impl Operation for Run {
    type Rule = String;
    const NAME: &'static str = "ipam.run";
    const VERB: Verb = Verb::Run;

    fn requirements(&self) -> Vec<Requirement> {
        vec![Requirement {
            plugin: self.plugin.clone(),
        }]
    }
}

/// The IPAM plugin to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub plugin: String,
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run IPAM plugin `{}`", self.plugin)
    }
}

/// `ipam:` in a grant is a list of names.
impl Rule for String {
    type Requirement = Requirement;
    const CAPABILITY: Capability = Capability::Ipam;

    fn of(capabilities: &Capabilities) -> &[Self] {
        &capabilities.ipam
    }

    fn miss(&self, r: &Requirement, _: &Invocation) -> Option<Miss> {
        Fields::default().field("name", *self == r.plugin).miss()
    }
}
