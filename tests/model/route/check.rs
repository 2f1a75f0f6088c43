//! Which routes there can be.

use std::net::IpAddr;

use nix::errno::Errno;
use weir_grant::Namespace;
use weir_grant::route::{NextHop, Route, RouteKind};
use weir_kernel::{Result, checks};

use super::{DEFAULT_PRIORITY_OF_IPV6, HOST, LINK, MAIN_TABLE, PROTOCOL, UNIVERSE, is_ipv6};
use crate::link;
use crate::state::NetworkState;

/// The route as the kernel has it then. Errors: `Invalid`, `NotFound` for a link that is gone.
pub(super) fn resolve(
    network: &NetworkState,
    namespace: Namespace,
    route: &Route,
) -> Result<Route<u32>> {
    checks::route(namespace, route)?;
    if !matches!(route.kind, RouteKind::Unicast | RouteKind::Local) {
        return refusal(route);
    }
    if let Some(source) = route.source
        && !is_own(network, source)
    {
        return Err(Errno::EINVAL.into());
    }
    for hop in &route.next_hops {
        way(
            network,
            route,
            hop.link.as_ref().map(|l| l.index),
            hop.gateway,
            hop.on_link,
        )?;
    }
    let own = route.link.as_ref().map(|link| link.index);
    let link = if route.next_hops.is_empty() {
        Some(way(network, route, own, route.gateway, route.on_link)?)
    } else {
        None
    };
    Ok(Route {
        link,
        next_hops: next_hops(route),
        ..plain(route)
    })
}

/// A route that leads nowhere.
fn refusal(route: &Route) -> Result<Route<u32>> {
    if route.gateway.is_some() || route.link.is_some() || !route.next_hops.is_empty() {
        Err(Errno::EINVAL.into())
    } else {
        Ok(plain(route))
    }
}

/// What does not depend on the links.
fn plain(route: &Route) -> Route<u32> {
    let priority = route.priority.filter(|priority| *priority != 0);
    Route {
        destination: route.destination,
        gateway: route.gateway,
        link: None,
        source: route.source,
        table: table(route),
        scope: Some(scope(route)),
        priority: priority.or(is_ipv6(route).then_some(DEFAULT_PRIORITY_OF_IPV6)),
        mtu: route.mtu,
        advmss: route.advmss,
        protocol: Some(route.protocol.unwrap_or(PROTOCOL)),
        kind: route.kind,
        on_link: route.on_link,
        next_hops: Vec::new(),
    }
}

/// To the kernel, 0 is the main table.
pub(super) fn table(route: &Route) -> u32 {
    match route.table {
        0 => MAIN_TABLE,
        table => table,
    }
}

/// IPv6 has none.
fn scope(route: &Route) -> u8 {
    let is_direct = route.gateway.is_none() && route.next_hops.is_empty();
    match (is_ipv6(route), route.scope) {
        (true, _) => UNIVERSE,
        (_, Some(scope)) => scope,
        _ if route.kind == RouteKind::Local => HOST,
        _ if route.kind == RouteKind::Unicast && is_direct => LINK,
        _ => UNIVERSE,
    }
}

/// The next hops by their links' indexes.
pub(super) fn next_hops(route: &Route) -> Vec<NextHop<u32>> {
    let hops = route.next_hops.iter().map(|hop| NextHop {
        gateway: hop.gateway,
        link: hop.link.as_ref().map(|link| link.index),
        weight: hop.weight,
        on_link: hop.on_link,
    });
    hops.collect()
}

/// The link that a hop goes through.
fn way(
    network: &NetworkState,
    route: &Route,
    link: Option<u32>,
    gateway: Option<IpAddr>,
    on_link: bool,
) -> Result<u32> {
    if let Some(index) = link {
        check_up(network, route, index)?;
    }
    match (link, gateway) {
        (link, Some(gateway)) if !on_link => reach(network, link, gateway),
        (Some(link), _) => Ok(link),
        (None, _) => Err(Errno::ENODEV.into()),
    }
}

fn check_up(network: &NetworkState, route: &Route, index: u32) -> Result<()> {
    let is_up = link::by_index(network, index)?.link.up;
    if is_up || route.kind == RouteKind::Local {
        Ok(())
    } else {
        Err(Errno::ENETDOWN.into())
    }
}

/// The link over which a gateway is a neighbour.
fn reach(network: &NetworkState, link: Option<u32>, gateway: IpAddr) -> Result<u32> {
    let direct = network.routes.iter().filter(|route| {
        route.table == MAIN_TABLE
            && route.kind == RouteKind::Unicast
            && route.gateway.is_none()
            && route.next_hops.is_empty()
            && (link.is_none() || link == route.link)
            && route.destination.contains(&gateway)
    });
    let nearest = direct.max_by_key(|route| route.destination.prefix_len());
    let unreachable = match gateway {
        IpAddr::V4(_) => Errno::ENETUNREACH,
        IpAddr::V6(_) => Errno::EHOSTUNREACH,
    };
    if gateway.is_ipv6() && is_own(network, gateway) {
        return Err(Errno::EINVAL.into());
    }
    nearest
        .and_then(|route| route.link)
        .ok_or_else(|| unreachable.into())
}

fn is_own(network: &NetworkState, address: IpAddr) -> bool {
    let mut own = network.addresses.iter().map(|(_, own)| own.address.addr());
    own.any(|own| own == address)
}
