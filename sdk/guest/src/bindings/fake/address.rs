//! Capability `address`: addresses of links, and the routes that come with them. Duplicate address detection takes no time
//! and finds nothing.

use std::net::{IpAddr, Ipv6Addr};

use ipnet::IpNet;

use super::error::{EACCES, EADDRNOTAVAIL, EEXIST, Result, invalid, refuse};
use super::state::{LinkAddress, Network, network as read_network};
use super::{Call, route, sysctl};
use crate::bindings::weir::cni::address::{Address, NewAddress};
use crate::bindings::weir::cni::types::{IpFamily, IpNetwork, LinkReference, Namespace};

pub fn add(namespace: Namespace, link: &LinkReference, new: NewAddress) -> Result<()> {
    let call = Call::of("address.add").on(namespace, link);
    call.with(shown(new.address)).run(|machine| {
        let network = machine.network(namespace)?;
        let index = network.index(link)?;
        add_to(network, index, new)
    })
}

/// An address in text, also where its prefix is too long.
fn shown(network: IpNetwork) -> String {
    format!(
        "{}/{}",
        IpAddr::from(network.address),
        network.prefix_length
    )
}

fn add_to(network: &mut Network, link: u32, new: NewAddress) -> Result<()> {
    let address = read_network(new.address)?;
    let own = address.addr();
    let (peer, broadcast) = (new.peer.map(IpAddr::from), new.broadcast.map(IpAddr::from));
    if peer.is_some_and(|peer| peer.is_ipv4() != own.is_ipv4()) {
        return Err(invalid("the peer is not of the address's family"));
    }
    if broadcast.is_some_and(|broadcast| own.is_ipv6() || broadcast.is_ipv6()) {
        return Err(invalid("only an IPv4 address has a broadcast address"));
    }
    let name = &network.device(link)?.link.name;
    if own.is_ipv6() && sysctl::is_ipv6_disabled(network, name) {
        return refuse(EACCES);
    }
    let held = LinkAddress {
        link,
        address,
        peer: peer.filter(|peer| *peer != own),
        broadcast,
    };
    if network
        .addresses_of(link)
        .any(|there| is_same(there, &held))
    {
        return refuse(EEXIST);
    }
    put(network, held, new.no_prefix_route);
    Ok(())
}

fn put(network: &mut Network, held: LinkAddress, no_prefix_route: bool) {
    route::of_new_address(network, &held, no_prefix_route);
    network.addresses.push(held);
}

/// Of IPv6, a link has an address once, whatever its prefix.
fn is_same(there: &LinkAddress, new: &LinkAddress) -> bool {
    if new.address.addr().is_ipv6() {
        there.address.addr() == new.address.addr()
    } else {
        (there.address, there.peer) == (new.address, new.peer)
    }
}

pub fn delete(namespace: Namespace, link: &LinkReference, address: IpNetwork) -> Result<()> {
    let call = Call::of("address.delete").on(namespace, link);
    call.with(shown(address)).run(|machine| {
        let network = machine.network(namespace)?;
        let index = network.index(link)?;
        delete_from(network, index, read_network(address)?)
    })
}

/// Removes an address, and with the first IPv4 address of a network the others of it.
fn delete_from(network: &mut Network, link: u32, address: IpNet) -> Result<()> {
    let found = network
        .addresses_of(link)
        .find(|held| held.address == address);
    let gone = found.cloned().ok_or(EADDRNOTAVAIL)?;
    let takes_others = address.addr().is_ipv4() && !route::is_secondary(network, &gone);
    let goes = |held: &LinkAddress| {
        held.link == link
            && (held.address == address || (takes_others && held.network() == gone.network()))
    };
    let (going, staying) = network.addresses.drain(..).partition(|held| goes(held));
    network.addresses = staying;
    let going: Vec<LinkAddress> = going;
    for held in &going {
        route::of_gone_address(network, held);
    }
    Ok(())
}

pub fn list(
    namespace: Namespace,
    link: &LinkReference,
    family: Option<IpFamily>,
) -> Result<Vec<Address>> {
    Call::of("address.list").on(namespace, link).run(|machine| {
        let network = machine.look(namespace)?;
        let held = network.addresses_of(network.index(link)?);
        let held = held.filter(|h| family.is_none_or(|f| f == IpFamily::of(h.address.addr())));
        Ok(held.map(LinkAddress::told).collect())
    })
}

impl LinkAddress {
    fn told(&self) -> Address {
        Address {
            address: self.address.into(),
            peer: self.peer.map(Into::into),
            broadcast: self.broadcast.map(Into::into),
            tentative: false,
            duplicate: false,
        }
    }
}

pub fn settle(namespace: Namespace, link: &LinkReference, timeout: u32) -> Result<()> {
    let call = Call::of("address.settle").on(namespace, link);
    call.with(format_args!("{timeout}ms"))
        .run(|machine| machine.look(namespace)?.index(link).map(drop))
}

/// Gives the loopback link the addresses that it lacks, as the kernel does when it is set up.
pub(super) fn add_loopback(network: &mut Network, link: u32) {
    let ipv4 = IpNet::new_assert([127, 0, 0, 1].into(), 8);
    let ipv6 = IpNet::from(IpAddr::V6(Ipv6Addr::LOCALHOST));
    for address in [ipv4, ipv6] {
        let held = LinkAddress {
            link,
            address,
            peer: None,
            broadcast: None,
        };
        if !network.addresses.contains(&held) {
            put(network, held, false);
        }
    }
}
