//! Capability `ipam`: running the IPAM plugin that a configuration names.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::operation::{Capability, Fields, Invocation, Miss, Operation, Rule, Verb};

/// Runs one command of an IPAM plugin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// `ipam.type` of the plugin configuration.
    pub plugin: String,
    /// One of [`COMMANDS`].
    #[serde(deserialize_with = "command")]
    pub command: Word,
}

/// A word that is the program's own, so that a record is not borrowed from.
type Word = &'static str;

/// What an IPAM plugin is run for.
pub(crate) const COMMANDS: [Word; 5] = ["ADD", "DEL", "CHECK", "STATUS", "GC"];

fn command<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static str, D::Error> {
    let text = String::deserialize(deserializer)?;
    let known = COMMANDS.into_iter().find(|command| *command == text);
    known.ok_or_else(|| {
        let all = COMMANDS.join(", ");
        D::Error::custom(format!("`{text}` is no command of IPAM plugins: {all}"))
    })
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
    const VERBS: &'static [Verb] = &[Verb::Run];

    fn miss(&self, r: &Requirement, _: &Invocation) -> Option<Miss> {
        Fields::default().field("name", *self == r.plugin).miss()
    }
}
