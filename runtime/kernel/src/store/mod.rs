//! Capability `store`: a directory of small files under an exclusive lock.
//!
//! The reference `host-local` keeps its leases in such a directory: one file for each address,
//! `last_reserved_ip.<n>`, and `lock`. A plugin with the same keys and values makes the same files with the same modes and
//! takes the same lock, so that both programs can be used together.
//!
//! A transaction: [`OpenRead`] or [`OpenWrite`] takes the lock; each operation is carried out on disk at once and noted in a
//! journal; [`commit`](crate::Transaction::commit) keeps the changes; dropping the store reverts what was not committed,
//! updates the index and releases the lock.
//!
//! The removal of a key must survive a power failure: otherwise a lease comes back, and its address is never free again.
//! So a commit that removed keys syncs the directory. A creation need not survive, because the container does not either.

mod change;
mod directory;
mod fingerprint;
mod former;
mod index;
pub(crate) mod key;
mod lock;
pub(crate) mod owner;
mod reserved;
mod spare;
mod table;
#[cfg(test)]
mod tests;
pub(crate) mod transaction;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::slice;
use std::time::Instant;

use weir_files::Paths;
use weir_gate::Permit;
use weir_grant::store::{
    Change, Claim, Delete, Find, Get, Keys, Location, OpenRead, OpenWrite, Put, Revert,
};

use crate::linux::Linux;
use crate::perform::{Answer, DynTransaction};
use crate::{Code, Error, Result};
use change::Journal;
use directory::{Directory, Missing};
use index::Index;
use lock::Lock;
pub use owner::{Former, StoreOwner};

/// The most bytes of a store, as [`room_of`] counts: the leases of 131,072 addresses.
const MOST_STORE: u64 = 512 << 20;

/// What a value takes of a store, in bytes: at least one block.
fn room_of(length: usize) -> u64 {
    const BLOCK: u64 = 4096;
    (length as u64).max(1).next_multiple_of(BLOCK)
}

/// Where the stores of an owner are.
#[derive(Clone, Copy)]
struct StorePlace<'a> {
    paths: &'a Paths,
    plugin: &'a str,
    network: &'a str,
}

impl StorePlace<'_> {
    /// The directory that holds the store's, and the store's name in it.
    fn resolve(&self, location: &Location) -> Result<(PathBuf, String)> {
        match location {
            Location::Private => {
                check_component("plugin", self.plugin)?;
                self.of_network(self.paths.stores().join(self.plugin))
            }
            Location::Directory(directory) | Location::ConfiguredDirectory(directory) => {
                self.of_network(self.paths.resolve(directory))
            }
            Location::SharedDirectory(directory)
            | Location::ConfiguredSharedDirectory(directory) => {
                split(&self.paths.resolve(directory))
            }
            Location::File(file) | Location::ConfiguredFile(file) => Err(Error::invalid(format!(
                "the file `{}` is not a store",
                file.display()
            ))),
        }
    }

    fn of_network(&self, parent: PathBuf) -> Result<(PathBuf, String)> {
        check_component("network", self.network)?;
        Ok((parent, self.network.to_owned()))
    }
}

fn split(directory: &Path) -> Result<(PathBuf, String)> {
    let parent = directory.parent();
    let name = directory.file_name().and_then(OsStr::to_str);
    let (parent, name) = parent.zip(name).ok_or_else(|| {
        let shown = directory.display();
        Error::invalid(format!("`{shown}` cannot be a store's directory"))
    })?;
    Ok((parent.to_owned(), name.to_owned()))
}

/// Checks that a name stays in its parent directory.
fn check_component(what: &str, name: &str) -> Result<()> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        return Err(Error::invalid(format!(
            "the {what} name `{}` cannot be a directory's name",
            name.escape_debug()
        )));
    }
    Ok(())
}

/// An open store. Holds the lock until it is dropped.
struct Store {
    location: Location,
    writable: bool,
    /// None for a store that does not exist and is only read.
    open: Option<OpenStore>,
}

/// A store that exists, and the transaction in it.
struct OpenStore {
    directory: Directory,
    index: Index,
    journal: Journal,
    /// The key that was read last, and its value: nobody else changes it while the lock is held.
    last_read: Option<(String, Option<Vec<u8>>)>,
    /// What a killed process left has been removed.
    swept: bool,
    _lock: Lock,
}

/// Opens a store for reading. One that does not exist is empty, and is not made.
///
/// Errors: `busy` if the lock is not released in time; `invalid` for a directory that is a symbolic link, that
/// other users can write, or that is weir's own.
impl Answer<OpenRead, Box<DynTransaction>> for Linux {
    fn answer(&mut self, permit: &Permit<OpenRead>) -> Result<Box<DynTransaction>> {
        let store = self.open_store(&permit.operation().location, Missing::Leave)?;
        Ok(Box::new(store))
    }
}

