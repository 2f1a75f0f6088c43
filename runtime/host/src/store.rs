//! Capability `store`: from the contract to the gate and the file system.

use wasmtime::component::{Resource, ResourceTable};
use weir_grant::Operation;
use weir_grant::store::{self, Configured, Location, StoreRule};
use weir_kernel::{Code, DynTransaction, Error, Perform, Result};

use super::bindings::weir::cni::store::Location as ContractLocation;
use super::bindings::weir::cni::store::{Access, Host as Contract, HostTransaction};
use super::resource::Transaction;
use super::usage::MOST_KEPT;
use super::view::View;

/// The most stores that a plugin may have open at once: each holds files and a lock.
const MOST_OPEN: usize = 16;

/// The open stores of an invocation.
#[derive(Debug, Default)]
pub(crate) struct OpenStores {
    count: usize,
    /// The size of uncommitted changes, in bytes.
    uncommitted: usize,
}

impl OpenStores {
    /// The size of uncommitted changes, in bytes.
    pub(crate) fn uncommitted(&self) -> usize {
        self.uncommitted
    }
}

/// The part of an invocation that the capability needs.
pub(crate) struct StoreView<'a> {
    pub view: View<'a, StoreRule>,
    pub table: &'a mut ResourceTable,
    pub open: &'a mut OpenStores,
    /// The paths that the node's own configuration names.
    pub configured: &'a Configured,
}

impl Contract for StoreView<'_> {
    fn read_file(&mut self, path: String) -> Result<Vec<u8>> {
        let path = path.into();
        self.view.perform(store::ReadFile {
            configured: self.configured.resolv_conf.as_ref() == Some(&path),
            path,
        })
    }

    fn open(
        &mut self,
        location: ContractLocation,
        access: Access,
    ) -> Result<Resource<Transaction>> {
        if self.open.count >= MOST_OPEN {
            let what = format!(
                "{MOST_OPEN} stores are open, the most that a plugin may have open at once"
            );
            return Err(Error::new(Code::Exhausted, what));
        }
        let location = Location::from(location).of_configuration(self.configured);
        let opened = location.clone();
        let store = match access {
            Access::Read => self.view.perform(store::OpenRead { location }),
            Access::Write => self.view.perform(store::OpenWrite { location }),
        }?;
        let pushed = self.table.push(Transaction {
            store,
            location: opened,
            counted: 0,
        });
        let pushed = pushed.map_err(|e| Error::new(Code::Exhausted, e.to_string()))?;
        self.open.count += 1;
        Ok(pushed)
    }
}

impl HostTransaction for StoreView<'_> {
    fn get(&mut self, this: Resource<Transaction>, key: String) -> Result<Vec<u8>> {
        self.perform(&this, |location| store::Get { location, key })
    }

    fn put(&mut self, this: Resource<Transaction>, key: String, value: Vec<u8>) -> Result<()> {
        self.check_kept(&value)?;
        self.perform(&this, |location| store::Put {
            location,
            key,
            value,
        })
    }

    fn claim(
        &mut self,
        this: Resource<Transaction>,
        keys: Vec<String>,
        value: Vec<u8>,
    ) -> Result<Option<String>> {
        self.check_kept(&value)?;
        self.perform(&this, |location| store::Claim {
            location,
            keys,
            value,
        })
    }

    fn delete(&mut self, this: Resource<Transaction>, key: String) -> Result<()> {
        self.perform(&this, |location| store::Delete { location, key })
    }

    fn keys(&mut self, this: Resource<Transaction>) -> Result<Vec<String>> {
        self.perform(&this, |location| store::Keys { location })
    }

    fn find(&mut self, this: Resource<Transaction>, value: Vec<u8>) -> Result<Vec<String>> {
        self.perform(&this, |location| store::Find { location, value })
    }

    fn commit(&mut self, this: Resource<Transaction>) -> Result<()> {
        let Transaction { store, .. } = transaction(self.table, &this)?;
        self.view.commit(&mut **store)?;
        self.count(&this)
    }

    fn drop(&mut self, this: Resource<Transaction>) -> wasmtime::Result<()> {
        let transaction = self.table.delete(this)?;
        self.open.uncommitted -= transaction.counted;
        self.open.count -= 1;
        Ok(())
    }
}

impl StoreView<'_> {
    /// Performs an operation on an open store, and counts what the store has changed by then.
    fn perform<O: Operation<Rule = StoreRule>, A>(
        &mut self,
        this: &Resource<Transaction>,
        operation: impl FnOnce(Location) -> O,
    ) -> Result<A>
    where
        DynTransaction: Perform<O, A>,
    {
        let transaction = transaction(self.table, this)?;
        let operation = operation(transaction.location.clone());
        let outcome = self.view.perform_in(&mut *transaction.store, operation);
        self.count(this)?;
        outcome
    }

    /// Updates the count of uncommitted changes.
    fn count(&mut self, this: &Resource<Transaction>) -> Result<()> {
        let transaction = transaction(self.table, this)?;
        let now = transaction.store.uncommitted();
        self.open.uncommitted = self.open.uncommitted - transaction.counted + now;
        transaction.counted = now;
        Ok(())
    }

    /// Checks that weir can also keep this value for undo. Errors: `Exhausted`.
    fn check_kept(&self, value: &[u8]) -> Result<()> {
        let kept = self.view.kept() + self.open.uncommitted;
        if kept + value.len() <= MOST_KEPT {
            return Ok(());
        }
        Err(Error::new(
            Code::Exhausted,
            format!("weir keeps at most {MOST_KEPT} bytes to undo what a plugin has changed"),
        ))
    }
}

fn transaction<'a>(
    table: &'a mut ResourceTable,
    this: &Resource<Transaction>,
) -> Result<&'a mut Transaction> {
    table
        .get_mut(this)
        .map_err(|e| Error::invalid(format!("store transaction: {e}")))
}

impl From<ContractLocation> for Location {
    fn from(location: ContractLocation) -> Self {
        match location {
            ContractLocation::Private => Self::Private,
            ContractLocation::Directory(path) => Self::Directory(path.into()),
            ContractLocation::SharedDirectory(path) => Self::SharedDirectory(path.into()),
        }
    }
}
