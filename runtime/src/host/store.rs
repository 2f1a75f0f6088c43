//! Capability `store`: from the contract to the gate and the file system.

use wasmtime::component::Resource;

use super::bindings::weir::cni::store::Location as ContractLocation;
use super::bindings::weir::cni::store::{Access, Host as Contract, HostTransaction};
use super::state::Host;
use super::undo::Undo;
use crate::grant::section::in_one_part;
use crate::grant::store::{self, Location};
use crate::kernel::store::{Former, Store, StorePlace};
use crate::kernel::{self, Error};

/// An open store, and where it is.
pub struct Transaction {
    store: Store,
    location: Location,
}

impl Contract for Host {
    fn read_file(&mut self, path: String) -> Result<Vec<u8>, Error> {
        let operation = store::ReadFile { path: path.into() };
        self.gate
            .perform(operation, |permit| kernel::file::read(permit, &self.paths))
    }

    fn open(
        &mut self,
        location: ContractLocation,
        access: Access,
    ) -> Result<Resource<Transaction>, Error> {
        let location = match location {
            ContractLocation::Private => Location::Private,
            ContractLocation::Directory(path) => Location::Directory(path.into()),
            ContractLocation::SharedDirectory(path) => Location::SharedDirectory(path.into()),
        };
        let invocation = self.gate.invocation().clone();
        let network = in_one_part(&invocation.network);
        // A plugin shares a directory that it names whole with whom it will.
        let is_of_network = !matches!(location, Location::SharedDirectory(_));
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
        };
        self.table
            .push(transaction)
            .map_err(|e| Error::new(kernel::Code::Exhausted, e.to_string()))
    }
}

impl HostTransaction for Host {
    fn get(&mut self, this: Resource<Transaction>, key: String) -> Result<Vec<u8>, Error> {
        let Transaction { store, location } = transaction(&mut self.table, &this)?;
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
        let Transaction { store, location } = transaction(&mut self.table, &this)?;
        let location = location.clone();
        let operation = store::Put {
            location,
            key,
            value,
        };
        self.gate.perform(operation, |permit| store.put(permit))
    }

    fn claim(
        &mut self,
        this: Resource<Transaction>,
        keys: Vec<String>,
        value: Vec<u8>,
    ) -> Result<Option<String>, Error> {
        let Transaction { store, location } = transaction(&mut self.table, &this)?;
        let location = location.clone();
        let operation = store::Claim {
            location,
            keys,
            value,
        };
        self.gate.perform(operation, |permit| store.claim(permit))
    }

    fn delete(&mut self, this: Resource<Transaction>, key: String) -> Result<(), Error> {
        let Transaction { store, location } = transaction(&mut self.table, &this)?;
        let location = location.clone();
        self.gate
            .perform(store::Delete { location, key }, |permit| {
                store.delete(permit)
            })
    }

    fn keys(&mut self, this: Resource<Transaction>) -> Result<Vec<String>, Error> {
        let Transaction { store, location } = transaction(&mut self.table, &this)?;
        let location = location.clone();
        self.gate
            .perform(store::Keys { location }, |permit| store.keys(permit))
    }

    fn find(&mut self, this: Resource<Transaction>, value: Vec<u8>) -> Result<Vec<String>, Error> {
        let Transaction { store, location } = transaction(&mut self.table, &this)?;
        let location = location.clone();
        self.gate
            .perform(store::Find { location, value }, |permit| store.find(permit))
    }

    fn commit(&mut self, this: Resource<Transaction>) -> Result<(), Error> {
        let Transaction { store, location } = transaction(&mut self.table, &this)?;
        let changes = store.commit()?;
        self.done.push(Undo::Store(store::Revert {
            location: location.clone(),
            changes,
        }));
        Ok(())
    }

    fn drop(&mut self, this: Resource<Transaction>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
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
