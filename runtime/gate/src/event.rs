//! What weir records besides operations: plugins that were not run, were added or removed, changed grants, and lines of
//! the log that were not forwarded. No grant has rules about these.

use serde::Serialize;
use serde_with::skip_serializing_none;
use weir_grant::document::Digest;

use crate::subject::Subject;
use crate::user::User;

/// An event. Its members are the record's arguments.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Event<'a> {
    /// A plugin was not run.
    Refused {
        /// The code of the CNI error.
        code: u32,
    },
    /// A component was installed as a plugin.
    Added {
        /// The component that it replaced.
        replaced: Option<&'a Digest>,
        /// Who added it.
        user: User,
    },
    /// An installed plugin was removed.
    Removed {
        /// Who removed it.
        user: User,
    },
    /// An invocation had more denials than are recorded one by one.
    Further {
        /// The number of denials without a record.
        count: u64,
    },
    /// Lines of the log could not be forwarded.
    NotForwarded {
        /// The number of lines.
        count: u64,
    },
    /// A document of the administrator was added, changed or removed since the last invocation.
    Grant {
        /// Its file.
        document: &'a str,
        /// The digest of the file's former bytes; none if the file did not exist.
        before: Option<&'a Digest>,
        /// The digest of the file's bytes; none if the file does not exist.
        after: Option<&'a Digest>,
        /// When the file was last written, RFC 3339; none if it does not exist.
        modified: Option<String>,
        /// Who ran the invocation that found the change. Who wrote the file is not known.
        found_by: User,
    },
}

/// The operation in the record of a changed grant.
pub const GRANT_CHANGE: &str = "grant.change";

/// The operations in records of events.
pub const EVENTS: [&str; 6] = [
    "plugin.run",
    "plugin.add",
    "plugin.remove",
    GRANT_CHANGE,
    "denial.further",
    "forward.missed",
];

/// The capabilities in records of events.
pub const EVENT_CAPABILITIES: [&str; 4] = ["plugin", "grant", "denial", "forward"];

impl Event<'_> {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Refused { .. } => EVENTS[0],
            Self::Added { .. } => EVENTS[1],
            Self::Removed { .. } => EVENTS[2],
            Self::Grant { .. } => EVENTS[3],
            Self::Further { .. } => EVENTS[4],
            Self::NotForwarded { .. } => EVENTS[5],
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
    /// Returns the subject of an event about a plugin, outside any CNI command.
    pub fn without_command(plugin: &str, digest: String) -> Self {
        Self {
            plugin: plugin.to_owned(),
            digest,
            ..Self::default()
        }
    }
}
