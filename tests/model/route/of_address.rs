//! The routes that an address brings, and takes with it.

use std::net::IpAddr;

use ipnet::IpNet;
use weir_grant::address::Address;
use weir_grant::route::{Route, RouteKind};

use super::{HOST, LINK, LOCAL_TABLE, UNIVERSE};
use crate::address::{is_secondary, network_of, of_link};
use crate::link;
use crate::state::NetworkState;

/// `RTPROT_KERNEL`.
const KERNEL: u8 = 2;

/// `IP6_RT_PRIO_ADDRCONF`.
const PRIORITY_OF_PREFIX: u32 = 256;

/// Adds the routes of an address that the link is to have.
pub(crate) fn of_new_address(
    network: &mut NetworkState,
    index: u32,
    address: &Address,
    no_prefix_route: bool,
) {
    let is_up = link::by_index(network, index).is_ok_and(|device| device.link.up);
    let route = local(network, index, address);
    put(network, route);
    // Asked of what is there before the new one.
    let is_first = !of_link(network, index).any(|other| is_of_same_network(other, address));
    let is_first = is_first || address.address.addr().is_ipv6();
    if is_up && is_first && !no_prefix_route {
        put_prefix(network, index, address);
    }
}

fn is_of_same_network(one: &Address, other: &Address) -> bool {
    network_of(one) == network_of(other)
}

/// Adds the routes of a link's networks, which go when it is set down.
pub(crate) fn of_link_up(network: &mut NetworkState, index: u32) {
    let all: Vec<Address> = of_link(network, index).cloned().collect();
    for address in all {
        if !is_secondary(network, index, &address) {
            put_prefix(network, index, &address);
        }
    }
}

fn put_prefix(network: &mut NetworkState, index: u32, address: &Address) {
    let own = address.address.addr();
    if (own.is_ipv6() && !own.is_loopback()) || network_of(address) != IpNet::from(own) {
        let route = prefix(index, address);
        put(network, route);
    }
}

fn put(network: &mut NetworkState, new: Route<u32>) {
    if !network.routes.contains(&new) {
        network.routes.push(new);
    }
}

/// Removes the routes of an address that is gone, and those that had it as their source.
pub(crate) fn of_gone_address(network: &mut NetworkState, index: u32, gone: &Address) {
    let own = gone.address.addr();
    let left = of_link(network, index).filter(|a| is_of_same_network(a, gone));
    let is_network_left = left.count() > 0 && own.is_ipv6();
    let is_own_left = network
        .addresses
        .iter()
        .any(|(_, a)| a.address.addr() == own);
    let prefix = prefix(index, gone);
    network.routes.retain(|route| {
        let is_local = route.kind == RouteKind::Local && route.destination == IpNet::from(own);
        let is_prefix = *route == prefix && !is_network_left;
        is_own_left || !(is_prefix || is_local || route.source == Some(own))
    });
}

/// To the kernel, the source of packets from a further address of a network to itself is the first.
fn local(network: &NetworkState, index: u32, address: &Address) -> Route<u32> {
    let own = address.address.addr();
    let mut like = of_link(network, index).filter(|other| is_of_same_network(other, address));
    let source = like.next().map_or(own, |first| first.address.addr());
    Route {
        source: Some(source).filter(IpAddr::is_ipv4),
        table: LOCAL_TABLE,
        scope: Some(if own.is_ipv4() { HOST } else { UNIVERSE }),
        priority: own.is_ipv6().then_some(0),
        kind: RouteKind::Local,
        ..by_kernel(own.into(), index)
    }
}

fn prefix(index: u32, address: &Address) -> Route<u32> {
    let own = address.address.addr();
    let is_loopback = own.is_loopback() && own.is_ipv4();
    let route = Route {
        source: Some(own).filter(IpAddr::is_ipv4),
        scope: Some(if own.is_ipv4() { LINK } else { UNIVERSE }),
        priority: own.is_ipv6().then_some(PRIORITY_OF_PREFIX),
        ..by_kernel(network_of(address), index)
    };
    if is_loopback {
        Route {
            table: LOCAL_TABLE,
            scope: Some(HOST),
            kind: RouteKind::Local,
            ..route
        }
    } else {
        route
    }
}

fn by_kernel(destination: IpNet, index: u32) -> Route<u32> {
    Route {
        link: Some(index),
        protocol: Some(KERNEL),
        ..Route::unicast(destination)
    }
}
