//! Capability `route`: routes.
//!
//! [`Route`] is a route of the kernel, and [`weir_sdk::Route`](crate::Route) one of a result or a configuration. Each is
//! made from the other:
//!
//! ```no_run
//! # fn add(request: weir_sdk::Request<()>) -> Result<weir_sdk::AddResult, weir_sdk::Error> {
//! use weir_sdk::Namespace;
//! use weir_sdk::route::{self, Route};
//!
//! let mut result = request.chained()?.clone();
//! let interface = request.container_interface()?;
//! let to = "192.0.2.0/24".parse().expect("a network");
//! let route = Route::new(to).via([10, 1, 0, 1].into()).over(&interface);
//! route::ensure(Namespace::Container, &route)?;
//! result.routes.push((&route).try_into()?);
//! # Ok(result)
//! # }
//! ```

mod conversion;
mod of_result;

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::bindings::weir::cni::route as raw;
use crate::{AsLink, Context, Error, LinkReference, Namespace, Outcome, Result};

pub use of_result::{add_defaults, of_result};
pub use raw::{Filter, NextHop, Route, RouteKind, add, delete, replace};

/// The kernel's main table (`RT_TABLE_MAIN`), which is meant where a route names none.
pub const MAIN_TABLE: u32 = 254;

/// The scope of routes that lead on (`RT_SCOPE_UNIVERSE`).
pub(crate) const UNIVERSE: u8 = 0;
/// The scope of routes to neighbours (`RT_SCOPE_LINK`).
pub(crate) const LINK: u8 = 253;
/// The scope of routes to this host (`RT_SCOPE_HOST`).
pub(crate) const HOST: u8 = 254;

impl Route {
    /// Makes a unicast route to a destination, with nothing else.
    pub fn new(destination: IpNet) -> Self {
        Route {
            destination: destination.into(),
            gateway: None,
            link: None,
            source: None,
            table: None,
            scope: None,
            priority: None,
            mtu: None,
            advmss: None,
            protocol: None,
            kind: RouteKind::Unicast,
            on_link: false,
            next_hops: Vec::new(),
        }
    }

    /// Returns the destination.
    pub fn destination(&self) -> IpNet {
        self.destination.into()
    }

    /// Leads through a gateway.
    #[must_use]
    pub fn via(self, gateway: IpAddr) -> Self {
        Route {
            gateway: Some(gateway.into()),
            ..self
        }
    }

    /// Goes through a link.
    #[must_use]
    pub fn over(self, link: impl AsLink) -> Self {
        Route {
            link: Some(link.into()),
            ..self
        }
    }

    /// Returns the part of a route from the kernel's list that goes through the link of that index: of a route with next
    /// hops, those through the link. None if no part does.
    pub fn part_over(mut self, index: u32) -> Option<Self> {
        self.next_hops
            .retain(|hop| is_over(hop.link.as_ref(), index));
        let is_part = is_over(self.link.as_ref(), index) || !self.next_hops.is_empty();
        is_part.then_some(self)
    }

    /// Whether it has another's destination, and where the other has them its gateway, itself or as one of its next hops,
    /// and its table.
    pub(crate) fn leads_as(&self, other: &Route) -> bool {
        let gateway = other.gateway;
        let has_gateway = gateway.is_none()
            || self.gateway == gateway
            || self.next_hops.iter().any(|hop| hop.gateway == gateway);
        let has_table = other.table.is_none() || self.table == other.table;
        self.destination().trunc() == other.destination().trunc() && has_gateway && has_table
    }

    /// Takes the gateway to be on the link, although no subnet of the link contains it.
    #[must_use]
    pub fn on_link(self) -> Self {
        Route {
            on_link: true,
            ..self
        }
    }
}

/// `route 192.0.2.0/24 via 10.1.0.1 over `eth0``, without what the route does not have, and without a link that is known
/// by its index.
impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "route {}", self.destination())?;
        if let Some(gateway) = self.gateway {
            write!(f, " via {}", IpAddr::from(gateway))?;
        }
        match &self.link {
            Some(LinkReference::Name(name)) => write!(f, " over `{name}`"),
            _ => Ok(()),
        }
    }
}

impl Filter {
    /// Selects the main table's routes over a link.
    pub fn over(link: impl AsLink) -> Self {
        Filter {
            link: Some(link.into()),
            table: Some(MAIN_TABLE),
            ..Filter::default()
        }
    }
}

/// Returns the routes that match the filter. Of a route with next hops over several links, only those over the filter's
/// link are in it, if the filter names that by its index: so it can be deleted, and the other links keep theirs.
/// Errors: `not-found` for the link.
pub fn list(namespace: Namespace, filter: &Filter) -> Result<Vec<Route>> {
    let routes = raw::list(namespace, filter)?;
    let Some(LinkReference::Index(link)) = filter.link else {
        return Ok(routes);
    };
    let parts = routes.into_iter().filter_map(|route| route.part_over(link));
    Ok(parts.collect())
}

fn is_over(link: Option<&LinkReference>, index: u32) -> bool {
    matches!(link, Some(LinkReference::Index(own)) if *own == index)
}

/// Adds a route unless it exists: in the container the very same one, on the host one with the same destination, table
/// and priority. Errors: as for [`add`], with the route.
pub fn ensure(namespace: Namespace, route: &Route) -> Result<(), Error> {
    let added = add(namespace, route).or_exists();
    added.context(format!("cannot add {route}")).map(drop)
}

/// Returns whether a route to the destination exists, with the gateway, the link and the table that are given: itself,
/// or as one of its next hops. Without a table all of the container are searched, and the host's main one. Errors:
/// `not-found` for the link.
pub fn exists(namespace: Namespace, route: &Route) -> Result<bool> {
    let filter = Filter {
        family: None,
        destination: Some(route.destination().trunc().into()),
        link: route.link.clone(),
        gateway: route.gateway,
        table: route.table,
    };
    list(namespace, &filter).map(|routes| !routes.is_empty())
}

/// Returns the route that the kernel would take. Errors: `not-found`.
pub fn get(namespace: Namespace, to: IpAddr) -> Result<Route> {
    raw::get(namespace, to.into())
}
