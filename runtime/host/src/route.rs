//! Capability `route`: from the contract to the gate and the kernel.

use ipnet::IpNet;
use weir_grant::link::LinkFacts;
use weir_grant::owner::Owner;
use weir_grant::{Overlap, route};
use weir_kernel::{self as kernel, Error};

use super::bindings::weir::cni::route::{self as contract, Host as Contract, RouteKind};
use super::bindings::weir::cni::types::{IpAddress, LinkReference, Namespace};
use super::convert::network;
use super::state::Host;
use super::undo::Undo;

/// `IP6_RT_PRIO_USER`.
const DEFAULT_PRIORITY_OF_IPV6: u32 = 1024;

impl Contract for Host {
    fn add(&mut self, namespace: Namespace, new: contract::Route) -> Result<(), Error> {
        let route = self.route(namespace, new)?;
        let operation = route::Add {
            namespace: namespace.into(),
            overlap: self.overlap(namespace, route.destination)?,
            route,
        };
        let undo = Undo::Route(route::Delete {
            namespace: operation.namespace,
            route: operation.route.clone(),
        });
        self.gate.perform(operation, |permit| {
            kernel::route::add(&mut self.namespaces, permit)
        })?;
        self.done.push(undo);
        Ok(())
    }

    fn replace(&mut self, namespace: Namespace, new: contract::Route) -> Result<(), Error> {
        let route = self.route(namespace, new)?;
        let operation = route::Replace {
            namespace: namespace.into(),
            overlap: self.overlap(namespace, route.destination)?,
            route,
        };
        let undo = route::Delete {
            namespace: operation.namespace,
            route: operation.route.clone(),
        };
        let is_new = self.gate.perform(operation, |permit| {
            kernel::route::replace(&mut self.namespaces, permit)
        })?;
        match is_new {
            true => self.done.push(Undo::Route(undo)),
            false => self.note_replaced(undo),
        }
        Ok(())
    }

    fn delete(&mut self, namespace: Namespace, old: contract::Route) -> Result<(), Error> {
        let operation = route::Delete {
            namespace: namespace.into(),
            route: self.route(namespace, old)?,
        };
        self.gate.perform(operation, |permit| {
            kernel::route::delete(&mut self.namespaces, permit)
        })
    }

    fn list(
        &mut self,
        namespace: Namespace,
        filter: contract::Filter,
    ) -> Result<Vec<contract::Route>, Error> {
        let operation = route::List {
            namespace: namespace.into(),
            family: filter.family.map(Into::into),
            destination: filter.destination.map(network).transpose()?,
            link: self.optional_link(namespace, filter.link)?,
            gateway: filter.gateway.map(Into::into),
            table: filter.table,
        };
        let routes = self.gate.perform(operation, |permit| {
            kernel::route::list(&mut self.namespaces, permit)
        })?;
        Ok(routes.into_iter().map(Into::into).collect())
    }

    fn get(&mut self, namespace: Namespace, to: IpAddress) -> Result<contract::Route, Error> {
        let operation = route::Get {
            namespace: namespace.into(),
            to: to.into(),
        };
        let route = self.gate.perform(operation, |permit| {
            kernel::route::get(&mut self.namespaces, permit)
        })?;
        Ok(route.into())
    }
}

impl Host {
    /// What of the host a network overlaps, where a rule asks: a route over a link that is not this network's, or else
    /// one over a link that is.
    pub(super) fn overlap(
        &mut self,
        namespace: Namespace,
        network: IpNet,
    ) -> Result<Option<Overlap>, Error> {
        if namespace == Namespace::Container || !self.gate.asks_overlaps() {
            return Ok(None);
        }
        let mut own = None;
        for (destination, link) in
            kernel::without_permit::overlapping_routes(self.namespaces.host(), network)?
        {
            let link = kernel::link::LinkReference::Index(link);
            let there = namespace.into();
            let found = kernel::without_permit::find_link(self.namespaces.of(there)?, &link)?;
            let LinkFacts { name, owner, .. } = found.facts(there);
            let is_own = Owner::Network.has(&owner, self.gate.invocation());
            let overlap = Overlap {
                destination,
                link: name,
                owner,
            };
            if !is_own {
                return Ok(Some(overlap));
            }
            own = Some(overlap);
        }
        Ok(own)
    }

