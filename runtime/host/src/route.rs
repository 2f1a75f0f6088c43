//! Capability `route`: from the contract to the gate and the kernel.

use weir_grant::route;
use weir_kernel::{Broker, Error};

use super::bindings::weir::cni::route::{self as contract, Host as Contract, RouteKind};
use super::bindings::weir::cni::types::{IpAddress, LinkReference, Namespace};
use super::convert::network;
use super::facts::{identify, overlap};

impl Contract for Broker {
    fn add(&mut self, namespace: Namespace, new: contract::Route) -> Result<(), Error> {
        let route = wanted(self, namespace, new)?;
        let operation = route::Add {
            namespace: namespace.into(),
            overlap: overlap(self, namespace, route.destination)?,
            route,
        };
        self.perform(operation)
    }

    fn replace(&mut self, namespace: Namespace, new: contract::Route) -> Result<(), Error> {
        let route = wanted(self, namespace, new)?;
        let operation = route::Replace {
            namespace: namespace.into(),
            overlap: overlap(self, namespace, route.destination)?,
            route,
        };
        self.perform(operation)
    }

    fn delete(&mut self, namespace: Namespace, old: contract::Route) -> Result<(), Error> {
        let operation = route::Delete {
            namespace: namespace.into(),
            route: wanted(self, namespace, old)?,
        };
        self.perform(operation)
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
            link: filter
                .link
                .map(|link| identify(self, namespace, &link))
                .transpose()?,
            gateway: filter.gateway.map(Into::into),
            table: filter.table,
        };
        let routes = self.perform(operation)?;
        Ok(routes.into_iter().map(Into::into).collect())
    }

    fn get(&mut self, namespace: Namespace, to: IpAddress) -> Result<contract::Route, Error> {
        let operation = route::Get {
            namespace: namespace.into(),
            to: to.into(),
        };
        let route = self.perform(operation)?;
        Ok(route.into())
    }
}

/// A route as a plugin names it, with the facts about its links.
fn wanted(
    broker: &mut Broker,
    namespace: Namespace,
    route: contract::Route,
) -> Result<route::Route, Error> {
    let named = route::Route::<LinkReference>::try_from(route)?;
    named.with_links(|link| identify(broker, namespace, &link))
}

impl TryFrom<contract::Route> for route::Route<LinkReference> {
    type Error = Error;

    /// Errors: `Invalid` for a prefix that is too long.
    fn try_from(route: contract::Route) -> Result<Self, Error> {
        let hops = route.next_hops.into_iter().map(|hop| route::NextHop {
            gateway: hop.gateway.map(Into::into),
            link: hop.link,
            weight: hop.weight,
            on_link: hop.on_link,
        });
        Ok(Self {
            destination: network(route.destination)?,
            gateway: route.gateway.map(Into::into),
            link: route.link,
            source: route.source.map(Into::into),
            table: route.table.unwrap_or(route::MAIN_TABLE),
            scope: route.scope,
            priority: route.priority,
            mtu: route.mtu,
            advmss: route.advmss,
            protocol: route.protocol,
            kind: route.kind.into(),
            on_link: route.on_link,
            next_hops: hops.collect(),
        })
    }
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

impl From<route::Route<u32>> for contract::Route {
    fn from(route: route::Route<u32>) -> Self {
        Self {
            destination: route.destination.into(),
            gateway: route.gateway.map(Into::into),
            link: route.link.map(LinkReference::Index),
            source: route.source.map(Into::into),
            table: Some(route.table),
            scope: route.scope,
            priority: route.priority,
            mtu: route.mtu,
            advmss: route.advmss,
            protocol: route.protocol,
            kind: route.kind.into(),
            on_link: route.on_link,
            next_hops: route.next_hops.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<route::NextHop<u32>> for contract::NextHop {
    fn from(hop: route::NextHop<u32>) -> Self {
        Self {
            gateway: hop.gateway.map(Into::into),
            link: hop.link.map(LinkReference::Index),
            weight: hop.weight,
            on_link: hop.on_link,
        }
    }
}
