//! Capability `route`: from the contract to the gate and the kernel.

use weir_grant::route;
use weir_kernel::{Error, Result};

use super::bindings::weir::cni::route::{self as contract, Host as Contract, RouteKind};
use super::bindings::weir::cni::types::{IpAddress, LinkReference, Namespace};
use super::convert::{each, network, same_fields, same_names};
use super::view::View;

impl Contract for View<'_, route::RouteRule> {
    fn add(&mut self, namespace: Namespace, new: contract::Route) -> Result<()> {
        let add = self.addition(namespace, new)?;
        self.perform(add)
    }

    fn replace(&mut self, namespace: Namespace, new: contract::Route) -> Result<()> {
        let route::Add {
            namespace,
            route,
            overlap,
        } = self.addition(namespace, new)?;
        self.perform(route::Replace {
            namespace,
            route,
            overlap,
        })
    }

    fn delete(&mut self, namespace: Namespace, old: contract::Route) -> Result<()> {
        let operation = route::Delete {
            namespace: namespace.into(),
            route: self.with_links(namespace, old)?,
        };
        self.perform(operation)
    }

    fn list(
        &mut self,
        namespace: Namespace,
        filter: contract::Filter,
    ) -> Result<Vec<contract::Route>> {
        let operation = route::List {
            namespace: namespace.into(),
            family: filter.family.map(Into::into),
            destination: filter.destination.map(network).transpose()?,
            link: filter
                .link
                .map(|link| self.identify(namespace, &link))
                .transpose()?,
            gateway: filter.gateway.map(Into::into),
            table: filter.table,
        };
        self.perform(operation).map(each)
    }

    fn get(&mut self, namespace: Namespace, to: IpAddress) -> Result<contract::Route> {
        let operation = route::Get {
            namespace: namespace.into(),
            to: to.into(),
        };
        self.perform(operation).map(Into::into)
    }
}

impl View<'_, route::RouteRule> {
    /// Returns the operation that adds a route, with what the route overlaps.
    fn addition(&mut self, namespace: Namespace, new: contract::Route) -> Result<route::Add> {
        let route = self.with_links(namespace, new)?;
        let overlap = self.overlap(namespace, route.destination)?;
        Ok(route::Add {
            namespace: namespace.into(),
            route,
            overlap,
        })
    }

    /// Reads the facts about the links that a plugin's route refers to.
    fn with_links(&mut self, namespace: Namespace, route: contract::Route) -> Result<route::Route> {
        let named = route::Route::<LinkReference>::try_from(route)?;
        named.with_links(|link| self.identify(namespace, &link))
    }
}

impl TryFrom<contract::Route> for route::Route<LinkReference> {
    type Error = Error;

    /// Errors: `Invalid` for a prefix that is too long.
    fn try_from(route: contract::Route) -> Result<Self> {
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
            next_hops: each(route.next_hops),
        })
    }
}

same_names! {
    RouteKind, route::RouteKind { Unicast Local Blackhole Unreachable Prohibit Throw }
}

same_fields! {
    route::Route<u32> => contract::Route {
        destination table scope priority mtu advmss protocol kind on_link; map gateway link source; each next_hops
    }
    route::NextHop<u32> => contract::NextHop { weight on_link; map gateway link }
    contract::NextHop => route::NextHop<LinkReference> { weight on_link; map gateway link }
}
