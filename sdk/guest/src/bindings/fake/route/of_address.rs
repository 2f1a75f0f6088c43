//! The routes that an address brings, and takes with it.

use std::net::IpAddr;

use ipnet::IpNet;

use super::{HOST, LINK, LOCAL_TABLE, UNIVERSE};
use crate::bindings::fake::state::{Hop, LinkAddress, Network, RouteEntry};
use crate::bindings::weir::cni::route::RouteKind;

/// `RTPROT_KERNEL`.
const KERNEL: u8 = 2;

/// `IP6_RT_PRIO_ADDRCONF`.
const PRIORITY_OF_PREFIX: u32 = 256;

/// Adds the routes of an address that its link is to have.
pub(crate) fn of_new_address(network: &mut Network, new: &LinkAddress, no_prefix_route: bool) {
    let is_up = network.device(new.link).is_ok_and(|device| device.link.up);
    let own = local(network, new);
    put(network, own);
    // Asked of what is there before the new one.
    let is_further = new.address.addr().is_ipv4() && has_other_of(network, new);
    if is_up && !is_further && !no_prefix_route {
        put_prefix(network, new);
    }
}

/// Whether the link has an address of the same network.
fn has_other_of(network: &Network, held: &LinkAddress) -> bool {
    let mut others = network.addresses_of(held.link);
    others.any(|other| other.network() == held.network())
}

/// Whether an IPv4 address has its network from one that was there before.
pub(crate) fn is_secondary(network: &Network, held: &LinkAddress) -> bool {
    let before = network.addresses_of(held.link);
    let mut before = before.take_while(|other| *other != held);
    held.address.addr().is_ipv4() && before.any(|other| other.network() == held.network())
}

/// Adds the routes of a link's networks, which go when it is set down.
pub(crate) fn of_link_up(network: &mut Network, link: u32) {
    let first = network.addresses_of(link);
    let first = first.filter(|held| !is_secondary(network, held));
    let first: Vec<LinkAddress> = first.cloned().collect();
    first.iter().for_each(|held| put_prefix(network, held));
}

fn put_prefix(network: &mut Network, held: &LinkAddress) {
    let own = held.address.addr();
    let is_ipv6 = own.is_ipv6() && !own.is_loopback();
    if is_ipv6 || held.network() != IpNet::from(own) {
        put(network, prefix(held));
    }
}

fn put(network: &mut Network, new: RouteEntry) {
    if !network.routes.contains(&new) {
        network.routes.push(new);
    }
}

/// Removes the routes of an address that is gone, and those that had it as their source.
pub(crate) fn of_gone_address(network: &mut Network, gone: &LinkAddress) {
    let own = gone.address.addr();
    if network
        .addresses
        .iter()
        .any(|held| held.address.addr() == own)
    {
        return;
    }
    let is_network_left = own.is_ipv6() && has_other_of(network, gone);
    let prefix = prefix(gone);
    network.routes.retain(|entry| {
        let is_local = entry.kind == RouteKind::Local && entry.destination == IpNet::from(own);
        let is_prefix = *entry == prefix && !is_network_left;
        !(is_local || is_prefix || entry.source == Some(own))
    });
}

/// The source of packets from a further address of a network to itself is the first.
fn local(network: &Network, held: &LinkAddress) -> RouteEntry {
    let own = held.address.addr();
    let mut like = network.addresses_of(held.link);
    let first = like.find(|other| other.network() == held.network());
    let source = first.map_or(own, |first| first.address.addr());
    RouteEntry {
        source: Some(source).filter(IpAddr::is_ipv4),
        table: LOCAL_TABLE,
        scope: Some(if own.is_ipv4() { HOST } else { UNIVERSE }),
        priority: own.is_ipv6().then_some(0),
        kind: RouteKind::Local,
        ..of_kernel(own.into(), held.link)
    }
}

fn prefix(held: &LinkAddress) -> RouteEntry {
    let own = held.address.addr();
    let entry = RouteEntry {
        source: Some(own).filter(IpAddr::is_ipv4),
        scope: Some(if own.is_ipv4() { LINK } else { UNIVERSE }),
        priority: own.is_ipv6().then_some(PRIORITY_OF_PREFIX),
        ..of_kernel(held.network(), held.link)
    };
    if own.is_loopback() && own.is_ipv4() {
        RouteEntry {
            table: LOCAL_TABLE,
            scope: Some(HOST),
            kind: RouteKind::Local,
            ..entry
        }
    } else {
        entry
    }
}

fn of_kernel(destination: IpNet, link: u32) -> RouteEntry {
    RouteEntry {
        protocol: Some(KERNEL),
        hop: Hop {
            link: Some(link),
            ..Hop::default()
        },
        ..RouteEntry::new(destination)
    }
}
