//! The administrator's documents as the last invocation found them, so that changes of grants are recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;

use serde::{Deserialize, Serialize};
use weir_files::{Durability, Paths, lock_directory};
use weir_grant::document::Digest;

/// The documents, by file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    documents: BTreeMap<String, One>,
}

/// A document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct One {
    /// The digest of the file's bytes.
    pub(super) digest: Digest,
    /// The plugin that it is about.
    pub(super) plugin: String,
}

/// A document's file, and the document before and after.
pub(super) type Change<'a> = (&'a str, Option<&'a One>, Option<&'a One>);

impl Seen {
    /// What the last invocation found; empty if it cannot be read, so that all is recorded again.
    pub(super) fn load(paths: &Paths) -> Self {
        let kept = fs::read(paths.seen_grants()).ok();
        let kept = kept.and_then(|kept| serde_json::from_slice(&kept).ok());
        kept.unwrap_or_default()
    }

    /// Keeps other processes from comparing until it is dropped.
    pub(super) fn lock(paths: &Paths) -> io::Result<File> {
        lock_directory(&paths.state(), 0o755)
    }

    /// Adds a document.
    pub(super) fn add(&mut self, document: String, one: One) {
        self.documents.insert(document, one);
    }

    /// The documents that were added, changed or removed.
    pub(super) fn since<'a>(&'a self, before: &'a Self) -> Vec<Change<'a>> {
        let files: BTreeSet<&str> = (before.documents.keys().chain(self.documents.keys()))
            .map(String::as_str)
            .collect();
        let of = |seen: &'a Self, file: &str| seen.documents.get(file);
        files
            .into_iter()
            .map(|file| (file, of(before, file), of(self, file)))
            .filter(|(_, before, after)| before != after)
            .collect()
    }

    /// Stores it for the next invocation.
    pub(super) fn keep(&self, paths: &Paths) {
        if let Ok(document) = serde_json::to_vec(self) {
            // If the disk is full, the next invocation tries again.
            let _ = weir_files::replace(&paths.seen_grants(), &document, Durability::Process);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest;

    fn seen(documents: &[(&str, &str)]) -> Seen {
        let mut seen = Seen::default();
        for (file, text) in documents {
            let one = One {
                digest: digest(text.as_bytes()),
                plugin: "p".to_owned(),
            };
            seen.add((*file).to_owned(), one);
        }
        seen
    }

    #[test]
    fn what_was_added_changed_or_removed_is_reported() {
        let before = seen(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let now = seen(&[("b", "1"), ("c", "2"), ("d", "1")]);
        let changes = now.since(&before);
        let reported: Vec<(&str, bool, bool)> = changes
            .iter()
            .map(|(file, before, after)| (*file, before.is_some(), after.is_some()))
            .collect();
        assert_eq!(
            reported,
            [("a", true, false), ("c", true, true), ("d", false, true)]
        );
        assert!(now.since(&now).is_empty());
    }
}
