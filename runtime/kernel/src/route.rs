//! Capability `route`: routes.

pub(crate) mod undo;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteMetric, RouteNextHop,
    RouteNextHopFlags, RouteProtocol, RouteScope, RouteType, RouteVia,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::Namespace;
use weir_grant::address::Family;
use weir_grant::route::{Add, Delete, Get, List, MAIN_TABLE, NextHop, Replace, Route, RouteKind};

use super::address::address_family;
use super::error::{Code, Error, Result, WhileDoing as _};
use super::namespace::NetworkNamespace;
use super::netlink::NEW;
use crate::linux::Linux;
use crate::perform::{Answer, Changes, Perform};
use undo::RemoveRoute;

/// Adds a route. In a container, where each attachment may have one to the same destination, it precedes those of its table
/// and priority (IPv4), or is a further next hop (IPv6).
///
/// Errors: `Exists`, which in a container means an identical route; `NotFound` for a link that is gone,
/// `Invalid` with the kernel's reason.
impl Perform<Add> for Linux {
    fn perform(&mut self, permit: &Permit<Add>, changes: &mut Changes<'_>) -> Result<()> {
        let Add {
            namespace, route, ..
        } = permit.operation();
        let flags = match namespace {
            Namespace::Host => NEW,
            Namespace::Container => NLM_F_CREATE,
        };
        put(self.namespaces.of(*namespace)?, route, flags)
            .while_doing(Title("add", *namespace, route))?;
        RemoveRoute::note(*namespace, route, changes);
        Ok(())
    }
}

/// Adds a route in place of one with the same destination, table and priority. Undo removes the new one only if this
/// invocation had made the former.
///
/// Errors: as for [`Add`], without `Exists`.
impl Perform<Replace> for Linux {
    fn perform(&mut self, permit: &Permit<Replace>, changes: &mut Changes<'_>) -> Result<()> {
        let Replace {
            namespace, route, ..
        } = permit.operation();
        let there = self.namespaces.of(*namespace)?;
        let failed = |e: Error| e.while_doing(Title("replace", *namespace, route));
        match put(there, route, NEW) {
            Err(error) if error.is(Errno::EEXIST) => {
                put(there, route, NLM_F_CREATE | NLM_F_REPLACE).map_err(failed)?;
                RemoveRoute::note_replaced(*namespace, route, changes);
            }
            made => {
                made.map_err(failed)?;
                RemoveRoute::note(*namespace, route, changes);
            }
        }
        Ok(())
    }
}

fn put(namespace: &mut NetworkNamespace, route: &Route, flags: u16) -> Result<()> {
    let mut message = message(namespace.which(), route)?;
    let header = &mut message.header;
    header.scope = (route.scope).map_or_else(|| default_scope(route), RouteScope::from);
    header.protocol = (route.protocol).map_or(RouteProtocol::Boot, RouteProtocol::from);
    let message = RouteNetlinkMessage::NewRoute(message);
    namespace.route()?.change(message, flags)
}

/// Universe with a gateway, link without one, and host for an address of this host.
fn default_scope(route: &Route) -> RouteScope {
    match route.kind {
        RouteKind::Local => RouteScope::Host,
        RouteKind::Unicast if route.gateway.is_none() && route.next_hops.is_empty() => {
            RouteScope::Link
        }
        _ => RouteScope::Universe,
    }
}

/// Removes a route. What the operation leaves out matches any. Errors: `NotFound`.
impl Answer<Delete> for Linux {
    fn answer(&mut self, permit: &Permit<Delete>) -> Result<()> {
        let Delete { namespace, route } = permit.operation();
        message(*namespace, route)
            .and_then(|mut message| {
                // To the kernel, "nowhere" and "unspecified" are any scope and any protocol.
                message.header.scope = route.scope.map_or(RouteScope::NoWhere, RouteScope::from);
                message.header.protocol = RouteProtocol::from(route.protocol.unwrap_or(0));
                let socket = self.route(*namespace)?;
                socket.change(RouteNetlinkMessage::DelRoute(message), 0)
            })
            .while_doing(Title("remove", *namespace, route))
    }
}

