//! Capability `route`: routes that plugins add, and those that come with addresses. Policy routing does not exist, so
//! that a look-up uses the tables `local` and `main`.

mod of_address;
mod resolve;

use std::net::IpAddr;

use ipnet::IpNet;

use super::Call;
use super::error::{EEXIST, ENETUNREACH, ESRCH, Result, error, refuse};
use super::state::{Hop, Network, RouteEntry, network as read_network};
use crate::bindings::OperationError;
use crate::bindings::weir::cni::route::{Filter, NextHop, Route};
use crate::bindings::weir::cni::types::{ErrorCode, IpAddress, IpFamily, LinkReference, Namespace};
use resolve::{resolve, with_indexes};

pub(super) use of_address::{is_secondary, of_gone_address, of_link_up, of_new_address};

pub(super) const MAIN_TABLE: u32 = 254;
pub(super) const LOCAL_TABLE: u32 = 255;
pub(super) const UNIVERSE: u8 = 0;
pub(super) const LINK: u8 = 253;
pub(super) const HOST: u8 = 254;

/// Adds a route. Errors: `exists`; `not-found` for the link; `invalid`, for a gateway that cannot be reached for
/// instance.
pub fn add(namespace: Namespace, route: &Route) -> Result<()> {
    changing("route.add", namespace, route).run(|machine| {
        let network = machine.network(namespace)?;
        let new = resolve(network, with_indexes(network, route)?)?;
        let like = network.routes.iter().position(|entry| is_like(entry, &new));
        match like {
            Some(_) if namespace == Namespace::Host || network.routes.contains(&new) => {
                refuse(EEXIST)
            }
            Some(_) if new.is_ipv6() && new.hop.gateway.is_some() => Err(error(
                ErrorCode::Unsupported,
                "the fake host does not have a second gateway to an IPv6 destination",
            )),
            Some(at) if !new.is_ipv6() => {
                network.routes.insert(at, new);
                Ok(())
            }
            _ => {
                insert(network, new);
                Ok(())
            }
        }
    })
}

/// Adds a route in place of one with the same destination, table and priority, if there is one. Errors: `not-
/// found` for the link, `invalid`.
pub fn replace(namespace: Namespace, route: &Route) -> Result<()> {
    changing("route.replace", namespace, route).run(|machine| {
        let network = machine.network(namespace)?;
        let new = resolve(network, with_indexes(network, route)?)?;
        match network.routes.iter_mut().find(|entry| is_like(entry, &new)) {
            Some(like) => *like = new,
            None => insert(network, new),
        }
        Ok(())
    })
}

/// Removes a route. Errors: `not-found`.
pub fn delete(namespace: Namespace, route: &Route) -> Result<()> {
    changing("route.delete", namespace, route).run(|machine| {
        let network = machine.network(namespace)?;
        let wanted = with_indexes(network, route)?;
        let at = network
            .routes
            .iter()
            .position(|entry| is_meant(entry, &wanted));
        network.routes.remove(at.ok_or(ESRCH)?);
        Ok(())
    })
}

/// Returns the routes that match the filter. In the host, a filter without table and link reads the main table.
/// Errors: `not-found` for the link.
pub fn list(namespace: Namespace, filter: &Filter) -> Result<Vec<Route>> {
    Call::of("route.list").within(namespace).run(|machine| {
        let network = machine.look(namespace)?;
        let selected = Selected::read(network, namespace, filter)?;
        let entries = network.routes.iter().filter(|entry| selected.has(entry));
        let (ipv4, ipv6): (Vec<&RouteEntry>, Vec<&RouteEntry>) =
            entries.partition(|entry| !entry.is_ipv6());
        Ok(ipv4.into_iter().chain(ipv6).map(as_listed).collect())
    })
}

pub fn get(namespace: Namespace, to: IpAddress) -> Result<Route> {
    let to = IpAddr::from(to);
    Call::of("route.get")
        .within(namespace)
        .with(to)
        .run(|machine| {
            let network = machine.look(namespace)?;
            let found = look_up(network, to).map(|entry| as_listed(&answer(network, entry, to)));
            found.ok_or_else(|| OperationError {
                code: ErrorCode::NotFound,
                ..ENETUNREACH.into()
            })
        })
}

/// A call about one route: its destination, and how it gets there.
fn changing<'a>(function: &'static str, namespace: Namespace, route: &'a Route) -> Call<'a> {
    let to = IpAddr::from(route.destination.address);
    let mut text = format!("{to}/{}", route.destination.prefix_length);
    if let Some(gateway) = route.gateway {
        text += &format!(" via {}", IpAddr::from(gateway));
    }
    if let Some(table) = route.table {
        text += &format!(" table {table}");
    }
    let call = Call::of(function).with(text);
    match &route.link {
        Some(link) => call.on(namespace, link),
        None => call.within(namespace),
    }
}

