//! Capability `store`: state that outlives an invocation, under an exclusive lock.
//!
//! ```no_run
//! # fn main() -> Result<(), weir_sdk::Error> {
//! use weir_sdk::store::{Access, Location, Store};
//!
//! let store = Store::open(Location::Private, Access::Write)?;
//! let free = ["blue", "green"];
//! let claimed = store.claim(free, b"container 1")?;
//! store.commit()?;
//! # Ok(())
//! # }
//! ```

use crate::bindings::weir::cni::store as raw;
use crate::{ErrorCode, Result};

pub use raw::{Access, Location};

impl Location {
    /// Names the network's part of a directory, `<directory>/<network>`. The grant must name the directory.
    pub fn directory(directory: impl Into<String>) -> Self {
        Location::Directory(directory.into())
    }

    /// Names a directory of all networks. The grant must name it.
    pub fn shared_directory(directory: impl Into<String>) -> Self {
        Location::SharedDirectory(directory.into())
    }
}

/// An open store. Dropping it releases the lock and undoes what was not committed.
pub struct Store(raw::Transaction);

impl Store {
    /// Opens the store and takes its lock. Errors: `busy` when the lock was not available within
    /// the invocation's time, `denied`, `invalid` for an unsafe directory.
    pub fn open(location: Location, access: Access) -> Result<Self> {
        Ok(Store(raw::open(&location, access)?))
    }

    /// Returns the value of a key; none where it does not exist.
    pub fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        match self.0.get(key) {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.code == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sets a key's value. Errors: `exhausted` on a full disk.
    pub fn put(&self, key: &str, value: &[u8]) -> Result<()> {
        Ok(self.0.put(key, value)?)
    }

    /// Creates the first of these keys that does not exist, and returns it; none when all exist.
    /// Errors: `exhausted` on a full disk.
    pub fn claim<K: Into<String>>(
        &self,
        keys: impl IntoIterator<Item = K>,
        value: &[u8],
    ) -> Result<Option<String>> {
        let keys: Vec<String> = keys.into_iter().map(Into::into).collect();
        Ok(self.0.claim(&keys, value)?)
    }

    /// Removes a key; `false` where it does not exist.
    pub fn delete(&self, key: &str) -> Result<bool> {
        match self.0.delete(key) {
            Ok(()) => Ok(true),
            Err(error) if error.code == ErrorCode::NotFound => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Lists all keys, unordered.
    pub fn keys(&self) -> Result<Vec<String>> {
        Ok(self.0.keys()?)
    }

    /// Returns the keys whose value, without white space around it, is exactly this one, unordered.
    pub fn find(&self, value: &[u8]) -> Result<Vec<String>> {
        Ok(self.0.find(value)?)
    }

    /// Keeps what was done since the store was opened or last committed.
    pub fn commit(&self) -> Result<()> {
        Ok(self.0.commit()?)
    }
}

/// Reads a configuration file of the host whole. Errors: `not-found`, `invalid`.
pub fn read_file(path: &str) -> Result<Vec<u8>> {
    Ok(raw::read_file(path)?)
}
