//! The container's routes: from those of the result to those of the kernel.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::{NextHop, Route, UNIVERSE};
use crate::bindings::weir::cni::types::IpAddress;
use crate::{AddResult, AsLink, IpConfig, IpFamily, LinkReference};

/// Adds a default route through the gateway for each family that has none.
pub fn add_defaults(result: &mut AddResult) {
    for index in 0..result.ips.len() {
        let ip = &result.ips[index];
        let default = default_network(ip.address.addr());
        let gateway = ip.gateway;
        if result.routes.iter().all(|route| route.dst != default) {
            result.routes.push(crate::Route::new(default, gateway));
        }
    }
}

fn default_network(address: IpAddr) -> IpNet {
    let unspecified = match address {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    IpNet::new(unspecified, 0).expect("every family has a prefix length of 0")
}

/// Returns the kernel's routes for those of a result with these addresses, over an interface. A route without a next hop
/// takes the first gateway of its family. Routes that differ only in the next hop become one with several next hops.
pub fn of_result(given: &[crate::Route], ips: &[IpConfig], link: impl AsLink) -> Vec<Route> {
    let link = link.into();
    let mut routes: Vec<Route> = Vec::with_capacity(given.len());
    for given in given {
        let gateway = given.gw.or_else(|| first_gateway(ips, given.dst));
        let route = Route {
            gateway: gateway.map(Into::into),
            scope: Some(given.scope.unwrap_or(UNIVERSE)),
            ..Route::from(given).over(link.clone())
        };
        match routes.iter_mut().find(|other| is_same(other, &route)) {
            Some(other) => add_hop(other, route),
            None => routes.push(route),
        }
    }
    routes
}

fn first_gateway(ips: &[IpConfig], destination: IpNet) -> Option<IpAddr> {
    let family = IpFamily::of(destination.addr());
    let mut gateways = ips.iter().filter_map(|ip| ip.gateway);
    gateways.find(|gateway| IpFamily::of(*gateway) == family)
}

/// Whether the kernel treats two routes as the same.
fn is_same(a: &Route, b: &Route) -> bool {
    (a.destination, a.table, a.priority) == (b.destination, b.table, b.priority)
}

fn add_hop(route: &mut Route, other: Route) {
    if route.next_hops.is_empty() {
        if route.gateway == other.gateway {
            return;
        }
        let first = hop(route.gateway.take(), route.link.take());
        route.next_hops.push(first);
    }
    let is_known = |known: &NextHop| known.gateway == other.gateway;
    if !route.next_hops.iter().any(is_known) {
        route.next_hops.push(hop(other.gateway, other.link));
    }
}

fn hop(gateway: Option<IpAddress>, link: Option<LinkReference>) -> NextHop {
    NextHop {
        gateway,
        link,
        weight: 1,
        on_link: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(ips: &[(&str, Option<&str>)], routes: &[(&str, Option<&str>)]) -> AddResult {
        let ip = |(address, gateway): &(&str, Option<&str>)| IpConfig {
            interface: Some(2),
            address: address.parse().unwrap(),
            gateway: gateway.map(|gateway| gateway.parse().unwrap()),
        };
        let route = |(dst, gw): &(&str, Option<&str>)| {
            let gw = gw.map(|gw| gw.parse().unwrap());
            crate::Route::new(dst.parse().unwrap(), gw)
        };
        AddResult {
            ips: ips.iter().map(ip).collect(),
            routes: routes.iter().map(route).collect(),
            ..AddResult::default()
        }
    }

    fn address(text: &str) -> Option<IpAddress> {
        text.parse().ok().map(|address: IpAddr| address.into())
    }

    const DUAL: [(&str, Option<&str>); 2] = [
        ("10.0.0.5/24", Some("10.0.0.1")),
        ("fd00::5/64", Some("fd00::1")),
    ];

    #[test]
    fn each_family_gets_a_default_route() {
        let mut result = result(&DUAL, &[]);
        add_defaults(&mut result);
        let routes: Vec<String> = result.routes.iter().map(|r| r.dst.to_string()).collect();
        assert_eq!(routes, ["0.0.0.0/0", "::/0"]);
        assert_eq!(result.routes[1].gw, "fd00::1".parse().ok());
    }

    #[test]
    fn a_default_route_of_the_configuration_stays_alone() {
        let mut result = result(&DUAL[..1], &[("0.0.0.0/0", None)]);
        add_defaults(&mut result);
        assert_eq!(result.routes.len(), 1);
    }

    #[test]
    fn a_route_without_next_hop_takes_its_familys_gateway() {
        let result = result(&DUAL, &[("192.0.2.0/24", None), ("::/0", None)]);
        let routes = of_result(&result.routes, &result.ips, "eth0");
        assert_eq!(routes[0].gateway, address("10.0.0.1"));
        assert_eq!(routes[1].gateway, address("fd00::1"));
        assert_eq!(routes[0].scope, Some(UNIVERSE));
    }

    #[test]
    fn same_destinations_become_next_hops() {
        let result = result(
            &DUAL,
            &[
                ("::/0", Some("fd00::1")),
                ("::/0", Some("fd00::2")),
                ("::/0", None),
            ],
        );
        let routes = of_result(&result.routes, &result.ips, "eth0");
        assert_eq!(routes.len(), 1);
        assert_eq!(routes[0].gateway, None);
        let hops: Vec<_> = routes[0].next_hops.iter().map(|hop| hop.gateway).collect();
        assert_eq!(hops, [address("fd00::1"), address("fd00::2")]);
    }
}
