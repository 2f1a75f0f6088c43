//! An open store.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::slice;

use weir_gate::Permit;
use weir_grant::store::{CHANGE_SIZE, Change, Claim, Delete, Find, Get, Keys, Location, Put};
use weir_kernel::inverses::RevertStore;
use weir_kernel::{Answer, Changes, Code, Error, Result, Transaction, checks};

use crate::node::Node;

type Values = BTreeMap<String, Vec<u8>>;

/// A store that is open: locked until it is dropped, when what was not committed is undone.
pub(super) struct Store {
    node: Node,
    location: Location,
    directory: PathBuf,
    writable: bool,
    /// As it was when it was opened or last committed.
    before: Values,
    now: Values,
}

impl Store {
    pub(super) fn new(node: Node, location: Location, directory: PathBuf, writable: bool) -> Self {
        let stores = node.state().stores.into_iter();
        let its = stores.filter(|((of, _), _)| *of == directory);
        let values: Values = its.map(|((_, key), value)| (key, value)).collect();
        Self {
            node,
            location,
            directory,
            writable,
            before: values.clone(),
            now: values,
        }
    }

    /// Takes changes back, but for keys that are not as they left them.
    pub(super) fn revert(&mut self, changes: &[Change]) {
        for change in changes {
            if self.now.get(&change.key) == change.after.as_ref() {
                self.set(&change.key, change.before.clone());
            }
        }
    }

    /// Keeps what was done, and returns it.
    pub(super) fn settle(&mut self) -> Vec<Change> {
        let done = self.changes();
        self.before.clone_from(&self.now);
        done
    }

    fn changes(&self) -> Vec<Change> {
        let keys: BTreeSet<&String> = self.before.keys().chain(self.now.keys()).collect();
        let changes = keys.into_iter().map(|key| Change {
            key: key.clone(),
            before: self.before.get(key).cloned(),
            after: self.now.get(key).cloned(),
        });
        changes
            .filter(|change| change.before != change.after)
            .collect()
    }

    /// Changes a key, for others to see as well: a kill keeps what is on disk.
    fn set(&mut self, key: &str, value: Option<Vec<u8>>) {
        let place = (self.directory.clone(), key.to_owned());
        let stores = &mut self.node.machine().state.stores;
        match value {
            Some(value) => {
                stores.insert(place, value.clone());
                self.now.insert(key.to_owned(), value);
            }
            None => {
                stores.remove(&place);
                self.now.remove(key);
            }
        }
    }

    fn check_writable(&self, location: &Location) -> Result<()> {
        self.check_location(location)?;
        if self.writable {
            Ok(())
        } else {
            Err(Error::invalid("the store was opened for reading"))
        }
    }

    fn check_location(&self, location: &Location) -> Result<()> {
        if *location == self.location {
            Ok(())
        } else {
            Err(Error::new(Code::Denied, "the permit is for another store"))
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let undone = self.changes();
        self.revert(&undone);
        self.node.machine().locked.remove(&self.directory);
    }
}

impl Transaction for Store {
    fn commit(&mut self, changes: &mut Changes<'_>) -> Result<()> {
        let done = self.settle();
        if !done.is_empty() {
            RevertStore::note(&self.location, done, changes);
        }
        Ok(())
    }

    fn uncommitted(&self) -> usize {
        let length = |value: &Option<Vec<u8>>| value.as_ref().map_or(0, Vec::len);
        let size = |c: &Change| CHANGE_SIZE + c.key.len() + length(&c.before) + length(&c.after);
        self.changes().iter().map(size).sum()
    }
}

impl Answer<Get, Vec<u8>> for Store {
    fn answer(&mut self, permit: &Permit<Get>) -> Result<Vec<u8>> {
        let Get { location, key } = permit.operation();
        self.check_location(location)?;
        checks::key(key)?;
        self.now.get(key).cloned().ok_or_else(|| no_key(key))
    }
}

impl Answer<Put> for Store {
    fn answer(&mut self, permit: &Permit<Put>) -> Result<()> {
        let put = permit.operation();
        checks::entry(slice::from_ref(&put.key), &put.value)?;
        self.check_writable(&put.location)?;
        self.set(&put.key, Some(put.value.clone()));
        Ok(())
    }
}

impl Answer<Claim, Option<String>> for Store {
    fn answer(&mut self, permit: &Permit<Claim>) -> Result<Option<String>> {
        let claim = permit.operation();
        checks::entry(&claim.keys, &claim.value)?;
        self.check_writable(&claim.location)?;
        let free = claim.keys.iter().find(|key| !self.now.contains_key(*key));
        if let Some(key) = free {
            self.set(key, Some(claim.value.clone()));
        }
        Ok(free.cloned())
    }
}

impl Answer<Delete> for Store {
    fn answer(&mut self, permit: &Permit<Delete>) -> Result<()> {
        let Delete { location, key } = permit.operation();
        checks::key(key)?;
        self.check_writable(location)?;
        if self.now.contains_key(key) {
            self.set(key, None);
            Ok(())
        } else {
            Err(no_key(key))
        }
    }
}

impl Answer<Keys, Vec<String>> for Store {
    fn answer(&mut self, permit: &Permit<Keys>) -> Result<Vec<String>> {
        self.check_location(&permit.operation().location)?;
        Ok(self.now.keys().cloned().collect())
    }
}

impl Answer<Find, Vec<String>> for Store {
    fn answer(&mut self, permit: &Permit<Find>) -> Result<Vec<String>> {
        let Find { location, value } = permit.operation();
        self.check_location(location)?;
        let has = |found: &[u8]| found.trim_ascii() == &**value;
        let found = self.now.iter().filter(|(_, found)| has(found));
        Ok(found.map(|(key, _)| key.clone()).collect())
    }
}

fn no_key(key: &str) -> Error {
    Error::not_found(format!("no such key: `{key}`"))
}
