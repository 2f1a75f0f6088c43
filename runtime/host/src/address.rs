//! Capability `address`: from the contract to the gate and the kernel.

use ipnet::IpNet;
use weir_grant::address;
use weir_kernel::{self as kernel, Error};

use super::bindings::weir::cni::address::{Address, Host as Contract, NewAddress};
use super::bindings::weir::cni::types::{IpFamily, IpNetwork, LinkReference, Namespace};
use super::convert::network;
use super::state::Host;
use super::undo::Undo;

impl Contract for Host {
    fn add(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        new: NewAddress,
    ) -> Result<(), Error> {
        let mut operation = address::Add {
            link: self.identify(namespace, &link)?,
            address: network(new.address)?,
            peer: new.peer.map(Into::into),
            broadcast: new.broadcast.map(Into::into),
            no_duplicate_detection: new.no_duplicate_detection,
            no_prefix_route: new.no_prefix_route,
            overlap: None,
        };
        operation.overlap = self.overlap(namespace, operation.address)?;
        let undo = Undo::Address(address::Delete {
            link: operation.link.clone(),
            address: operation.address,
        });
        self.gate.perform(operation, |permit| {
            kernel::address::add(&mut self.namespaces, permit)
        })?;
        self.done.push(undo);
        Ok(())
    }

    fn delete(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        address: IpNetwork,
    ) -> Result<(), Error> {
        let operation = address::Delete {
            link: self.identify(namespace, &link)?,
            address: network(address)?,
        };
        self.gate.perform(operation, |permit| {
            kernel::address::delete(&mut self.namespaces, permit)
        })
    }

    fn list(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        family: Option<IpFamily>,
    ) -> Result<Vec<Address>, Error> {
        let operation = address::List {
            link: self.identify(namespace, &link)?,
            family: family.map(Into::into),
        };
        let addresses = self.gate.perform(operation, |permit| {
            kernel::address::list(&mut self.namespaces, permit)
        })?;
        Ok(addresses.into_iter().map(Into::into).collect())
    }

    fn settle(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        timeout: u32,
    ) -> Result<(), Error> {
        let operation = address::Settle {
            link: self.identify(namespace, &link)?,
            timeout_ms: timeout,
        };
        let deadline = self.deadline;
        self.gate.perform(operation, |permit| {
            kernel::address::settle(&mut self.namespaces, permit, deadline)
        })
    }
}

impl From<kernel::address::Address> for Address {
    fn from(address: kernel::address::Address) -> Self {
        Self {
            address: IpNet::into(address.address),
            peer: address.peer.map(Into::into),
            broadcast: address.broadcast.map(Into::into),
            tentative: address.tentative,
            duplicate: address.duplicate,
        }
    }
}
