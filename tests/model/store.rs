//! Capability `store`: keys and values, and files.

mod transaction;

use std::path::PathBuf;

use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::store::{Location, OpenRead, OpenWrite, ReadFile, Revert};
use weir_kernel::{Answer, DynTransaction, Error, Result};

use super::error::refused;
use super::kernel::Model;
use transaction::Store;

/// Where private stores are.
const PRIVATE: &str = "/var/lib/weir/stores";

impl Answer<ReadFile, Vec<u8>> for Model {
    fn answer(&mut self, permit: &Permit<ReadFile>) -> Result<Vec<u8>> {
        let path = &permit.operation().path;
        let doing = format_args!("read `{}`", path.display());
        let found = self.look(|state| Ok(state.files.get(path).cloned()))?;
        found.ok_or_else(|| refused(Errno::ENOENT, doing))
    }
}

impl Answer<OpenRead, Box<DynTransaction>> for Model {
    fn answer(&mut self, permit: &Permit<OpenRead>) -> Result<Box<DynTransaction>> {
        Ok(Box::new(self.open(&permit.operation().location, false)?))
    }
}

impl Answer<OpenWrite, Box<DynTransaction>> for Model {
    fn answer(&mut self, permit: &Permit<OpenWrite>) -> Result<Box<DynTransaction>> {
        Ok(Box::new(self.open(&permit.operation().location, true)?))
    }
}

impl Answer<Revert> for Model {
    fn answer(&mut self, permit: &Permit<Revert>) -> Result<()> {
        let Revert { location, changes } = permit.operation();
        let mut store = self.open(location, true)?;
        store.revert(changes);
        store.settle();
        Ok(())
    }
}

impl Model {
    /// Opens a store. Errors: `Busy` where it is open, as nobody gives it back meanwhile; `Invalid`.
    fn open(&self, location: &Location, writable: bool) -> Result<Store> {
        let directory = self.directory(location)?;
        let is_free = self.node.machine().locked.insert(directory.clone());
        if is_free {
            Ok(Store::new(
                self.node.clone(),
                location.clone(),
                directory,
                writable,
            ))
        } else {
            let why = format!("the store `{}` is locked", directory.display());
            Err(Error::busy(why))
        }
    }

    fn directory(&self, location: &Location) -> Result<PathBuf> {
        let network = &self.owner.network;
        match location {
            Location::Private => Ok([PRIVATE, &self.owner.plugin, network].iter().collect()),
            Location::Directory(path) | Location::ConfiguredDirectory(path) => {
                Ok(path.join(network))
            }
            Location::SharedDirectory(path) | Location::ConfiguredSharedDirectory(path) => {
                Ok(path.clone())
            }
            Location::File(_) | Location::ConfiguredFile(_) => {
                Err(Error::invalid("a file is not a store"))
            }
        }
    }
}
