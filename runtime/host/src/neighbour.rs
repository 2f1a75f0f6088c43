//! Capability `neighbour`: from the contract to the gate and the kernel.

use weir_grant::neighbour;
use weir_kernel::Result;

use super::bindings::weir::cni::neighbour::{Host as Contract, Neighbour, State};
use super::bindings::weir::cni::types::{IpAddress, IpFamily, LinkReference, Namespace};
use super::convert::{each, mac, same_fields, same_names};
use super::view::View;

impl Contract for View<'_, neighbour::NeighbourRule> {
    fn add(&mut self, namespace: Namespace, link: LinkReference, entry: Neighbour) -> Result<()> {
        let operation = neighbour::Add {
            link: self.identify(namespace, &link)?,
            address: entry.address.into(),
            mac: entry.mac.map(mac).transpose()?,
            state: entry.state.into(),
            proxy: entry.proxy,
        };
        self.perform(operation)
    }

    fn delete(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        address: IpAddress,
    ) -> Result<()> {
        let operation = neighbour::Delete {
            link: self.identify(namespace, &link)?,
            address: address.into(),
            proxy: None,
        };
        self.perform(operation)
    }

    fn list(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        family: Option<IpFamily>,
    ) -> Result<Vec<Neighbour>> {
        let operation = neighbour::List {
            link: self.identify(namespace, &link)?,
            family: family.map(Into::into),
        };
        self.perform(operation).map(each)
    }

    fn announce(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        addresses: Vec<IpAddress>,
    ) -> Result<()> {
        let operation = neighbour::Announce {
            link: self.identify(namespace, &link)?,
            addresses: each(addresses),
        };
        self.perform(operation)
    }
}

same_names! {
    State, neighbour::State { Incomplete Reachable Stale Delay Probe Failed Noarp Permanent }
}

same_fields! {
    neighbour::Neighbour => Neighbour { address state proxy; map mac }
}
