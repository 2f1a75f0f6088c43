//! Capability `store`: a plugin's state on disk.

mod act;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::field::Has::{self, One};
use super::field::types::{Directories, Files, StorePath};
use super::operation::operations;
use super::pattern::is_plain;
use super::phrase::joined;
use super::rule::RuleFields;
use super::rule::Sentence;
use super::rule::declare::rule;
use super::verb::Verb;

/// A store: weir's own directory for this plugin and network, or a network's directory somewhere else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Location {
    Private,
    /// The directory that holds the network's, as the plugin named it.
    Directory(PathBuf),
    /// The directory of all networks, as the plugin named it.
    #[serde(rename = "shared-directory")]
    SharedDirectory(PathBuf),
    /// A `Directory` that the node's own configuration names in `dataDir`.
    #[serde(rename = "configured-directory")]
    ConfiguredDirectory(PathBuf),
    /// A `SharedDirectory` that the node's own configuration names in `dataDir`.
    #[serde(rename = "configured-shared-directory")]
    ConfiguredSharedDirectory(PathBuf),
    /// Not a store: a file that is only read.
    File(PathBuf),
    /// A `File` that the node's own configuration names in `resolvConf`.
    #[serde(rename = "configured-file")]
    ConfiguredFile(PathBuf),
}

impl Location {
    /// The value that `directories` matches: the plugin's own directory only if the field is left out.
    fn directory(&self) -> Has<StorePath<'_>> {
        let (path, is_configured) = match self {
            Self::Private => return Has::Anything,
            Self::File(_) | Self::ConfiguredFile(_) => return Has::Nothing,
            Self::Directory(path) | Self::SharedDirectory(path) => (path, false),
            Self::ConfiguredDirectory(path) | Self::ConfiguredSharedDirectory(path) => (path, true),
        };
        One(StorePath {
            path,
            is_configured,
        })
    }

    /// The value that `files` matches.
    fn file(&self) -> Has<StorePath<'_>> {
        let (path, is_configured) = match self {
            Self::Private => return Has::Anything,
            Self::File(path) => (path, false),
            Self::ConfiguredFile(path) => (path, true),
            _ => return Has::Nothing,
        };
        One(StorePath {
            path,
            is_configured,
        })
    }

    /// Marks the directory as the one that the node's own configuration names, if it is.
    #[must_use]
    pub fn of_configuration(self, configured: &Configured) -> Self {
        let is_it = |path: &Path| configured.data_dir.as_deref() == Some(path);
        match self {
            Self::Directory(path) if is_it(&path) => Self::ConfiguredDirectory(path),
            Self::SharedDirectory(path) if is_it(&path) => Self::ConfiguredSharedDirectory(path),
            other => other,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Private => f.write_str("the plugin's own store"),
            Self::Directory(d)
            | Self::SharedDirectory(d)
            | Self::ConfiguredDirectory(d)
            | Self::ConfiguredSharedDirectory(d) => write!(f, "the store in `{}`", d.display()),
            Self::File(path) | Self::ConfiguredFile(path) => {
                write!(f, "the file `{}`", path.display())
            }
        }
    }
}

/// Paths that the node's own configuration names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configured {
    /// `dataDir`.
    pub data_dir: Option<PathBuf>,
    /// `resolvConf`.
    pub resolv_conf: Option<PathBuf>,
}

/// Directories of the system: no configuration can make a store of one of them, or of a directory that contains one.
const SYSTEMS: [&str; 14] = [
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/proc",
    "/root",
    "/sbin",
    "/sys",
    "/usr",
    "/var/lib/kubelet",
];

/// Directories whose files must not be read, whoever names them: a read could block or have side effects.
const NO_FILES: [&str; 3] = ["/dev", "/proc", "/sys"];

/// Whether a directory is one of the system's, is below one, or could contain one as a network's directory.
pub fn is_systems(directory: &Path) -> bool {
    SYSTEMS.iter().any(|own| {
        let own = Path::new(own);
        directory.starts_with(own) || own.parent() == Some(directory)
    })
}