/// Puts a route behind those of its destination that the kernel prefers.
fn insert(network: &mut Network, new: RouteEntry) {
    let is_behind = |entry: &RouteEntry| {
        (entry.destination, entry.table) == (new.destination, new.table)
            && entry.priority.unwrap_or(0) > new.priority.unwrap_or(0)
    };
    let at = network.routes.iter().position(is_behind);
    network
        .routes
        .insert(at.unwrap_or(network.routes.len()), new);
}

/// Whether one takes the other's place.
fn is_like(one: &RouteEntry, other: &RouteEntry) -> bool {
    let place = |entry: &RouteEntry| (entry.destination, entry.table, entry.priority.unwrap_or(0));
    place(one) == place(other)
}

/// Whether a route is one to remove: what is left out matches any.
fn is_meant(there: &RouteEntry, wanted: &RouteEntry) -> bool {
    fn is_it<T: PartialEq>(wanted: Option<T>, there: Option<T>) -> bool {
        wanted.is_none() || wanted == there
    }
    (there.destination, there.table, there.kind) == (wanted.destination, wanted.table, wanted.kind)
        && is_it(wanted.scope, there.scope)
        && is_it(wanted.protocol, there.protocol)
        && is_it(wanted.priority.filter(|p| *p != 0), there.priority)
        && is_it(wanted.hop.link, there.hop.link)
        && is_it(wanted.hop.gateway, there.hop.gateway)
        && is_it(wanted.source, there.source)
        && is_it(wanted.metrics.mtu, there.metrics.mtu)
        && is_it(wanted.metrics.advmss, there.metrics.advmss)
        && (wanted.next_hops.is_empty() || wanted.next_hops == there.next_hops)
}

/// Removes the routes over a link that go when it is set down. Those to its own IPv4 addresses stay.
pub(super) fn drop_of_link(network: &mut Network, index: u32) {
    use crate::bindings::weir::cni::route::RouteKind;
    let stays = |entry: &RouteEntry| entry.kind == RouteKind::Local && !entry.is_ipv6();
    network
        .routes
        .retain(|entry| !entry.is_over(index) || stays(entry));
}

/// A filter of a list.
struct Selected {
    family: Option<IpFamily>,
    destination: Option<IpNet>,
    link: Option<u32>,
    gateway: Option<IpAddr>,
    table: Option<u32>,
}

impl Selected {
    fn read(network: &Network, namespace: Namespace, filter: &Filter) -> Result<Self> {
        let is_of_host = namespace == Namespace::Host && filter.link.is_none();
        let link = filter.link.as_ref().map(|link| network.index(link));
        Ok(Selected {
            family: filter.family,
            destination: filter.destination.map(read_network).transpose()?,
            link: link.transpose()?,
            gateway: filter.gateway.map(Into::into),
            table: filter.table.or(is_of_host.then_some(MAIN_TABLE)),
        })
    }

    fn has(&self, entry: &RouteEntry) -> bool {
        let by = |gateway| entry.hops().any(|hop| hop.gateway == Some(gateway));
        let family = IpFamily::of(entry.destination.addr());
        self.family.is_none_or(|wanted| wanted == family)
            && self.destination.is_none_or(|to| to == entry.destination)
            && self.link.is_none_or(|link| entry.is_over(link))
            && self.gateway.is_none_or(by)
            && self.table.is_none_or(|table| table == entry.table)
    }
}

/// The route that is taken: of the own addresses first, then the one with the longest prefix, and of these the first.
fn look_up(network: &Network, to: IpAddr) -> Option<&RouteEntry> {
    [LOCAL_TABLE, MAIN_TABLE].into_iter().find_map(|table| {
        let entries = network.routes.iter().rev();
        let entries =
            entries.filter(|entry| entry.table == table && entry.destination.contains(&to));
        entries.max_by_key(|entry| entry.destination.prefix_len())
    })
}

/// The route as a look-up returns it, with its source address.
fn answer(network: &Network, entry: &RouteEntry, to: IpAddr) -> RouteEntry {
    let own = network.addresses_of(entry.hop.link.unwrap_or_default());
    let mut own = own.map(|held| held.address.addr());
    RouteEntry {
        destination: IpNet::from(to),
        source: entry
            .source
            .or_else(|| own.find(|own| own.is_ipv4() == to.is_ipv4())),
        scope: Some(UNIVERSE),
        ..entry.clone()
    }
}

fn as_listed(entry: &RouteEntry) -> Route {
    Route {
        destination: entry.destination.into(),
        gateway: entry.hop.gateway.map(Into::into),
        link: entry.hop.link.map(LinkReference::Index),
        source: entry.source.map(Into::into),
        table: Some(entry.table),
        scope: entry.scope,
        priority: entry.priority,
        mtu: entry.metrics.mtu,
        advmss: entry.metrics.advmss,
        protocol: entry.protocol,
        kind: entry.kind,
        on_link: entry.hop.on_link,
        next_hops: entry.next_hops.iter().map(next_hop).collect(),
    }
}

fn next_hop((hop, weight): &(Hop, u16)) -> NextHop {
    NextHop {
        gateway: hop.gateway.map(Into::into),
        link: hop.link.map(LinkReference::Index),
        weight: *weight,
        on_link: hop.on_link,
    }
}