/// A route without its scope and protocol.
fn message(namespace: Namespace, route: &Route) -> Result<RouteMessage> {
    check(namespace, route)?;
    let to = route.destination;
    let mut message = RouteMessage::default();
    message.header.address_family = address_family(Family::of(&to.addr()));
    message.header.destination_prefix_length = to.prefix_len();
    message.header.kind = route_type(route.kind);
    message.header.flags.set(RouteFlags::Onlink, route.on_link);
    let link = route.link.as_ref();
    let attributes = [
        Some(RouteAttribute::Destination(to.addr().into())),
        Some(RouteAttribute::Table(route.table)),
        route.gateway.map(|gateway| via(to, gateway)),
        link.map(|link| RouteAttribute::Oif(link.index)),
        (route.source).map(|source| RouteAttribute::PrefSource(source.into())),
        route.priority.map(RouteAttribute::Priority),
        metrics(route).map(RouteAttribute::Metrics),
        next_hops(route).map(RouteAttribute::MultiPath),
    ];
    message.attributes.extend(attributes.into_iter().flatten());
    Ok(message)
}

/// Checks what the kernel would refuse without a reason, or misunderstand. Errors: `Invalid`.
pub fn check(namespace: Namespace, route: &Route) -> Result<()> {
    flaw(namespace, route).map_or(Ok(()), |why| Err(Error::invalid(why)))
}

fn flaw(namespace: Namespace, route: &Route) -> Option<String> {
    let to = route.destination;
    if to.trunc() != to {
        let network = to.trunc();
        return Some(format!(
            "{to} has bits behind its prefix: expected {network}"
        ));
    }
    let hops = || route.next_hops.iter();
    if hops().next().is_some() && (route.gateway.is_some() || route.link.is_some()) {
        return Some("a route with next hops has no gateway and no link of its own".to_owned());
    }
    if let Some(hop) = hops().find(|hop| !(1..=256).contains(&hop.weight)) {
        return Some(format!("next hop weight {}: expected 1 to 256", hop.weight));
    }
    let mut links = (route.link.iter()).chain(hops().filter_map(|hop| hop.link.as_ref()));
    if let Some(link) = links.find(|link| link.namespace != namespace) {
        return Some(format!("the route is in {namespace}, but {link} is not"));
    }
    // IPv4 may go over an IPv6 gateway (RFC 8950), but not the other way round.
    let mut gateways = (route.gateway.into_iter()).chain(hops().filter_map(|hop| hop.gateway));
    if let Some(gateway) = gateways.find(|by| to.addr().is_ipv6() && by.is_ipv4()) {
        return Some(format!("{to} cannot be reached over IPv4, by {gateway}"));
    }
    let source = route.source?;
    (source.is_ipv4() != to.addr().is_ipv4())
        .then(|| format!("the source {source} is not of the family of {to}"))
}

fn via(to: IpNet, gateway: IpAddr) -> RouteAttribute {
    if to.addr().is_ipv4() == gateway.is_ipv4() {
        RouteAttribute::Gateway(gateway.into())
    } else {
        RouteAttribute::Via(gateway.into())
    }
}

fn metrics(route: &Route) -> Option<Vec<RouteMetric>> {
    let mtu = route.mtu.map(RouteMetric::Mtu);
    let advmss = route.advmss.map(RouteMetric::Advmss);
    let metrics: Vec<_> = mtu.into_iter().chain(advmss).collect();
    (!metrics.is_empty()).then_some(metrics)
}

fn next_hops(route: &Route) -> Option<Vec<RouteNextHop>> {
    let hops = route.next_hops.iter().map(|hop| next_hop(route, hop));
    (!route.next_hops.is_empty()).then(|| hops.collect())
}

fn next_hop(route: &Route, wanted: &NextHop) -> RouteNextHop {
    let mut hop = RouteNextHop::default();
    hop.flags.set(RouteNextHopFlags::Onlink, wanted.on_link);
    // Checked above: 1 to 256, which the kernel counts from 0.
    hop.hops = u8::try_from(wanted.weight.saturating_sub(1)).unwrap_or(u8::MAX);
    hop.interface_index = wanted.link.as_ref().map_or(0, |link| link.index);
    let gateway = wanted
        .gateway
        .map(|gateway| via(route.destination, gateway));
    hop.attributes.extend(gateway);
    hop
}