    /// A route in the place of one that this invocation made is what goes with it.
    fn note_replaced(&mut self, undo: route::Delete) {
        let noted = self.done.iter_mut().rev().filter_map(|done| match done {
            Undo::Route(noted) => Some(noted),
            _ => None,
        });
        let mut replaced = noted.filter(|noted| place(noted) == place(&undo));
        if let Some(noted) = replaced.next() {
            *noted = undo;
        }
    }

    fn route(
        &mut self,
        namespace: Namespace,
        route: contract::Route,
    ) -> Result<route::Route, Error> {
        let mut next_hops = Vec::with_capacity(route.next_hops.len());
        for hop in route.next_hops {
            next_hops.push(route::NextHop {
                gateway: hop.gateway.map(Into::into),
                link: self.optional_link(namespace, hop.link)?,
                weight: hop.weight,
                on_link: hop.on_link,
            });
        }
        Ok(route::Route {
            destination: network(route.destination)?,
            gateway: route.gateway.map(Into::into),
            link: self.optional_link(namespace, route.link)?,
            source: route.source.map(Into::into),
            table: route.table.unwrap_or(route::MAIN_TABLE),
            scope: route.scope,
            priority: route.priority,
            mtu: route.mtu,
            advmss: route.advmss,
            protocol: route.protocol,
            kind: route.kind.into(),
            on_link: route.on_link,
            next_hops,
        })
    }

    fn optional_link(
        &mut self,
        namespace: Namespace,
        link: Option<LinkReference>,
    ) -> Result<Option<LinkFacts>, Error> {
        link.map(|link| self.identify(namespace, &link)).transpose()
    }
}

/// What the kernel has one route of: another one with the same takes its place.
fn place(delete: &route::Delete) -> (weir_grant::Namespace, IpNet, u32, u32) {
    let route = &delete.route;
    let default = match route.destination {
        IpNet::V4(_) => 0,
        IpNet::V6(_) => DEFAULT_PRIORITY_OF_IPV6,
    };
    // To both, none and 0 are the same.
    let priority = route.priority.filter(|priority| *priority != 0);
    let table = Some(route.table).filter(|table| *table != 0);
    (
        delete.namespace,
        route.destination,
        table.unwrap_or(route::MAIN_TABLE),
        priority.unwrap_or(default),
    )
}

impl From<RouteKind> for route::RouteKind {
    fn from(kind: RouteKind) -> Self {
        match kind {
            RouteKind::Unicast => Self::Unicast,
            RouteKind::Local => Self::Local,
            RouteKind::Blackhole => Self::Blackhole,
            RouteKind::Unreachable => Self::Unreachable,
            RouteKind::Prohibit => Self::Prohibit,
            RouteKind::Throw => Self::Throw,
        }
    }
}

impl From<route::RouteKind> for RouteKind {
    fn from(kind: route::RouteKind) -> Self {
        match kind {
            route::RouteKind::Unicast => Self::Unicast,
            route::RouteKind::Local => Self::Local,
            route::RouteKind::Blackhole => Self::Blackhole,
            route::RouteKind::Unreachable => Self::Unreachable,
            route::RouteKind::Prohibit => Self::Prohibit,
            route::RouteKind::Throw => Self::Throw,
        }
    }
}

impl From<kernel::route::Route> for contract::Route {
    fn from(route: kernel::route::Route) -> Self {
        Self {
            destination: route.destination.into(),
            gateway: route.gateway.map(Into::into),
            link: route.link.map(LinkReference::Index),
            source: route.source.map(Into::into),
            table: Some(route.table),
            scope: Some(route.scope),
            priority: route.priority,
            mtu: route.mtu,
            advmss: route.advmss,
            protocol: Some(route.protocol),
            kind: route.kind.into(),
            on_link: route.on_link,
            next_hops: route.next_hops.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<kernel::route::NextHop> for contract::NextHop {
    fn from(hop: kernel::route::NextHop) -> Self {
        Self {
            gateway: hop.gateway.map(Into::into),
            link: hop.link.map(LinkReference::Index),
            weight: hop.weight,
            on_link: hop.on_link,
        }
    }
}
