//! What a route that a plugin names becomes in the kernel, and which ones the kernel refuses.

use std::net::IpAddr;

use super::{HOST, LINK, MAIN_TABLE, UNIVERSE};
use crate::bindings::fake::error::{
    EHOSTUNREACH, EINVAL, ENETDOWN, ENETUNREACH, ENODEV, Result, invalid, refuse,
};
use crate::bindings::fake::state::{Hop, Metrics, Network, RouteEntry, network as read_network};
use crate::bindings::weir::cni::route::{Route, RouteKind};
use crate::bindings::weir::cni::types::{IpAddress, LinkReference};

/// `IP6_RT_PRIO_USER`.
const PRIORITY_OF_IPV6: u32 = 1024;

/// `RTPROT_BOOT`.
const PROTOCOL: u8 = 3;

/// A route as a plugin names it, with the indexes of its links. Errors: `not-found` for a link, `invalid`.
pub(super) fn with_indexes(network: &Network, route: &Route) -> Result<RouteEntry> {
    let hop = |gateway: Option<IpAddress>, link: Option<&LinkReference>, on_link| -> Result<Hop> {
        Ok(Hop {
            gateway: gateway.map(Into::into),
            link: link.map(|link| network.index(link)).transpose()?,
            on_link,
        })
    };
    let next_hops = route.next_hops.iter().map(|next| {
        let hop = hop(next.gateway, next.link.as_ref(), next.on_link)?;
        Ok((hop, next.weight))
    });
    let table = route.table.filter(|table| *table != 0);
    let entry = RouteEntry {
        table: table.unwrap_or(MAIN_TABLE),
        kind: route.kind,
        source: route.source.map(Into::into),
        scope: route.scope,
        priority: route.priority,
        protocol: route.protocol,
        metrics: Metrics {
            mtu: route.mtu,
            advmss: route.advmss,
        },
        hop: hop(route.gateway, route.link.as_ref(), route.on_link)?,
        next_hops: next_hops.collect::<Result<_>>()?,
        ..RouteEntry::new(read_network(route.destination)?)
    };
    match flaw(&entry) {
        Some(why) => Err(invalid(why)),
        None => Ok(entry),
    }
}

fn flaw(entry: &RouteEntry) -> Option<String> {
    let to = entry.destination;
    let mut gateways = entry.hops().filter_map(|hop| hop.gateway);
    if to.trunc() != to {
        return Some(format!(
            "{to} has bits beyond its prefix: expected {}",
            to.trunc()
        ));
    }
    let is_multipath = !entry.next_hops.is_empty();
    if is_multipath && (entry.hop.gateway.is_some() || entry.hop.link.is_some()) {
        return Some("a route with next hops has no gateway and no link of its own".to_owned());
    }
    let mut weights = entry.next_hops.iter().map(|(_, weight)| *weight);
    if let Some(weight) = weights.find(|weight| !(1..=256).contains(weight)) {
        return Some(format!("next hop weight {weight}: expected 1 to 256"));
    }
    if let Some(gateway) = gateways.find(|by| entry.is_ipv6() && by.is_ipv4()) {
        return Some(format!("{to} cannot be reached over IPv4, by {gateway}"));
    }
    let source = entry
        .source
        .filter(|source| source.is_ipv6() != entry.is_ipv6())?;
    Some(format!("the source {source} is not of the family of {to}"))
}

/// The route as the kernel has it then. Errors: `invalid`, `not-found`, `failed` for a link that is down.
pub(super) fn resolve(network: &Network, entry: RouteEntry) -> Result<RouteEntry> {
    if !matches!(entry.kind, RouteKind::Unicast | RouteKind::Local) {
        let hop = &entry.hop;
        let leads = hop.gateway.is_some() || hop.link.is_some() || !entry.next_hops.is_empty();
        return if leads {
            refuse(EINVAL)
        } else {
            Ok(with_defaults(entry))
        };
    }
    if entry.source.is_some_and(|source| !is_own(network, source)) {
        return refuse(EINVAL);
    }
    for (hop, _) in &entry.next_hops {
        link_of(network, &entry, hop)?;
    }
    let mut entry = with_defaults(entry);
    if entry.next_hops.is_empty() {
        entry.hop.link = Some(link_of(network, &entry, &entry.hop)?);
    }
    Ok(entry)
}

fn with_defaults(entry: RouteEntry) -> RouteEntry {
    let priority = entry.priority.filter(|priority| *priority != 0);
    RouteEntry {
        scope: Some(scope(&entry)),
        priority: priority.or(entry.is_ipv6().then_some(PRIORITY_OF_IPV6)),
        protocol: entry.protocol.or(Some(PROTOCOL)),
        ..entry
    }
}

/// IPv6 has none.
fn scope(entry: &RouteEntry) -> u8 {
    let is_direct = entry.hop.gateway.is_none() && entry.next_hops.is_empty();
    match entry.kind {
        _ if entry.is_ipv6() => UNIVERSE,
        _ if entry.scope.is_some() => entry.scope.unwrap_or(UNIVERSE),
        RouteKind::Local => HOST,
        RouteKind::Unicast if is_direct => LINK,
        _ => UNIVERSE,
    }
}

/// The link that a hop goes through.
fn link_of(network: &Network, entry: &RouteEntry, hop: &Hop) -> Result<u32> {
    if let Some(index) = hop.link
        && !network.device(index)?.link.up
        && entry.kind != RouteKind::Local
    {
        return refuse(ENETDOWN);
    }
    match (hop.link, hop.gateway) {
        (link, Some(gateway)) if !hop.on_link => reach(network, link, gateway),
        (Some(link), _) => Ok(link),
        (None, _) => refuse(ENODEV),
    }
}

/// The link over which a gateway is a neighbour.
fn reach(network: &Network, link: Option<u32>, gateway: IpAddr) -> Result<u32> {
    if gateway.is_ipv6() && is_own(network, gateway) {
        return refuse(EINVAL);
    }
    let direct = network.routes.iter().filter(|entry| {
        (entry.table, entry.kind) == (MAIN_TABLE, RouteKind::Unicast)
            && entry.hop.gateway.is_none()
            && (link.is_none() || link == entry.hop.link)
            && entry.destination.contains(&gateway)
    });
    let nearest = direct.max_by_key(|entry| entry.destination.prefix_len());
    let unreachable = if gateway.is_ipv4() {
        ENETUNREACH
    } else {
        EHOSTUNREACH
    };
    nearest
        .and_then(|entry| entry.hop.link)
        .ok_or_else(|| unreachable.into())
}

fn is_own(network: &Network, address: IpAddr) -> bool {
    let mut own = network.addresses.iter().map(|held| held.address.addr());
    own.any(|own| own == address)
}