/// Routes that pass a filter. Routes of kinds that a plugin cannot make are left out.
///
/// Errors: `NotFound` for a link that is gone.
impl Answer<List, Vec<Route<u32>>> for Linux {
    fn answer(&mut self, permit: &Permit<List>) -> Result<Vec<Route<u32>>> {
        let wanted = permit.operation();
        let destination = wanted.destination.map(|to| Family::of(&to.addr()));
        let families = match wanted.family.or(destination) {
            Some(family) => vec![family],
            None => vec![Family::Ipv4, Family::Ipv6],
        };
        let mut routes = Vec::new();
        for family in families {
            let found = dump(self.namespaces.of(wanted.namespace)?, wanted, family)
                .while_doing(format_args!("list the routes in {}", wanted.namespace))?;
            routes.extend(found.into_iter().filter(|route| passes(wanted, route)));
        }
        Ok(routes)
    }
}

/// The routes of one family, restricted by the kernel as far as it can.
pub(crate) fn dump(
    namespace: &mut NetworkNamespace,
    wanted: &List,
    family: Family,
) -> Result<Vec<Route<u32>>> {
    let mut question = RouteMessage::default();
    question.header.address_family = address_family(family);
    let table = table(wanted).map(RouteAttribute::Table);
    let link = wanted.link.as_ref();
    let link = link.map(|link| RouteAttribute::Oif(link.index));
    question.attributes.extend(table.into_iter().chain(link));
    let question = RouteNetlinkMessage::GetRoute(question);
    match namespace.route()?.dump(&question) {
        Ok(answer) => Ok(answer.into_iter().filter_map(read).collect()),
        // A table comes into being with its first route.
        Err(error) if error.is(Errno::ENOENT) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The table to list. The host's other tables may be large and are rarely meant.
fn table(wanted: &List) -> Option<u32> {
    let unrestricted = wanted.namespace == Namespace::Host && wanted.link.is_none();
    wanted.table.or(unrestricted.then_some(MAIN_TABLE))
}

fn passes(wanted: &List, route: &Route<u32>) -> bool {
    let hops = || route.next_hops.iter();
    let over = |index: u32| route.link == Some(index) || hops().any(|hop| hop.link == Some(index));
    let by = |gateway: IpAddr| {
        route.gateway == Some(gateway) || hops().any(|hop| hop.gateway == Some(gateway))
    };
    wanted.destination.is_none_or(|to| to == route.destination)
        && wanted.link.as_ref().is_none_or(|link| over(link.index))
        && wanted.gateway.is_none_or(by)
        && table(wanted).is_none_or(|table| table == route.table)
}

/// The route that the kernel would take. Errors: `NotFound` if there is none.
impl Answer<Get, Route<u32>> for Linux {
    fn answer(&mut self, permit: &Permit<Get>) -> Result<Route<u32>> {
        let Get { namespace, to } = permit.operation();
        let mut question = RouteMessage::default();
        let network = IpNet::from(*to);
        question.header.address_family = address_family(Family::of(to));
        question.header.destination_prefix_length = network.prefix_len();
        if to.is_ipv4() {
            // IPv6 always reports the table, and refuses this flag.
            question.header.flags = RouteFlags::LookupTable;
        }
        let destination = RouteAttribute::Destination((*to).into());
        question.attributes.push(destination);
        let answer = self
            .route(*namespace)?
            .get(RouteNetlinkMessage::GetRoute(question))
            .map_err(|error| match error.errno {
                Some(Errno::ENETUNREACH | Errno::EHOSTUNREACH) => error.with_code(Code::NotFound),
                _ => error,
            });
        answer
            .and_then(|object| {
                read(object).ok_or_else(|| Error::failed("it is of an unknown kind"))
            })
            .while_doing(format_args!("find the route to {to} in {namespace}"))
    }
}

/// None for other objects, and for kinds that a plugin cannot make.
pub(crate) fn read(object: RouteNetlinkMessage) -> Option<Route<u32>> {
    let RouteNetlinkMessage::NewRoute(message) = object else {
        return None;
    };
    let header = &message.header;
    let mut route = Route {
        table: header.table.into(),
        scope: Some(header.scope.into()),
        protocol: Some(header.protocol.into()),
        kind: kind(header.kind)?,
        on_link: header.flags.contains(RouteFlags::Onlink),
        ..Route::unicast(everything(header)?)
    };
    let prefix_length = header.destination_prefix_length;
    for attribute in message.attributes {
        match attribute {
            RouteAttribute::Destination(to) => {
                route.destination = IpNet::new(address(&to)?, prefix_length).ok()?;
            }
            RouteAttribute::Gateway(gateway) => route.gateway = address(&gateway),
            RouteAttribute::Via(gateway) => route.gateway = via_address(&gateway),
            RouteAttribute::Oif(index) => route.link = Some(index),
            RouteAttribute::PrefSource(source) => route.source = address(&source),
            RouteAttribute::Table(table) => route.table = table,
            RouteAttribute::Priority(priority) => route.priority = Some(priority),
            RouteAttribute::Metrics(metrics) => read_metrics(&mut route, &metrics),
            RouteAttribute::MultiPath(hops) => {
                route.next_hops = hops.iter().map(read_next_hop).collect();
            }
            _ => {}
        }
    }
    Some(route)
}

/// The destination of a route without an address.
fn everything(header: &RouteHeader) -> Option<IpNet> {
    let any: IpAddr = match header.address_family {
        AddressFamily::Inet => Ipv4Addr::UNSPECIFIED.into(),
        AddressFamily::Inet6 => Ipv6Addr::UNSPECIFIED.into(),
        _ => return None,
    };
    IpNet::new(any, header.destination_prefix_length).ok()
}

fn read_metrics(route: &mut Route<u32>, metrics: &[RouteMetric]) {
    for metric in metrics {
        match metric {
            RouteMetric::Mtu(bytes) => route.mtu = Some(*bytes),
            RouteMetric::Advmss(bytes) => route.advmss = Some(*bytes),
            _ => {}
        }
    }
}

fn read_next_hop(hop: &RouteNextHop) -> NextHop<u32> {
    let gateway = hop.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Gateway(gateway) => address(gateway),
        RouteAttribute::Via(gateway) => via_address(gateway),
        _ => None,
    });
    NextHop {
        gateway,
        link: Some(hop.interface_index).filter(|index| *index != 0),
        weight: u16::from(hop.hops) + 1,
        on_link: hop.flags.contains(RouteNextHopFlags::Onlink),
    }
}

