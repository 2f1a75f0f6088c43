//! Capability `route`: routes, of addresses and of others.

mod check;
mod of_address;

use std::net::IpAddr;

use ipnet::IpNet;
use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::Namespace;
use weir_grant::address::Family;
pub(crate) use weir_grant::route::MAIN_TABLE;
use weir_grant::route::{Add, Delete, Get, List, Replace, Route, RouteKind};
use weir_kernel::inverses::RemoveRoute;
use weir_kernel::{Answer, Changes, Error, Perform, Result, WhileDoing as _, checks};

use super::address;
use super::error::refused;
use super::kernel::Model;
use super::state::NetworkState;
pub(crate) use of_address::{of_gone_address, of_link_up, of_new_address};

/// The table of a namespace's own addresses.
pub(crate) const LOCAL_TABLE: u32 = 255;

/// `IP6_RT_PRIO_USER`.
const DEFAULT_PRIORITY_OF_IPV6: u32 = 1024;

/// `RTPROT_BOOT`.
const PROTOCOL: u8 = 3;

const UNIVERSE: u8 = 0;
const LINK: u8 = 253;
const HOST: u8 = 254;

impl Perform<Add> for Model {
    fn perform(&mut self, permit: &Permit<Add>, changes: &mut Changes<'_>) -> Result<()> {
        let Add {
            namespace, route, ..
        } = permit.operation();
        self.change(|machine| add(machine.state.of(*namespace)?, *namespace, route))
            .while_doing(format_args!("add route {}", route.destination))?;
        RemoveRoute::note(*namespace, route, changes);
        Ok(())
    }
}

fn add(network: &mut NetworkState, namespace: Namespace, route: &Route) -> Result<()> {
    let new = check::resolve(network, namespace, route)?;
    match network.routes.iter().position(|other| is_like(other, &new)) {
        Some(_) if namespace == Namespace::Host || network.routes.contains(&new) => {
            Err(Errno::EEXIST.into())
        }
        Some(_) if is_ipv6(&new) && new.gateway.is_some() => Err(Error::unsupported(
            "the model does not have a second gateway to an IPv6 destination",
        )),
        Some(at) if !is_ipv6(&new) => {
            network.routes.insert(at, new);
            Ok(())
        }
        _ => {
            insert(network, new);
            Ok(())
        }
    }
}

impl Perform<Replace> for Model {
    fn perform(&mut self, permit: &Permit<Replace>, changes: &mut Changes<'_>) -> Result<()> {
        let Replace {
            namespace, route, ..
        } = permit.operation();
        let replaced = self
            .change(|machine| replace(machine.state.of(*namespace)?, *namespace, route))
            .while_doing(format_args!("replace route {}", route.destination))?;
        if replaced {
            RemoveRoute::note_replaced(*namespace, route, changes);
        } else {
            RemoveRoute::note(*namespace, route, changes);
        }
        Ok(())
    }
}

/// Whether there was one.
fn replace(network: &mut NetworkState, namespace: Namespace, route: &Route) -> Result<bool> {
    let new = check::resolve(network, namespace, route)?;
    match network.routes.iter().position(|other| is_like(other, &new)) {
        Some(at) => {
            network.routes[at] = new;
            Ok(true)
        }
        None => {
            insert(network, new);
            Ok(false)
        }
    }
}

/// Puts a route behind those of its destination that the kernel prefers.
fn insert(network: &mut NetworkState, new: Route<u32>) {
    let is_behind = |other: &Route<u32>| {
        (other.destination, other.table) == (new.destination, new.table)
            && other.priority.unwrap_or(0) > new.priority.unwrap_or(0)
    };
    let at = network.routes.iter().position(is_behind);
    let at = at.unwrap_or(network.routes.len());
    network.routes.insert(at, new);
}

fn is_ipv6<L>(route: &Route<L>) -> bool {
    route.destination.addr().is_ipv6()
}

/// Whether one takes the other's place.
fn is_like(one: &Route<u32>, other: &Route<u32>) -> bool {
    (one.destination, one.table) == (other.destination, other.table)
        && one.priority.unwrap_or(0) == other.priority.unwrap_or(0)
}

impl Answer<Delete> for Model {
    fn answer(&mut self, permit: &Permit<Delete>) -> Result<()> {
        let Delete { namespace, route } = permit.operation();
        self.change(|machine| {
            let network = machine.state.of(*namespace)?;
            checks::route(*namespace, route)?;
            let at = network.routes.iter().position(|r| is_meant(r, route));
            let doing = format_args!("remove route {}", route.destination);
            let at = at.ok_or_else(|| refused(Errno::ESRCH, doing))?;
            network.routes.remove(at);
            Ok(())
        })
    }
}

