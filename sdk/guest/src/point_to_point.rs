//! A veth pair as a point-to-point link, which the plugin `ptp` and those like it set up.
//!
//! The container reaches everything, its own subnet too, through the gateway, whose address is the host's end of the
//! pair. No other host is on the link, so no address can be taken, and none is checked for duplicates:
//!
//! ```text
//! container  eth0   10.1.0.5/24                     10.1.0.1 dev eth0, 10.1.0.0/24 via 10.1.0.1
//! host       vethX  10.1.0.1/32 for each gateway    10.1.0.5 dev vethX for each address
//! ```

use std::net::IpAddr;

use ipnet::IpNet;

use crate::address::{self, NewAddress};
use crate::link::Link;
use crate::route::{self, Route};
use crate::veth::Veth;
use crate::{AddResult, AsLink, Context, Error, IpConfig, Namespace, Outcome, codes, interface};

/// Gives both ends their addresses, the container the result's routes, and the host routes to the container's addresses.
/// Enables IPv6 in the container where the result has an IPv6 address.
///
/// Errors: [`codes::NO_GATEWAY`] for an address without a gateway.
pub fn configure(veth: &Veth, result: &AddResult) -> Result<(), Error> {
    let ends = ends(&result.ips)?;
    configure_container(&veth.container, &ends, result)?;
    configure_host(&veth.host, &ends)
}

/// Checks that each address has a gateway, before anything is made.
///
/// Errors: [`codes::NO_GATEWAY`].
pub fn require_gateways(ips: &[IpConfig]) -> Result<(), Error> {
    ends(ips).map(drop)
}

/// An address of the container, and the gateway's at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ends {
    /// The container's, with its subnet.
    container: IpNet,
    /// The host's.
    gateway: IpAddr,
}

fn ends(ips: &[IpConfig]) -> Result<Vec<Ends>, Error> {
    let ends = |ip: &IpConfig| {
        let container = ip.address;
        let gateway = ip.gateway.ok_or_else(|| {
            let msg = format!("the IPAM plugin returned address {container} without a gateway");
            let details = "the host's end of a point-to-point link has the gateway's address";
            Error::new(codes::NO_GATEWAY, msg).with_details(details)
        })?;
        Ok(Ends { container, gateway })
    };
    ips.iter().map(ends).collect()
}

/// The kernel's own route would make the container look for its subnet on the link, where only the gateway is.
fn configure_container(link: &Link, ends: &[Ends], result: &AddResult) -> Result<(), Error> {
    if interface::has_ipv6(&result.ips) {
        interface::enable_ipv6(&link.name)?;
    }
    interface::add_addresses(link, &result.ips, |address| NewAddress {
        no_duplicate_detection: true,
        no_prefix_route: true,
        ..NewAddress::new(address).with_subnet_broadcast()
    })?;
    // Addresses of one subnet have one gateway, and so the same routes.
    let through_gateways = ends.iter().flat_map(|ends| through_gateway(link, ends));
    let mut routes = through_gateways.chain(routes(link, ends, result));
    routes.try_for_each(|route| route::ensure(Namespace::Container, &route))
}

/// The gateway is on the link, and the subnet behind it.
fn through_gateway(link: impl AsLink + Copy, ends: &Ends) -> [Route; 2] {
    let Ends { container, gateway } = *ends;
    let route = |destination: IpNet, scope| Route {
        source: Some(container.addr().into()),
        scope: Some(scope),
        ..Route::new(destination).over(link)
    };
    [
        route(gateway.into(), route::LINK),
        route(container.trunc(), route::UNIVERSE).via(gateway),
    ]
}

/// The result's routes. No route leads to a next hop other than the gateway, so the kernel must be told that it is on
/// the link.
fn routes(link: impl AsLink, ends: &[Ends], result: &AddResult) -> Vec<Route> {
    let is_other = |gateway| {
        ends.iter()
            .all(|ends| ends.gateway != IpAddr::from(gateway))
    };
    let mut routes = route::of_result(&result.routes, &result.ips, link);
    for route in &mut routes {
        route.on_link = route.gateway.is_some_and(is_other);
        for hop in &mut route.next_hops {
            hop.on_link = hop.gateway.is_some_and(is_other);
        }
    }
    routes
}

/// Gives the host's end the gateways' addresses, and the host routes to the container's.
fn configure_host(link: &Link, ends: &[Ends]) -> Result<(), Error> {
    for Ends { container, gateway } in ends {
        let new = NewAddress {
            no_duplicate_detection: true,
            ..NewAddress::new((*gateway).into())
        };
        address::add(Namespace::Host, link, new)
            .or_exists()
            .context(format!("cannot add address {gateway} to `{}`", link.name))?;
        let route = Route {
            scope: Some(route::HOST),
            ..Route::new(container.addr().into()).over(link)
        };
        route::ensure(Namespace::Host, &route)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(address: &str, gateway: &str) -> IpConfig {
        IpConfig {
            interface: Some(1),
            address: address.parse().unwrap(),
            gateway: gateway.parse().ok(),
        }
    }

    #[test]
    fn an_address_without_a_gateway_is_refused() {
        let error = ends(&[ip("10.1.0.5/24", "10.1.0.1"), ip("fd00::5/64", "")]).unwrap_err();
        assert_eq!(error.code, codes::NO_GATEWAY);
        assert!(error.msg.contains("fd00::5/64"), "{error}");
    }

    #[test]
    fn a_next_hop_other_than_the_gateway_is_on_the_link_by_order() {
        let result = AddResult {
            ips: vec![ip("10.1.0.5/24", "10.1.0.1")],
            routes: vec![
                crate::Route::new("192.0.2.0/24".parse().unwrap(), "10.1.0.9".parse().ok()),
                crate::Route::new("0.0.0.0/0".parse().unwrap(), None),
            ],
            ..AddResult::default()
        };
        let routes = routes("eth0", &ends(&result.ips).unwrap(), &result);
        let on_link: Vec<bool> = routes.iter().map(|route| route.on_link).collect();
        assert_eq!(on_link, [true, false]);
    }

    #[test]
    fn the_gateway_is_a_neighbour_and_the_subnet_behind_it() {
        let ends = ends(&[ip("10.1.0.5/24", "10.1.0.1")]).unwrap();
        let routes = through_gateway("eth0", &ends[0]);
        assert_eq!(
            routes.each_ref().map(ToString::to_string),
            [
                "route 10.1.0.1/32 over `eth0`",
                "route 10.1.0.0/24 via 10.1.0.1 over `eth0`"
            ]
        );
    }
}