fn address(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(address) => Some((*address).into()),
        RouteAddress::Inet6(address) => Some((*address).into()),
        _ => None,
    }
}

fn via_address(via: &RouteVia) -> Option<IpAddr> {
    match via {
        RouteVia::Inet(address) => Some((*address).into()),
        RouteVia::Inet6(address) => Some((*address).into()),
        _ => None,
    }
}

fn route_type(kind: RouteKind) -> RouteType {
    match kind {
        RouteKind::Unicast => RouteType::Unicast,
        RouteKind::Local => RouteType::Local,
        RouteKind::Blackhole => RouteType::BlackHole,
        RouteKind::Unreachable => RouteType::Unreachable,
        RouteKind::Prohibit => RouteType::Prohibit,
        RouteKind::Throw => RouteType::Throw,
    }
}

/// None for kinds that a plugin cannot make: broadcast, anycast, multicast.
fn kind(kind: RouteType) -> Option<RouteKind> {
    use RouteKind::{Blackhole, Local, Prohibit, Throw, Unicast, Unreachable};
    let mut all = [Unicast, Local, Blackhole, Unreachable, Prohibit, Throw].into_iter();
    all.find(|known| route_type(*known) == kind)
}

/// An action on a route, for error messages.
struct Title<'a>(&'static str, Namespace, &'a Route);

impl std::fmt::Display for Title<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(verb, namespace, route) = self;
        write!(f, "{verb} route {}", route.destination)?;
        if let Some(gateway) = route.gateway {
            write!(f, " via {gateway}")?;
        }
        if let Some(link) = &route.link {
            write!(f, " over `{}`", link.name)?;
        }
        write!(f, " in {namespace}")
    }
}
