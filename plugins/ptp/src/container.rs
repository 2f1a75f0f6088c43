//! The container's end: addresses, and routes that all lead through the gateway.

use std::net::IpAddr;

use ipnet::IpNet;
use weir_sdk::address::NewAddress;
use weir_sdk::link::Link;
use weir_sdk::route::{self, Route};
use weir_sdk::{AddResult, Context, Error, Namespace, Outcome, interface};

use crate::host::Ends;

/// Where the container's interface is in the result: after the host's end.
pub const INTERFACE: u32 = 1;

/// `RT_SCOPE_UNIVERSE` and `RT_SCOPE_LINK`.
const UNIVERSE: u8 = 0;
const LINK_SCOPE: u8 = 253;

/// Gives the interface the addresses and routes of the result.
///
/// The kernel's own route would make the container look for its subnet on the link, where only the
/// gateway is.
pub fn configure(link: &Link, ends: &[Ends], result: &AddResult) -> Result<(), Error> {
    if interface::has_ipv6(&result.ips) {
        interface::enable_ipv6(&link.name)?;
    }
    interface::add_addresses(link, &result.ips, |address| NewAddress {
        no_duplicate_detection: true,
        no_prefix_route: true,
        ..NewAddress::new(address).with_subnet_broadcast()
    })?;
    for route in ends.iter().flat_map(|ends| through_gateway(link, ends)) {
        let doing = route::adding(&route, &link.name);
        // Addresses of one subnet have one gateway.
        route::add(Namespace::Container, &route)
            .or_exists()
            .context(doing)?;
    }
    interface::add_routes(link, routes(link, ends, result))
}

/// The result's routes. No route leads to a next hop other than the gateway, so the kernel must be told that it is on
/// the link.
fn routes(link: &Link, ends: &[Ends], result: &AddResult) -> Vec<Route> {
    let is_other = |gateway| {
        ends.iter()
            .all(|ends| ends.gateway != IpAddr::from(gateway))
    };
    let mut routes = route::of_result(result, link);
    for route in &mut routes {
        route.on_link = route.gateway.is_some_and(is_other);
        for hop in &mut route.next_hops {
            hop.on_link = hop.gateway.is_some_and(is_other);
        }
    }
    routes
}

/// The gateway is on the link, and the subnet behind it.
fn through_gateway(link: &Link, ends: &Ends) -> [Route; 2] {
    let Ends { container, gateway } = *ends;
    let route = |destination: IpNet| Route {
        link: Some(link.into()),
        source: Some(container.addr().into()),
        ..Route::new(destination)
    };
    [
        Route {
            scope: Some(LINK_SCOPE),
            ..route(gateway.into())
        },
        Route {
            gateway: Some(gateway.into()),
            scope: Some(UNIVERSE),
            ..route(container.trunc())
        },
    ]
}
