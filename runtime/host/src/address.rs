//! Capability `address`: from the contract to the gate and the kernel.

use weir_grant::address;
use weir_kernel::Result;

use super::bindings::weir::cni::address::{Address, Host as Contract, NewAddress};
use super::bindings::weir::cni::types::{IpFamily, IpNetwork, LinkReference, Namespace};
use super::convert::{each, network, same_fields};
use super::view::View;

impl Contract for View<'_, address::AddressRule> {
    fn add(&mut self, namespace: Namespace, link: LinkReference, new: NewAddress) -> Result<()> {
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
        self.perform(operation)
    }

    fn delete(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        address: IpNetwork,
    ) -> Result<()> {
        let operation = address::Delete {
            link: self.identify(namespace, &link)?,
            address: network(address)?,
        };
        self.perform(operation)
    }

    fn list(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        family: Option<IpFamily>,
    ) -> Result<Vec<Address>> {
        let operation = address::List {
            link: self.identify(namespace, &link)?,
            family: family.map(Into::into),
        };
        self.perform(operation).map(each)
    }

    fn settle(&mut self, namespace: Namespace, link: LinkReference, timeout: u32) -> Result<()> {
        let operation = address::Settle {
            link: self.identify(namespace, &link)?,
            timeout_ms: timeout,
        };
        self.perform(operation)
    }
}

same_fields! {
    address::Address => Address { address tentative duplicate; map peer broadcast }
}
