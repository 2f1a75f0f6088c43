//! Capability `store`: keys with values, and files of the host.

use std::collections::BTreeMap;

use super::error::{ENOENT, Result, error, invalid, not_found, refuse};
use super::{Call, Machine, current};
use crate::bindings::weir::cni::store::{Access, Location};
use crate::bindings::weir::cni::types::ErrorCode;

/// The most stores that a plugin may have open.
const MOST_OPEN: usize = 16;
const LONGEST_KEY: usize = 255;
const LARGEST_VALUE: usize = 64 << 10;

type Values = BTreeMap<String, Vec<u8>>;

/// An open store. Dropping it undoes what was not committed and releases the lock.
#[derive(Debug)]
pub struct Transaction {
    directory: String,
    is_writable: bool,
}

/// Returns the content of a configuration file of the host. Errors: `not-found`; `invalid` for a path that is not
/// absolute and for a file of more than 64 KiB.
pub fn read_file(path: &str) -> Result<Vec<u8>> {
    Call::of("store.read-file").with(path).run(|machine| {
        if !path.starts_with('/') {
            return Err(invalid("the path is not absolute"));
        }
        match machine.files.get(path) {
            None => refuse(ENOENT),
            Some(content) if content.len() > LARGEST_VALUE => Err(invalid(format!(
                "the file is larger than {LARGEST_VALUE} bytes"
            ))),
            Some(content) => Ok(content.clone()),
        }
    })
}

/// Opens a store and takes its lock. Errors: `busy` when the lock is not free within the invocation's time, `exhausted` when
/// 16 stores are open.
pub fn open(location: &Location, access: Access) -> Result<Transaction> {
    let text = format!("{} for {access:?}", shown(location));
    Call::of("store.open").with(text).run(|machine| {
        if machine.locked.len() >= MOST_OPEN {
            let why = format!("{MOST_OPEN} stores are open, the most at once");
            return Err(error(ErrorCode::Exhausted, why));
        }
        let directory = directory(machine, location)?;
        let values = machine.stores.get(&directory).cloned().unwrap_or_default();
        if machine.locked.insert(directory.clone(), values).is_some() {
            return Err(error(ErrorCode::Busy, "the store is open already"));
        }
        Ok(Transaction {
            directory,
            is_writable: access == Access::Write,
        })
    })
}

fn shown(location: &Location) -> String {
    match location {
        Location::Private => "private".to_owned(),
        Location::Directory(path) => format!("directory {path}"),
        Location::SharedDirectory(path) => format!("shared-directory {path}"),
    }
}

fn directory(machine: &Machine, location: &Location) -> Result<String> {
    let network = &machine.marks.name;
    match location {
        Location::Private => Ok(format!("private/{network}")),
        Location::Directory(path) | Location::SharedDirectory(path) if !path.starts_with('/') => {
            Err(invalid(format!("`{path}` is not an absolute path")))
        }
        Location::Directory(path) => Ok(format!("{path}/{network}")),
        Location::SharedDirectory(path) => Ok(path.clone()),
    }
}

impl Transaction {
    /// Returns the value of a key. Errors: `not-found`.
    pub fn get(&self, key: &str) -> Result<Vec<u8>> {
        self.perform("store.get", key, |values| {
            check_key(key)?;
            values.get(key).cloned().ok_or_else(|| no_key(key))
        })
    }

    /// Sets the value of a key, whether or not the key exists. Errors: `exhausted`.
    pub fn put(&self, key: &str, value: &[u8]) -> Result<()> {
        self.perform("store.put", key, |values| {
            check_entry(key, value)?;
            self.check_writable()?;
            values.insert(key.to_owned(), value.to_owned());
            Ok(())
        })
    }

    /// Creates the first of these keys that does not exist, with this value, and returns the key; none when all
    /// exist. Errors: `exhausted`.
    pub fn claim(&self, keys: &[String], value: &[u8]) -> Result<Option<String>> {
        self.perform("store.claim", &keys.join(" "), |values| {
            keys.iter().try_for_each(|key| check_entry(key, value))?;
            self.check_writable()?;
            let free = keys.iter().find(|key| !values.contains_key(*key));
            if let Some(key) = free {
                values.insert(key.clone(), value.to_owned());
            }
            Ok(free.cloned())
        })
    }

    /// Removes a key. Errors: `not-found`.
    pub fn delete(&self, key: &str) -> Result<()> {
        self.perform("store.delete", key, |values| {
            check_key(key)?;
            self.check_writable()?;
            values.remove(key).map(drop).ok_or_else(|| no_key(key))
        })
    }

    /// Returns all keys, in no order.
    pub fn keys(&self) -> Result<Vec<String>> {
        self.perform("store.keys", "", |values| {
            Ok(values.keys().cloned().collect())
        })
    }

    /// Returns the keys whose value, without white space around it, is exactly this one, in no order.
    pub fn find(&self, value: &[u8]) -> Result<Vec<String>> {
        self.perform("store.find", "", |values| {
            let found = values.iter().filter(|(_, v)| v.trim_ascii() == value);
            Ok(found.map(|(key, _)| key.clone()).collect())
        })
    }

    /// Keeps what was done since the store was opened or last committed. When the invocation's `add` fails, weir
    /// undoes it nevertheless.
    pub fn commit(&self) -> Result<()> {
        Call::of("store.commit").run(|machine| {
            if let Some(values) = machine.locked.get(&self.directory) {
                machine
                    .stores
                    .insert(self.directory.clone(), values.clone());
            }
            Ok(())
        })
    }

    /// Carries out what is done to the values before they are committed.
    fn perform<T>(
        &self,
        function: &'static str,
        text: &str,
        act: impl FnOnce(&mut Values) -> Result<T>,
    ) -> Result<T> {
        Call::of(function).with(text).run(|machine| {
            let values = machine.locked.get_mut(&self.directory);
            act(values.ok_or_else(|| error(ErrorCode::Failed, "the store is not open"))?)
        })
    }

    fn check_writable(&self) -> Result<()> {
        if self.is_writable {
            Ok(())
        } else {
            Err(invalid("the store was opened for reading"))
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Ok(host) = current("store.open")
            && let Ok(mut host) = host.try_borrow_mut()
        {
            host.machine.locked.remove(&self.directory);
        }
    }
}

fn check_key(key: &str) -> Result<()> {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"._:-".contains(&b);
    let is_key = (1..=LONGEST_KEY).contains(&key.len()) && key.bytes().all(is_allowed);
    if is_key && ![".", "..", "lock"].contains(&key) {
        return Ok(());
    }
    let key = key.escape_debug();
    Err(invalid(format!(
        "`{key}` is not a key: expected 1 to {LONGEST_KEY} bytes of `A-Z a-z 0-9 . _ : -`"
    )))
}

fn check_entry(key: &str, value: &[u8]) -> Result<()> {
    check_key(key)?;
    if value.len() > LARGEST_VALUE {
        let length = value.len();
        return Err(invalid(format!(
            "a value of {length} bytes: expected at most {LARGEST_VALUE}"
        )));
    }
    Ok(())
}

fn no_key(key: &str) -> crate::bindings::OperationError {
    not_found(format!("no such key: `{key}`"))
}
