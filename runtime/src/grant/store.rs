//! Capability `store`: a plugin's state on disk.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::document::Capabilities;
use super::operation::{Capability, Fields, Invocation, Miss, Operation, Rule, Verb, any};
use super::pattern::Directory;

/// A store: weir's own place for this plugin and network, or a network's directory somewhere else.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Location {
    Private,
    /// The directory that holds the network's, as the plugin named it.
    Directory(PathBuf),
    /// The directory of all networks, as the plugin named it.
    #[serde(rename = "shared-directory")]
    SharedDirectory(PathBuf),
    /// No store: a file that is only read.
    File(PathBuf),
}

/// Opens a store for reading.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenRead {
    pub location: Location,
}

/// Opens a store for reading and writing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenWrite {
    pub location: Location,
}

/// Implements `Operation` for operations inside a store.
macro_rules! operation_in_store {
    ($($(#[$doc:meta])* $operation:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),* } $name:literal, $verb:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize)]
        pub struct $operation {
            pub location: Location,
            $($(#[$attribute])* pub $field: $type,)*
        }
        operation_on_store!($operation, $name, $verb);
    )*};
}

macro_rules! operation_on_store {
    ($operation:ident, $name:literal, $verb:expr) => {
        impl Operation for $operation {
            type Rule = StoreRule;
            const NAME: &'static str = $name;
            const VERB: Verb = $verb;

            fn requirements(&self) -> Vec<Requirement> {
                vec![Requirement {
                    location: self.location.clone(),
                    verb: Self::VERB,
                }]
            }
        }
    };
}

/// Reads a configuration file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReadFile {
    pub path: PathBuf,
}

impl Operation for ReadFile {
    type Rule = StoreRule;
    const NAME: &'static str = "store.read-file";
    const VERB: Verb = Verb::Read;

    fn requirements(&self) -> Vec<Requirement> {
        vec![Requirement {
            location: Location::File(self.path.clone()),
            verb: Self::VERB,
        }]
    }
}

operation_on_store!(OpenRead, "store.open", Verb::Read);
operation_on_store!(OpenWrite, "store.open", Verb::Write);

operation_in_store! {
    /// Reads a value.
    Get { key: String } "store.get", Verb::Read;
    /// Sets a value.
    Put { key: String, #[serde(skip)] value: Vec<u8> } "store.put", Verb::Write;
    /// Creates the first key that does not exist.
    Claim { #[serde(serialize_with = "first_keys")] keys: Vec<String>, #[serde(skip)] value: Vec<u8> } "store.claim", Verb::Write;
    /// Removes a key.
    Delete { key: String } "store.delete", Verb::Write;
    /// Lists the keys.
    Keys {} "store.keys", Verb::Read;
    /// Finds the keys that have a value.
    Find { #[serde(skip)] value: Vec<u8> } "store.find", Verb::Read;
    /// Takes committed changes back, where nobody has changed the keys again.
    Revert { #[serde(rename = "keys", serialize_with = "changed_keys")] changes: Vec<Change> } "store.revert", Verb::Write;
}

/// What became of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub key: String,
    /// The value before, where there was one.
    pub before: Option<Vec<u8>>,
    /// The value after; none for a key that was removed.
    pub after: Option<Vec<u8>>,
}

/// A claim may offer a thousand keys; a record names the first ones.
fn first_keys<S: serde::Serializer>(keys: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(keys.iter().take(4))
}

/// A record names what was changed, never a value.
fn changed_keys<S: serde::Serializer>(
    changes: &[Change],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(changes.iter().map(|c| &c.key))
}

/// `store:` in a grant. A rule without `directories` and `files` allows weir's own place only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreRule {
    /// Directories, with everything below them, in which the plugin may keep a network's state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directories: Option<Vec<Directory>>,
    /// Configuration files that it may read, exactly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbs: Option<Vec<Verb>>,
}

/// One store, and what is done with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub location: Location,
    pub verb: Verb,
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            Location::Private => write!(f, "{} the plugin's own store", self.verb),
            Location::Directory(d) | Location::SharedDirectory(d) => {
                write!(f, "{} the store in `{}`", self.verb, d.display())
            }
            Location::File(path) => write!(f, "{} the file `{}`", self.verb, path.display()),
        }
    }
}

impl Rule for StoreRule {
    type Requirement = Requirement;
    const CAPABILITY: Capability = Capability::Store;

    fn of(capabilities: &Capabilities) -> &[Self] {
        &capabilities.store
    }

    fn miss(&self, r: &Requirement, _: &Invocation) -> Option<Miss> {
        let directories = self.directories.as_deref();
        let in_place = match &r.location {
            Location::Private => directories.is_none() && self.files.is_empty(),
            Location::File(path) => self.files.contains(path),
            Location::Directory(path) | Location::SharedDirectory(path) => {
                directories.is_some_and(|list| list.iter().any(|d| d.contains(path)))
            }
        };
        let place = match r.location {
            Location::File(_) => "files",
            _ => "directories",
        };
        Fields::default()
            .field(place, in_place)
            .field("verbs", any(self.verbs.as_deref(), |v| *v == r.verb))
            .miss()
    }
}
