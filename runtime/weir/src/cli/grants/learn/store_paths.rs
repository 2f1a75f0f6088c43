//! Files and directories that a plugin requested. No rule can allow all of them, so each is allowed once it was denied.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Value, json};
use weir_grant::pattern::{Directory, File};

use crate::cli::record::{Record, Verdict};

/// What was asked for, as plugins named it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorePaths(BTreeSet<StorePath>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum StorePath {
    Directory(String),
    File(String),
}

impl StorePaths {
    /// Adds what a denied operation asked for.
    pub fn note(&mut self, record: &Record) {
        self.0.extend(store_path(record));
    }

    /// Whether an operation was denied because of one of these.
    pub fn has(&self, record: &Record) -> bool {
        store_path(record).is_some_and(|path| self.0.contains(&path))
    }

    /// Adds others. Returns whether there were any that were not among these.
    pub fn add(&mut self, others: Self) -> bool {
        let before = self.0.len();
        self.0.extend(others.0);
        self.0.len() > before
    }

    /// Rules of a grant: the plugin's own store, and these paths.
    pub fn rules(&self) -> Value {
        let (mut directories, mut files) = (Vec::new(), Vec::new());
        for path in &self.0 {
            match path {
                StorePath::Directory(directory) => directories.push(directory),
                StorePath::File(file) => files.push(file),
            }
        }
        let mut rules = vec![json!({})];
        if !directories.is_empty() {
            rules.push(json!({ "directories": directories }));
        }
        if !files.is_empty() {
            rules.push(json!({ "files": files }));
        }
        rules.into()
    }
}

/// The place that a denied operation was about, if a rule can allow it.
fn store_path(record: &Record) -> Option<StorePath> {
    let is_denied = record.verdict == Verdict::Denied && record.capability == "store";
    // A part of a name is another name.
    if !is_denied || record.shortened_from.is_some() {
        return None;
    }
    if let Some(file) = record.arguments["path"].as_str() {
        let is_valid = File::try_from(PathBuf::from(file)).is_ok();
        return is_valid.then(|| StorePath::File(file.to_owned()));
    }
    let location = &record.arguments["location"];
    let directory = ["directory", "shared-directory"]
        .into_iter()
        .find_map(|key| location[key].as_str())?;
    let is_valid = Directory::try_from(PathBuf::from(directory)).is_ok();
    is_valid.then(|| StorePath::Directory(directory.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(verdict: &str, operation: &str, arguments: Value) -> Record {
        let (capability, _) = operation.split_once('.').expect("an operation");
        serde_json::from_value(json!({
            "time": "2026-03-01T10:00:00Z", "command": "ADD", "network": "n", "plugin": "p",
            "digest": "d", "capability": capability, "operation": operation, "verdict": verdict,
            "arguments": arguments, "answer": "it is not allowed", "container_id": "c", "ifname": "eth0",
            "namespaces": [], "rules": [],
        }))
        .expect("a record")
    }

    #[test]
    fn what_was_denied_is_asked_for() {
        let directory = |verdict, path| {
            let location = json!({ "directory": path });
            record(verdict, "store.open", json!({ "location": location }))
        };
        let file = record("denied", "store.read-file", json!({ "path": "/etc/a" }));
        let mut paths = StorePaths::default();
        assert_eq!(paths.rules(), json!([{}]));
        for record in [
            directory("allowed", "/var/lib/a"),
            directory("denied", "relative"),
            directory("denied", "/var/../etc"),
            record(
                "denied",
                "store.read-file",
                json!({ "path": "/etc/../etc/a" }),
            ),
            record("denied", "store.read-file", json!({ "path": "a" })),
            record("denied", "store.open", json!({ "location": "private" })),
            record("denied", "link.create", json!({ "path": "/x" })),
        ] {
            paths.note(&record);
            assert!(!paths.has(&record), "{paths:?}");
        }
        assert_eq!(paths, StorePaths::default());
        paths.note(&directory("denied", "/var/lib/a"));
        assert!(paths.has(&directory("denied", "/var/lib/a")));
        // Not what is below it: that is asked for by itself.
        assert!(!paths.has(&directory("denied", "/var/lib/a/b")));
        assert!(!paths.has(&file));
        let mut files = StorePaths::default();
        files.note(&file);
        assert!(paths.add(files.clone()));
        assert!(!paths.add(files));
        assert_eq!(
            paths.rules(),
            json!([{}, { "directories": ["/var/lib/a"] }, { "files": ["/etc/a"] }])
        );
    }
}
