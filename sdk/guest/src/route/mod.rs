//! Capability `route`: routes.

mod of_result;

use std::net::IpAddr;

use ipnet::IpNet;

use crate::bindings::weir::cni::route as raw;
use crate::{Namespace, Result};

pub use of_result::{add_defaults, adding, of_result};
pub use raw::{Filter, NextHop, Route, RouteKind, add, delete, list, replace};

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
}

/// Returns the route that the kernel would take. Errors: `not-found`.
pub fn get(namespace: Namespace, to: IpAddr) -> Result<Route> {
    raw::get(namespace, to.into())
}