/// Opens a store for reading and writing. It and its parents are made where missing.
///
/// Errors: as for [`OpenRead`]; `exhausted` on a full disk.
impl Answer<OpenWrite, Box<DynTransaction>> for Linux {
    fn answer(&mut self, permit: &Permit<OpenWrite>) -> Result<Box<DynTransaction>> {
        let store = self.open_store(&permit.operation().location, Missing::Create)?;
        Ok(Box::new(store))
    }
}

/// Reverts committed changes. A key that was changed again since is left as it is.
///
/// Tries every key; returns the first error. Errors: as for [`OpenRead`] and [`Put`].
impl Answer<Revert> for Linux {
    fn answer(&mut self, permit: &Permit<Revert>) -> Result<()> {
        let Revert { location, changes } = permit.operation();
        let opened = OpenStore::open(&self.store_place(), location, Missing::Leave, self.deadline)?;
        let Some(mut open) = opened else {
            // The store is gone, and nothing is left to revert.
            return Ok(());
        };
        let mut outcome = Ok(());
        for change in changes {
            outcome = outcome.and(open.revert(change));
        }
        let kept = open.commit();
        outcome.and(kept.map(drop))
    }
}

impl Linux {
    fn open_store(&self, location: &Location, missing: Missing) -> Result<Store> {
        let place = self.store_place();
        // A directory that a plugin names whole is not the network's alone.
        let is_of_network = !matches!(
            location,
            Location::SharedDirectory(_) | Location::ConfiguredSharedDirectory(_)
        );
        if let Some(former) = self.stores.former.as_ref().filter(|_| is_of_network) {
            former::adopt(&place, former, location, self.deadline)?;
        }
        Ok(Store {
            writable: missing == Missing::Create,
            open: OpenStore::open(&place, location, missing, self.deadline)?,
            location: location.clone(),
        })
    }

    fn store_place(&self) -> StorePlace<'_> {
        StorePlace {
            paths: &self.paths,
            plugin: &self.stores.plugin,
            network: &self.stores.network,
        }
    }
}

/// The value of a key. Errors: `not-found`; `invalid` for what is not a key, not a regular file, or
/// larger than 64 KiB.
impl Answer<Get, Vec<u8>> for Store {
    fn answer(&mut self, permit: &Permit<Get>) -> Result<Vec<u8>> {
        let Get { location, key } = permit.operation();
        self.check_location(location)?;
        key::check(key)?;
        let value = match &mut self.open {
            Some(open) => open.read(key)?,
            None => None,
        };
        value.ok_or_else(|| self.no_key(key))
    }
}

/// Sets a key's value in one step, whether or not it exists. Errors: `exhausted`; `invalid` as
/// for [`Get`].
impl Answer<Put> for Store {
    fn answer(&mut self, permit: &Permit<Put>) -> Result<()> {
        let put = permit.operation();
        key::check_entry(slice::from_ref(&put.key), &put.value)?;
        let open = self.writable(&put.location)?;
        let before = open.read(&put.key)?;
        open.check_room(before.as_deref(), &put.value)?;
        open.set(&put.key, before, Some(put.value.clone()))
    }
}

/// Creates the first of the keys that does not exist, and returns it; none if all exist. Anything of that name counts, even
/// a directory. Errors: `exhausted`; `invalid`.
impl Answer<Claim, Option<String>> for Store {
    fn answer(&mut self, permit: &Permit<Claim>) -> Result<Option<String>> {
        let claim = permit.operation();
        key::check_entry(&claim.keys, &claim.value)?;
        let open = self.writable(&claim.location)?;
        open.check_room(None, &claim.value)?;
        open.before_change(|key| claim.keys.iter().any(|claimed| claimed == key));
        let claimed = open.directory.claim(&claim.keys, &claim.value)?;
        let claimed = claimed.map(str::to_owned);
        if let Some(key) = &claimed {
            open.note(key, None, Some(claim.value.clone()));
        }
        Ok(claimed)
    }
}

/// Removes a key. Errors: `not-found`; `invalid` as for [`Get`].
impl Answer<Delete> for Store {
    fn answer(&mut self, permit: &Permit<Delete>) -> Result<()> {
        let Delete { location, key } = permit.operation();
        key::check(key)?;
        let open = self.writable(location)?;
        match open.read(key)? {
            Some(before) => open.set(key, Some(before), None),
            None => Err(self.no_key(key)),
        }
    }
}

/// All keys, unordered. Only names are read: [`Get`] refuses what is not a regular file.
impl Answer<Keys, Vec<String>> for Store {
    fn answer(&mut self, permit: &Permit<Keys>) -> Result<Vec<String>> {
        self.check_location(&permit.operation().location)?;
        match &self.open {
            Some(open) => open.directory.keys(),
            None => Ok(Vec::new()),
        }
    }
}

/// The keys whose value, without white space around it, is exactly this one, unordered. What is not a regular file, or is
/// larger than 64 KiB, has no value.
impl Answer<Find, Vec<String>> for Store {
    fn answer(&mut self, permit: &Permit<Find>) -> Result<Vec<String>> {
        let Find { location, value } = permit.operation();
        self.check_location(location)?;
        match &mut self.open {
            Some(open) => open.index.find(&open.directory, value),
            None => Ok(Vec::new()),
        }
    }
}

