//! Capability `route`: routes.

mod of_result;

use std::net::IpAddr;

use ipnet::IpNet;

use crate::bindings::weir::cni::route as raw;
use crate::convert::same_fields;
use crate::{LinkReference, Namespace, Result};

pub use of_result::{add_defaults, adding, of_result};
pub use raw::{Filter, RouteKind};

/// A route. The default value is a unicast route to `0.0.0.0/0` with nothing else.
#[derive(Clone, Debug, Default)]
pub struct Route {
    /// `0.0.0.0/0` and `::/0` are default routes.
    pub destination: IpNet,
    /// The next hop's address.
    pub gateway: Option<IpAddr>,
    /// The output link.
    pub link: Option<LinkReference>,
    /// The preferred source address.
    pub source: Option<IpAddr>,
    /// Absent: 254, `main`.
    pub table: Option<u32>,
    /// 0 universe, 253 link, 254 host. Absent: universe with a gateway, link without.
    pub scope: Option<u8>,
    /// The metric.
    pub priority: Option<u32>,
    /// Bytes.
    pub mtu: Option<u32>,
    /// Bytes.
    pub advmss: Option<u32>,
    /// The origin. Absent: 3, `boot`.
    pub protocol: Option<u8>,
    /// What happens to packets.
    pub kind: RouteKind,
    /// The gateway is on the link although no subnet says so.
    pub on_link: bool,
    /// Equal-cost next hops; `gateway` and `link` are absent then.
    pub next_hops: Vec<NextHop>,
}

impl Route {
    /// Makes a unicast route to a destination, with nothing else.
    pub fn new(destination: IpNet) -> Self {
        Route {
            destination,
            ..Route::default()
        }
    }
}

/// One of several equal-cost next hops.
#[derive(Clone, Debug)]
pub struct NextHop {
    /// The next hop's address.
    pub gateway: Option<IpAddr>,
    /// The output link.
    pub link: Option<LinkReference>,
    /// 1 to 256.
    pub weight: u16,
    /// The gateway is on the link although no subnet says so.
    pub on_link: bool,
}

same_fields! {
    NextHop => raw::NextHop { link weight on_link ; map gateway }
    raw::NextHop => NextHop { link weight on_link ; map gateway }
    Route => raw::Route {
        table scope priority mtu advmss protocol kind on_link link
        ; into destination ; map gateway source ; each next_hops
    }
    raw::Route => Route {
        table scope priority mtu advmss protocol kind on_link link
        ; into destination ; map gateway source ; each next_hops
    }
}

/// Adds a route; in the container beside those that other attachments have to the same destination.
/// Errors: `exists`, `not-found`, `invalid` with the kernel's reason.
pub fn add(namespace: Namespace, route: Route) -> Result<()> {
    raw::add(namespace, &route.into())
}

/// Adds a route in place of one with the same destination, table and priority.
pub fn replace(namespace: Namespace, route: Route) -> Result<()> {
    raw::replace(namespace, &route.into())
}

/// Removes a route. Errors: `not-found`.
pub fn delete(namespace: Namespace, route: Route) -> Result<()> {
    raw::delete(namespace, &route.into())
}

/// Lists routes that pass the filter. In `host` a filter without table and link reads the main table.
pub fn list(namespace: Namespace, filter: Filter) -> Result<Vec<Route>> {
    let routes = raw::list(namespace, &filter)?;
    Ok(routes.into_iter().map(Route::from).collect())
}

/// Returns the route that the kernel would take. Errors: `not-found`.
pub fn get(namespace: Namespace, to: IpAddr) -> Result<Route> {
    Ok(raw::get(namespace, to.into())?.into())
}
