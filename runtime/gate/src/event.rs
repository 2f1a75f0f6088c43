//! What weir records that is not an operation: a plugin that was not run, that came or went, and a grant that is
//! another than before. No grant has rules about these.

use serde::Serialize;
use weir_grant::document::Digest;

use crate::subject::Subject;

/// Something that happened. Its members are the record's arguments.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Event<'a> {
    /// A plugin was asked to run, and was not run.
    Refused {
        /// The code of the CNI error that says why.
        code: u32,
    },
    /// A component was installed under a plugin's name.
    Added {
        /// What was installed under the name before.
        #[serde(skip_serializing_if = "Option::is_none")]
        replaced: Option<&'a Digest>,
    },
    /// An installed plugin was removed.
    Removed {},
    /// More was denied of an invocation than is recorded one by one.
    Further {
        /// How many denials have no record.
        count: u64,
    },
    /// A document of the administrator's came, changed or went since the last invocation.
    Grant {
        /// Its file.
        document: &'a str,
        /// Of the file's bytes; none where there was no such file.
        #[serde(skip_serializing_if = "Option::is_none")]
        before: Option<&'a Digest>,
        /// Of the file's bytes; none where there is no such file.
        #[serde(skip_serializing_if = "Option::is_none")]
        after: Option<&'a Digest>,
    },
}

/// What the records of events have for an operation.
pub const EVENTS: [&str; 5] = [
    "plugin.run",
    "plugin.add",
    "plugin.remove",
    "grant.change",
    "denial.further",
];

/// What they have for a capability.
pub const EVENT_CAPABILITIES: [&str; 3] = ["plugin", "grant", "denial"];

impl Event<'_> {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Refused { .. } => EVENTS[0],
            Self::Added { .. } => EVENTS[1],
            Self::Removed {} => EVENTS[2],
            Self::Grant { .. } => EVENTS[3],
            Self::Further { .. } => EVENTS[4],
        }
    }

    pub(super) fn verdict(&self) -> &'static str {
        match self {
            Self::Refused { .. } | Self::Further { .. } => "denied",
            _ => "allowed",
        }
    }
}

impl Subject {
    /// Of what is done by no CNI command, about a plugin.
    pub fn without_command(plugin: &str, digest: String) -> Self {
        Self {
            plugin: plugin.to_owned(),
            digest,
            ..Self::default()
        }
    }
}