impl Store {
    /// Keeps what was done since opening or the last commit, and returns it.
    fn take_changes(&mut self) -> Result<Vec<Change>> {
        match &mut self.open {
            Some(open) => open.commit(),
            None => Ok(Vec::new()),
        }
    }

    fn writable(&mut self, location: &Location) -> Result<&mut OpenStore> {
        self.check_location(location)?;
        match &mut self.open {
            Some(open) if self.writable => Ok(open),
            _ => Err(Error::invalid(
                "the store was opened for reading; open it with access `write`",
            )),
        }
    }

    /// A permit is for one store, and must not be used on another.
    fn check_location(&self, location: &Location) -> Result<()> {
        if *location == self.location {
            return Ok(());
        }
        Err(Error::new(
            Code::Denied,
            "the permit is for another store than the one that is open",
        ))
    }

    fn no_key(&self, key: &str) -> Error {
        Error::not_found(match &self.open {
            Some(open) => format!("no key `{key}` in `{}`", open.directory.path().display()),
            None => format!("no key `{key}`: the store does not exist"),
        })
    }
}

impl OpenStore {
    fn open(
        place: &StorePlace<'_>,
        location: &Location,
        missing: Missing,
        deadline: Instant,
    ) -> Result<Option<Self>> {
        let (parent, name) = place.resolve(location)?;
        if *location != Location::Private {
            reserved::check(place.paths, &parent, name.as_ref())?;
        }
        loop {
            let Some(directory) = Directory::open(&parent, &name, missing)? else {
                return Ok(None);
            };
            if let Some(lock) = Lock::take(&directory, deadline)? {
                // What a killed process left is removed even if nothing else changes.
                let swept = missing == Missing::Create;
                if swept {
                    directory.sweep();
                }
                return Ok(Some(Self {
                    directory,
                    index: Index::new(place.paths.indexes()),
                    journal: Journal::default(),
                    last_read: None,
                    swept,
                    _lock: lock,
                }));
            }
        }
    }

    fn commit(&mut self) -> Result<Vec<Change>> {
        if self.journal.has_removed() {
            self.directory.sync()?;
        }
        Ok(self.journal.take())
    }

    /// Fails if a value in place of another would make the store too large.
    fn check_room(&mut self, before: Option<&[u8]>, value: &[u8]) -> Result<()> {
        let more = room_of(value.len());
        if before.is_some_and(|before| more <= room_of(before.len())) {
            return Ok(());
        }
        let size = self.index.size(&self.directory)?;
        if size + more <= MOST_STORE {
            return Ok(());
        }
        let shown = self.directory.path().display();
        Err(Error::new(
            Code::Exhausted,
            format!(
                "the store `{shown}` is full: its files take {size} bytes of at most {MOST_STORE}"
            ),
        ))
    }

    /// The value of a key.
    fn read(&mut self, key: &str) -> Result<Option<Vec<u8>>> {
        if let Some((last, value)) = &self.last_read
            && last == key
        {
            return Ok(value.clone());
        }
        let value = self.directory.read(key)?;
        self.last_read = Some((key.to_owned(), value.clone()));
        Ok(value)
    }

    /// Changes one key.
    fn set(&mut self, key: &str, before: Option<Vec<u8>>, after: Option<Vec<u8>>) -> Result<()> {
        self.before_change(|changed| changed == key);
        match (&before, &after) {
            (_, Some(value)) => self.directory.set(key, before.as_deref(), value)?,
            (Some(_), None) => self.directory.remove(key)?,
            (None, None) => return Ok(()),
        }
        self.note(key, before, after);
        Ok(())
    }

    fn before_change(&mut self, is_changed: impl Fn(&str) -> bool) {
        self.last_read.take_if(|(last, _)| is_changed(last));
        self.index.before_change(&self.directory);
        if !std::mem::replace(&mut self.swept, true) {
            self.directory.sweep();
        }
    }

    fn note(&mut self, key: &str, before: Option<Vec<u8>>, after: Option<Vec<u8>>) {
        self.index.note(key, before.as_deref(), after.as_deref());
        self.journal.note(key, before, after);
    }

    /// Takes one change back, if the key is still as the change left it.
    fn revert(&mut self, change: &Change) -> Result<()> {
        let now = self.directory.read(&change.key)?;
        if now != change.after {
            return Ok(());
        }
        self.set(&change.key, now, change.before.clone())
    }

    /// Takes back what was not committed.
    fn undo(&mut self) -> Result<()> {
        let mut outcome = Ok(());
        for change in self.journal.take() {
            outcome = outcome.and(self.revert(&change));
        }
        let kept = self.commit();
        outcome.and(kept.map(drop))
    }
}

impl Drop for OpenStore {
    fn drop(&mut self) {
        if let Err(error) = self.undo() {
            eprintln!("weir: cannot undo a store's changes: {error}");
        }
        self.index.settle(&self.directory);
    }
}