/// Whether a route is one to remove: what is left out matches any.
fn is_meant(there: &Route<u32>, wanted: &Route) -> bool {
    let is_it = |wanted: Option<u32>, there: Option<u32>| wanted.is_none() || wanted == there;
    there.destination == wanted.destination
        && there.table == check::table(wanted)
        && there.kind == wanted.kind
        && wanted.scope.is_none_or(|scope| there.scope == Some(scope))
        && wanted
            .protocol
            .is_none_or(|protocol| there.protocol == Some(protocol))
        && is_it(wanted.priority.filter(|p| *p != 0), there.priority)
        && is_it(wanted.link.as_ref().map(|link| link.index), there.link)
        && wanted
            .gateway
            .is_none_or(|gateway| there.gateway == Some(gateway))
        && wanted
            .source
            .is_none_or(|source| there.source == Some(source))
        && wanted.mtu.is_none_or(|mtu| there.mtu == Some(mtu))
        && wanted
            .advmss
            .is_none_or(|advmss| there.advmss == Some(advmss))
        && (wanted.next_hops.is_empty() || check::next_hops(wanted) == there.next_hops)
}

/// Removes the routes over a link that go when it is set down. Those to its IPv4 addresses stay.
pub(crate) fn drop_of_link(network: &mut NetworkState, index: u32) {
    let is_over = |route: &Route<u32>| {
        route.link == Some(index) || route.next_hops.iter().any(|hop| hop.link == Some(index))
    };
    let stays = |route: &Route<u32>| route.kind == RouteKind::Local && !is_ipv6(route);
    network
        .routes
        .retain(|route| !is_over(route) || stays(route));
}

impl Answer<List, Vec<Route<u32>>> for Model {
    fn answer(&mut self, permit: &Permit<List>) -> Result<Vec<Route<u32>>> {
        let wanted = permit.operation();
        self.look(|state| {
            let routes = state.of(wanted.namespace)?.routes.iter();
            let (ipv4, ipv6): (Vec<_>, Vec<_>) = routes
                .filter(|route| passes(wanted, route))
                .cloned()
                .partition(|route| !is_ipv6(route));
            Ok(ipv4.into_iter().chain(ipv6).collect())
        })
    }
}

fn passes(wanted: &List, route: &Route<u32>) -> bool {
    let is_of_host = wanted.namespace == Namespace::Host && wanted.link.is_none();
    let table = wanted.table.or(is_of_host.then_some(MAIN_TABLE));
    let hops = || route.next_hops.iter();
    let over = |index| route.link == Some(index) || hops().any(|hop| hop.link == Some(index));
    let by =
        |gateway| route.gateway == Some(gateway) || hops().any(|hop| hop.gateway == Some(gateway));
    let family = Family::of(&route.destination.addr());
    wanted.family.is_none_or(|wanted| wanted == family)
        && wanted.destination.is_none_or(|to| to == route.destination)
        && wanted.link.as_ref().is_none_or(|link| over(link.index))
        && wanted.gateway.is_none_or(by)
        && table.is_none_or(|table| table == route.table)
}

impl Answer<Get, Route<u32>> for Model {
    fn answer(&mut self, permit: &Permit<Get>) -> Result<Route<u32>> {
        let Get { namespace, to } = permit.operation();
        let doing = format_args!("find the route to {to} in {namespace}");
        let found = self.look(|state| {
            let network = state.of(*namespace)?;
            Ok(look_up(network, *to).map(|route| answer(network, route, *to)))
        })?;
        found.ok_or_else(|| Error {
            code: weir_kernel::Code::NotFound,
            ..refused(Errno::ENETUNREACH, doing)
        })
    }
}

/// The route that is taken: of the own addresses first, and the one with the longest prefix.
fn look_up(network: &NetworkState, to: IpAddr) -> Option<&Route<u32>> {
    [LOCAL_TABLE, MAIN_TABLE].into_iter().find_map(|table| {
        let routes = network
            .routes
            .iter()
            .filter(|route| route.table == table && route.destination.contains(&to));
        // The first of several with the longest prefix.
        routes
            .rev()
            .max_by_key(|route| route.destination.prefix_len())
    })
}

/// The answer about a route that is used.
fn answer(network: &NetworkState, route: &Route<u32>, to: IpAddr) -> Route<u32> {
    let link = route.link.unwrap_or_default();
    let own = address::of_link(network, link).map(|address| address.address.addr());
    let mut own = own.filter(|own| own.is_ipv4() == to.is_ipv4());
    Route {
        destination: IpNet::from(to),
        source: route.source.or_else(|| own.next()),
        scope: Some(UNIVERSE),
        ..route.clone()
    }
}
