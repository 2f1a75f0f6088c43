//! An index from values to keys, so that `find` need not read every file. It knows the store's size as well.
//!
//! The index is a cache. It may be deleted, damaged or left behind by a crash at any point, and no
//! answer becomes wrong, only slower: what cannot be trusted is built again from the files. An entry too many is harmless,
//! because each key is read before it is answered. `docs/decisions/0037-store-index.md` argues that none is missing.
//!
//! It is one file for each store, below [`Paths::indexes`](weir_files::Paths::indexes): a [`Table`] with one entry (hash
//! of the value, key) for each key, and the [`Fingerprint`](super::fingerprint::Fingerprint) of the store's directory that
//! it belongs to. Everything happens while the store's lock is held. An index that cannot be written is no failure: every
//! `find` then reads every file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::directory::Directory;
use super::room_of;
use super::table::{Pending, Table, hash};
use crate::{Code, Result};

/// The index of one store during one transaction.
pub(super) struct Index {
    /// Where all stores' indexes are.
    place: PathBuf,
    state: State,
    /// What the transaction changed and the table does not say yet.
    pending: BTreeMap<String, Pending>,
    /// The directory's times have changed, so that the fingerprint must be recorded again.
    spoilt: bool,
}

enum State {
    /// Not looked at yet.
    Unchecked,
    /// Missing, outdated or damaged.
    Unusable,
    /// The table and `pending` together contain every key.
    Usable(Table),
}

impl Index {
    /// Reads nothing yet. `place` is where all stores' indexes are.
    pub(super) fn new(place: PathBuf) -> Self {
        Self {
            place,
            state: State::Unchecked,
            pending: BTreeMap::new(),
            spoilt: false,
        }
    }

    /// Must be called before each change of the directory, after which the index cannot be checked any more.
    pub(super) fn before_change(&mut self, directory: &Directory) {
        self.check(directory);
        self.spoilt = true;
    }

    /// Must be called after each change of a key.
    pub(super) fn note(&mut self, key: &str, before: Option<&[u8]>, after: Option<&[u8]>) {
        let State::Usable(table) = &mut self.state else {
            return;
        };
        let room = |value: Option<&[u8]>| value.map_or(0, |value| room_of(value.len()));
        table.size = table.size.saturating_sub(room(before)) + room(after);
        let after = after.map(hash_of);
        match self.pending.get_mut(key) {
            Some(pending) => pending.after = after,
            None => {
                let before = before.map(hash_of);
                self.pending
                    .insert(key.to_owned(), Pending { before, after });
            }
        }
    }

    /// The keys with this value.
    pub(super) fn find(&mut self, directory: &Directory, value: &[u8]) -> Result<Vec<String>> {
        self.check(directory);
        let Some(candidates) = self.candidates(hash_of(value)) else {
            return Ok(self.build(directory, Some(value))?.0);
        };
        let mut found = Vec::new();
        for key in candidates {
            if read_if_readable(directory, &key)?.is_some_and(|v| trim(&v) == value) {
                found.push(key);
            }
        }
        Ok(found)
    }

    /// What all keys take, in bytes; see [`room_of`].
    pub(super) fn size(&mut self, directory: &Directory) -> Result<u64> {
        self.check(directory);
        match &self.state {
            State::Usable(table) => Ok(table.size),
            State::Unchecked | State::Unusable => Ok(self.build(directory, None)?.1),
        }
    }

    /// Writes what is pending and records the fingerprint: the last thing a transaction does. An
    /// index that cannot be written stays unusable, because its fingerprint is spoilt already.
    pub(super) fn settle(&mut self, directory: &Directory) {
        let state = std::mem::replace(&mut self.state, State::Unchecked);
        let pending = std::mem::take(&mut self.pending);
        if let State::Usable(mut table) = state
            && std::mem::take(&mut self.spoilt)
        {
            let _ = table.apply(&pending).and_then(|()| table.record(directory));
        }
    }

    /// Whether the last look found the index complete.
    #[cfg(test)]
    pub(super) fn is_usable(&self) -> bool {
        matches!(self.state, State::Usable(_))
    }

    fn check(&mut self, directory: &Directory) {
        if matches!(self.state, State::Unchecked) {
            self.state = match Table::open(&self.path(directory), directory) {
                Ok(Some(table)) => State::Usable(table),
                Ok(None) | Err(_) => State::Unusable,
            };
        }
    }

    /// The keys that may have a value of this hash, without duplicates; none if the index is unusable.
    fn candidates(&self, hash: u64) -> Option<Vec<String>> {
        let State::Usable(table) = &self.state else {
            return None;
        };
        let mut keys: Vec<String> = self
            .pending
            .iter()
            .filter(|(_, p)| p.after == Some(hash))
            .map(|(key, _)| key.clone())
            .collect();
        keys.extend(table.candidates(hash).ok()?);
        keys.sort_unstable();
        keys.dedup();
        Some(keys)
    }

    /// Reads every file, and writes a new index. Returns the keys with this value, and what all keys take, in bytes.
    fn build(&mut self, directory: &Directory, value: Option<&[u8]>) -> Result<(Vec<String>, u64)> {
        let mut found = Vec::new();
        let mut entries = Vec::new();
        let mut size = 0;
        for key in directory.keys()? {
            let Some(content) = read_if_readable(directory, &key)? else {
                continue;
            };
            size += room_of(content.len());
            let content = trim(&content);
            entries.push((key.clone(), hash_of(content)));
            if Some(content) == value {
                found.push(key);
            }
        }
        self.pending.clear();
        self.spoilt = true;
        self.state = match Table::create(&self.path(directory), &entries, size) {
            Ok(table) => State::Usable(table),
            Err(_) => State::Unusable,
        };
        Ok((found, size))
    }

    /// The index's file.
    fn path(&self, directory: &Directory) -> PathBuf {
        self.place.join(name_of(directory.path()))
    }
}

/// A key's value for a search; none for what is not a value (a directory, a file that is too large).
fn read_if_readable(directory: &Directory, key: &str) -> Result<Option<Vec<u8>>> {
    match directory.read(key) {
        Err(error) if error.code == Code::Invalid => Ok(None),
        read => read,
    }
}

/// A value without the white space around it: Unicode's, as the reference trims, where it is text.
pub(super) fn trim(value: &[u8]) -> &[u8] {
    match std::str::from_utf8(value) {
        Ok(text) => text.trim().as_bytes(),
        Err(_) => value.trim_ascii(),
    }
}

/// The hash of a value without white space around it.
fn hash_of(value: &[u8]) -> u64 {
    hash(trim(value))
}

/// The index's name: the network, for readability, and a hash of the store's path. Stores with the same hash would only
/// replace each other's file: the fingerprint tells them apart.
fn name_of(store: &Path) -> String {
    let network = store.file_name().unwrap_or_default().to_string_lossy();
    let readable: String = network
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || "._-".contains(*c))
        .take(64)
        .collect();
    format!("{readable}-{:016x}", hash(store))
}