impl Configured {
    /// Returns the paths that a configuration names, except those it has no say in: a system directory, and anything
    /// but an absolute path without `..`.
    pub fn new(data_dir: Option<&str>, resolv_conf: Option<&str>) -> Self {
        let data_dir = data_dir.map(PathBuf::from);
        let resolv_conf = resolv_conf.map(PathBuf::from);
        let is_file = |path: &PathBuf| !NO_FILES.iter().any(|place| path.starts_with(place));
        Self {
            data_dir: data_dir.filter(|path| is_plain(path) && !is_systems(path)),
            resolv_conf: resolv_conf.filter(|path| is_plain(path) && is_file(path)),
        }
    }
}

/// Opens a store for reading. The record says so, since both are called `store.open`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "access", rename = "read")]
pub struct OpenRead {
    pub location: Location,
}

/// Opens a store for reading and writing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "access", rename = "write")]
pub struct OpenWrite {
    pub location: Location,
}

/// Reads a configuration file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadFile {
    pub path: PathBuf,
    /// Whether the node's own configuration names it in `resolvConf`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub configured: bool,
}

impl ReadFile {
    fn location(&self) -> Location {
        let path = self.path.clone();
        if self.configured {
            Location::ConfiguredFile(path)
        } else {
            Location::File(path)
        }
    }
}

operations! {
    StoreRule;
    OpenRead: "store.open", Read, |o| Requirement::new(o.location.clone(), Self::VERB);
    OpenWrite: "store.open", Write, |o| Requirement::new(o.location.clone(), Self::VERB);
    ReadFile: "store.read-file", Read, |o| Requirement::new(o.location(), Self::VERB);
}

