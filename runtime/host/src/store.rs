//! Capability `store`: from the contract to the gate and the file system.

use wasmtime::component::Resource;
use weir_grant::section::in_one_part;
use weir_grant::store::{self, Location};
use weir_kernel::store::{Former, StorePlace};
use weir_kernel::{self as kernel, Error};

use super::bindings::weir::cni::store::Location as ContractLocation;
use super::bindings::weir::cni::store::{Access, Host as Contract, HostTransaction};
use super::resource::Transaction;
use super::state::{Host, MOST_KEPT};

/// How many stores a plugin has open at once, at most: each holds files and a lock.
const MOST_OPEN: usize = 16;

impl Contract for Host {
    fn read_file(&mut self, path: String) -> Result<Vec<u8>, Error> {
        let path = path.into();
        let operation = store::ReadFile {
            configured: self.configured.resolv_conf.as_ref() == Some(&path),
            path,
        };
        self.gate
            .perform(operation, |permit| kernel::file::read(permit, &self.paths))
    }

    fn open(
        &mut self,
        location: ContractLocation,
        access: Access,
    ) -> Result<Resource<Transaction>, Error> {
        if self.open_stores >= MOST_OPEN {
            let what = format!("{MOST_OPEN} stores are open, which is as many as may be at once");
            return Err(Error::new(kernel::Code::Exhausted, what));
        }
        let location = match location {
            ContractLocation::Private => Location::Private,
            ContractLocation::Directory(path) => Location::Directory(path.into()),
            ContractLocation::SharedDirectory(path) => Location::SharedDirectory(path.into()),
        };
        let location = location.of_configuration(&self.configured);
        let invocation = self.gate.invocation().clone();
        let network = in_one_part(&invocation.network);
        // A plugin shares a directory that it names whole with whom it will.
        let is_of_network = !matches!(
            location,
            Location::SharedDirectory(_) | Location::ConfiguredSharedDirectory(_)
        );
        let former = self.former_network.as_deref().filter(|_| is_of_network);
        let place = StorePlace {
            paths: &self.paths,
            plugin: &self.plugin,
            network: &network,
            former: former.map(|network| Former {
                network,
                container_id: &invocation.container_id,
                ifname: &invocation.ifname,
            }),
        };
        let deadline = self.deadline;
        let opened = location.clone();
        let store = match access {
            Access::Read => self.gate.perform(store::OpenRead { location }, |permit| {
                kernel::store::open_read(permit, &place, deadline)
            }),
            Access::Write => self.gate.perform(store::OpenWrite { location }, |permit| {
                kernel::store::open_write(permit, &place, deadline)
            }),
        }?;
        let transaction = Transaction {
            store,
            location: opened,
            counted: 0,
        };
        let pushed = self.table.push(transaction);
        let pushed = pushed.map_err(|e| Error::new(kernel::Code::Exhausted, e.to_string()))?;
        self.open_stores += 1;
        Ok(pushed)
    }
}

impl HostTransaction for Host {
    fn get(&mut self, this: Resource<Transaction>, key: String) -> Result<Vec<u8>, Error> {
        let Transaction {
            store, location, ..
        } = transaction(&mut self.table, &this)?;
        let location = location.clone();
        self.gate
            .perform(store::Get { location, key }, |permit| store.get(permit))
    }

    fn put(
        &mut self,
        this: Resource<Transaction>,
        key: String,
        value: Vec<u8>,
    ) -> Result<(), Error> {
        self.check_kept(&value)?;
        let Transaction {
            store, location, ..
        } = transaction(&mut self.table, &this)?;
        let operation = store::Put {
            location: location.clone(),
            key,
            value,
        };
        let outcome = self.gate.perform(operation, |permit| store.put(permit));
        self.count(&this)?;
        outcome
    }

    fn claim(
        &mut self,
        this: Resource<Transaction>,
        keys: Vec<String>,
        value: Vec<u8>,
    ) -> Result<Option<String>, Error> {
        self.check_kept(&value)?;
        let Transaction {
            store, location, ..
        } = transaction(&mut self.table, &this)?;
        let operation = store::Claim {
            location: location.clone(),
            keys,
            value,
        };
        let outcome = self.gate.perform(operation, |permit| store.claim(permit));
        self.count(&this)?;
        outcome
    }

    fn delete(&mut self, this: Resource<Transaction>, key: String) -> Result<(), Error> {
        let Transaction {
            store, location, ..
        } = transaction(&mut self.table, &this)?;
        let location = location.clone();
        let operation = store::Delete { location, key };
        let outcome = self.gate.perform(operation, |permit| store.delete(permit));
        self.count(&this)?;
        outcome
    }

    fn keys(&mut self, this: Resource<Transaction>) -> Result<Vec<String>, Error> {
        let Transaction {
            store, location, ..
        } = transaction(&mut self.table, &this)?;
        let location = location.clone();
        self.gate
            .perform(store::Keys { location }, |permit| store.keys(permit))
    }

    fn find(&mut self, this: Resource<Transaction>, value: Vec<u8>) -> Result<Vec<String>, Error> {
        let Transaction {
            store, location, ..
        } = transaction(&mut self.table, &this)?;
        let location = location.clone();
        self.gate
            .perform(store::Find { location, value }, |permit| store.find(permit))
    }

    fn commit(&mut self, this: Resource<Transaction>) -> Result<(), Error> {
        let Transaction {
            store, location, ..
        } = transaction(&mut self.table, &this)?;
        let changes = store.commit()?;
        self.done.push_changes(location, changes);
        self.count(&this)
    }

    fn drop(&mut self, this: Resource<Transaction>) -> wasmtime::Result<()> {
        let transaction = self.table.delete(this)?;
        self.uncommitted -= transaction.counted;
        self.open_stores -= 1;
        Ok(())
    }
}

impl Host {
    /// Counts what a transaction has changed by now.
    fn count(&mut self, this: &Resource<Transaction>) -> Result<(), Error> {
        let transaction = transaction(&mut self.table, this)?;
        let now = transaction.store.uncommitted();
        self.uncommitted = self.uncommitted - transaction.counted + now;
        transaction.counted = now;
        Ok(())
    }

    /// Fails where the host would keep too much with a value.
    fn check_kept(&self, value: &[u8]) -> Result<(), Error> {
        if self.kept() + value.len() <= MOST_KEPT {
            return Ok(());
        }
        Err(Error::new(
            kernel::Code::Exhausted,
            format!("the host keeps at most {MOST_KEPT} bytes to undo what a plugin has changed"),
        ))
    }
}

fn transaction<'a>(
    table: &'a mut wasmtime::component::ResourceTable,
    this: &Resource<Transaction>,
) -> Result<&'a mut Transaction, Error> {
    table
        .get_mut(this)
        .map_err(|e| Error::invalid(format!("store transaction: {e}")))
}