/// Declares operations inside a store.
macro_rules! operations_in_store {
    ($($(#[$doc:meta])* $operation:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),* } $name:literal, $verb:ident;)*) => {
        $($(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub struct $operation {
            pub location: Location,
            $($(#[$attribute])* pub $field: $type,)*
        })*

        operations! {
            StoreRule;
            $($operation: $name, $verb, |o| Requirement::new(o.location.clone(), Self::VERB);)*
        }
    };
}

operations_in_store! {
    /// Reads a value.
    Get { key: String } "store.get", Read;
    /// Sets a value.
    Put { key: String, #[serde(skip)] value: Vec<u8> } "store.put", Write;
    /// Creates the first key that does not exist.
    Claim { #[serde(serialize_with = "first_keys")] keys: Vec<String>, #[serde(skip)] value: Vec<u8> } "store.claim", Write;
    /// Removes a key.
    Delete { key: String } "store.delete", Write;
    /// Lists the keys.
    Keys {} "store.keys", Read;
    /// Finds the keys that have a value.
    Find { #[serde(skip)] value: Vec<u8> } "store.find", Read;
    /// Reverts committed changes, if nothing has changed the keys since.
    Revert { #[serde(rename = "keys", serialize_with = "changed_keys", skip_deserializing)] changes: Vec<Change> } "store.revert", Write;
}

/// The outcome of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub key: String,
    /// The value before; none for a new key.
    pub before: Option<Vec<u8>>,
    /// The value after; none for a key that was removed.
    pub after: Option<Vec<u8>>,
}

/// The memory that a change takes besides its key and values, in bytes.
pub const CHANGE_SIZE: usize = 128;

impl Revert {
    /// Returns the memory that it takes, in bytes.
    pub fn size(&self) -> usize {
        let length = |value: &Option<Vec<u8>>| value.as_ref().map_or(0, Vec::len);
        let sizes = self.changes.iter().map(|change| {
            CHANGE_SIZE + change.key.len() + length(&change.before) + length(&change.after)
        });
        sizes.sum()
    }

    /// Adds later changes, so that a key that was written several times is reverted in one step. Both lists
    /// are sorted by key.
    ///
    /// Errors: the changes, if something else has changed one of these keys in between.
    pub fn take_in(&mut self, later: Vec<Change>) -> Result<(), Vec<Change>> {
        let is_broken = |change: &Change| {
            self.place_of(&change.key)
                .is_ok_and(|at| self.changes[at].after != change.before)
        };
        if later.iter().any(is_broken) {
            return Err(later);
        }
        for change in later {
            match self.place_of(&change.key) {
                Ok(at) => self.changes[at].after = change.after,
                Err(at) => self.changes.insert(at, change),
            }
        }
        Ok(())
    }

    fn place_of(&self, key: &str) -> Result<usize, usize> {
        self.changes
            .binary_search_by(|change| change.key.as_str().cmp(key))
    }
}

/// The most keys that a record names: a request may offer a thousand.
fn first_keys<S: serde::Serializer>(keys: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(keys.iter().take(4))
}

/// A record names the changed keys, never a value.
fn changed_keys<S: serde::Serializer>(
    changes: &[Change],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(changes.iter().map(|c| &c.key))
}

rule! {
    /// `store:` in a grant. A rule without `directories` and `files` allows only the plugin's own store.
    pub struct StoreRule: Store for r: Requirement, which may "read" Read, "write" Write {
        /// Configuration files that it may read, by exact path. `{resolvConf}` is the one that the node's own
        /// configuration names in that key.
        files: Files = r.location.file(), only_for(&[Verb::Read]);
        /// Directories, with everything below them, in which the plugin may keep a network's state. `{dataDir}` is the
        /// one that the node's own configuration names in that key, unless it is a system directory.
        directories: Directories = r.location.directory();
        => verbs = r.verb;
    } {
        fn sentence(rule: &mut Sentence<'_>) -> String {
            let directories = rule.values("directories", "and");
            let files = rule.values("files", "and");
            let verbs = rule.verbs();
            let directories = directories.map(|list| format!("{verbs} what is below {list}"));
            let files = files.map(|list| format!("read the file {list}"));
            let places: Vec<String> = directories.into_iter().chain(files).collect();
            if places.is_empty() {
                return format!("{verbs} its own files below /var/lib/weir/stores");
            }
            joined(places, "and")
        }

        /// One rule for the directories and one for the files, which can only be read.
        fn split(rule: RuleFields) -> Vec<RuleFields> {
            let places = ["directories", "files"];
            let named = places.into_iter().filter(|key| rule.get(key).is_some());
            let mut parts: Vec<RuleFields> = named.map(|key| rule.with_one_of(&places, key)).collect();
            for part in parts.iter_mut().filter(|part| part.get("files").is_some()) {
                *part = part.clone().retain("verbs", |verb| verb == Verb::Read.word());
            }
            if parts.is_empty() {
                return vec![rule];
            }
            parts
        }
    }
}

/// One store, and what is done with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub location: Location,
    pub verb: Verb,
}

impl Requirement {
    fn new(location: Location, verb: Verb) -> Self {
        Self { location, verb }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.location)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Capabilities;
    use super::super::invocation::Invocation;
    use super::super::operation::{Decision, decide};
    use super::*;

    fn change(key: &str, before: Option<&str>, after: Option<&str>) -> Change {
        let bytes = |value: Option<&str>| value.map(|value| value.as_bytes().to_vec());
        Change {
            key: key.to_owned(),
            before: bytes(before),
            after: bytes(after),
        }
    }

    fn revert(changes: Vec<Change>) -> Revert {
        Revert {
            location: Location::Private,
            changes,
        }
    }

    #[test]
    fn what_is_changed_again_goes_back_in_one_step() {
        let mut all = revert(vec![change("b", None, Some("1"))]);
        let later = vec![
            change("a", None, Some("x")),
            change("b", Some("1"), Some("2")),
        ];
        all.take_in(later).expect("nobody came in between");
        assert_eq!(
            all.changes,
            [change("a", None, Some("x")), change("b", None, Some("2"))]
        );
        assert_eq!(all.size(), 2 * CHANGE_SIZE + 4);
        // Somebody else has written it since.
        let theirs = vec![
            change("b", Some("theirs"), Some("3")),
            change("c", None, None),
        ];
        assert_eq!(all.take_in(theirs.clone()), Err(theirs));
        assert_eq!(all.changes.len(), 2);
    }

    #[test]
    fn the_closest_rule_is_about_the_same_sort_of_place() {
        let grant = r#"{"store": [
            { "directories": ["/var/lib/a"] }, { "files": ["/etc/resolv.conf"] }, {}
        ]}"#;
        let capabilities: Capabilities = serde_json::from_str(grant).expect("a grant");
        let closest = |operation: &dyn Fn() -> Decision| match operation() {
            Decision::Denied { closest, .. } => closest
                .map(|closest| closest.to_string())
                .unwrap_or_default(),
            allowed => panic!("{allowed:?}"),
        };
        let nobody = Invocation::default();
        let read = ReadFile {
            path: "/etc/shadow".into(),
            configured: false,
        };
        let of_file = closest(&|| decide(&capabilities, &nobody, &read));
        assert_eq!(of_file, "store[1]: files");
        let open = OpenWrite {
            location: Location::Directory("/var/lib/b".into()),
        };
        let of_directory = closest(&|| decide(&capabilities, &nobody, &open));
        assert_eq!(of_directory, "store[0]: directories");
    }

    #[test]
    fn what_the_nodes_configuration_names_needs_a_rule_for_that() {
        let named =
            r#"{"store": [{ "directories": ["{dataDir}"] }, { "files": ["{resolvConf}"] }]}"#;
        let other =
            r#"{"store": [{ "directories": ["/mnt"] }, { "files": ["/mnt/resolv.conf"] }]}"#;
        let nobody = Invocation::default();
        let is_allowed = |grant: &str, operation: &dyn Fn(&Capabilities) -> Decision| {
            let capabilities: Capabilities = serde_json::from_str(grant).expect("a grant");
            matches!(operation(&capabilities), Decision::Allowed { .. })
        };
        let configured = Configured::new(Some("/mnt/leases"), Some("/mnt/resolv.conf"));
        for (path, is_named) in [
            ("/mnt/leases", true),
            ("/mnt/leases/below", false),
            ("/mnt", false),
        ] {
            for of in [Location::Directory, Location::SharedDirectory] {
                let location = of(path.into()).of_configuration(&configured);
                let open = OpenWrite { location };
                let decision = |c: &Capabilities| decide(c, &nobody, &open);
                assert_eq!(is_allowed(named, &decision), is_named, "{path}");
                assert!(is_allowed(other, &decision), "{path}");
            }
        }
        for configured in [true, false] {
            let path = "/mnt/resolv.conf".into();
            let read = ReadFile { path, configured };
            let decision = |c: &Capabilities| decide(c, &nobody, &read);
            assert_eq!(is_allowed(named, &decision), configured);
            assert!(is_allowed(other, &decision));
        }
    }

    #[test]
    fn no_configuration_makes_a_store_of_a_systems_directory() {
        let data_dir = |path: &str| Configured::new(Some(path), None).data_dir.is_some();
        for path in [
            "/",
            "/etc",
            "/etc/cni",
            "/usr/lib",
            "/proc/1/root",
            "/sys",
            "/dev/shm",
            "/boot",
            "/root/.ssh",
            "/lib64/x",
            "/bin",
            "/sbin",
            "/var/lib",
            "/var/lib/kubelet/pods",
            "relative",
            "/mnt/../etc",
            "",
        ] {
            assert!(!data_dir(path), "{path}");
        }
        for path in [
            "/mnt/cluster-ipam",
            "/run/cni-ipam-state",
            "/var/lib/cni/x",
            "/srv",
            "/opt/leases",
            "/etcetera",
        ] {
            assert!(data_dir(path), "{path}");
        }
        let resolv_conf = |path: &str| Configured::new(None, Some(path)).resolv_conf.is_some();
        for path in ["/etc/resolv.conf", "/run/k3s/resolv.conf"] {
            assert!(resolv_conf(path), "{path}");
        }
        for path in [
            "/proc/1/environ",
            "/dev/zero",
            "/sys/x",
            "resolv.conf",
            "/etc/../dev/zero",
        ] {
            assert!(!resolv_conf(path), "{path}");
        }
    }
}
