//! Whether an address can be a gateway. The kernel's error does not say what is wrong, and it accepts an interface's own
//! address.

use std::net::IpAddr;

use ipnet::IpNet;
use weir_grant::address::{Address, Family};
use weir_grant::route::{Route, RouteKind};

use super::plan::everywhere;

/// How an interface reaches gateways.
pub(super) struct Reach {
    /// All addresses of the interface.
    pub addresses: Vec<Address>,
    /// Networks that it reaches without a gateway.
    direct: Vec<IpNet>,
}

impl Reach {
    /// `routes` are those of the main table.
    pub(super) fn new(addresses: Vec<Address>, routes: &[Route<u32>]) -> Self {
        // The default route itself will be replaced.
        let is_direct = |route: &&Route<u32>| {
            route.kind == RouteKind::Unicast
                && route.gateway.is_none()
                && route.next_hops.is_empty()
                && route.destination != everywhere(Family::of(&route.destination.addr()))
        };
        let direct = routes.iter().filter(is_direct);
        Self {
            direct: direct.map(|route| route.destination).collect(),
            addresses,
        }
    }

    /// Why an address cannot be the gateway.
    pub(super) fn fault(&self, gateway: IpAddr) -> Option<&'static str> {
        if gateway.is_unspecified() || gateway.is_multicast() || gateway.is_loopback() {
            return Some("is not the address of a router");
        }
        if self.addresses.iter().any(|a| a.address.addr() == gateway) {
            return Some("is the interface's own address");
        }
        let on_link = self.direct.iter().any(|network| network.contains(&gateway));
        (!on_link && !is_link_local(gateway)).then_some("is not reachable on the link")
    }

    /// `10.1.0.2/24 and fd00::2/64`.
    pub(super) fn shown(&self) -> String {
        let shown: Vec<String> = self.addresses.iter().map(shown).collect();
        if shown.is_empty() {
            "no address".to_owned()
        } else {
            shown.join(" and ")
        }
    }
}

fn shown(address: &Address) -> String {
    match address.peer {
        Some(peer) => format!("{} (peer {peer})", address.address),
        None => address.address.to_string(),
    }
}

/// Link-local addresses are on every link, without a route.
fn is_link_local(gateway: IpAddr) -> bool {
    match gateway {
        IpAddr::V4(_) => false,
        IpAddr::V6(gateway) => gateway.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        Address {
            address: text.parse().expect("an address"),
            peer: None,
            broadcast: None,
            tentative: false,
            duplicate: false,
        }
    }

    fn route(to: &str, gateway: Option<&str>) -> Route<u32> {
        Route {
            destination: to.parse().expect("a network"),
            gateway: gateway.map(|gateway| gateway.parse().expect("an address")),
            link: Some(2),
            source: None,
            table: 254,
            scope: Some(0),
            priority: None,
            mtu: None,
            advmss: None,
            protocol: Some(2),
            kind: RouteKind::Unicast,
            on_link: false,
            next_hops: Vec::new(),
        }
    }

    #[test]
    fn what_is_on_the_link_can_be_a_gateway() {
        let addresses = vec![address("10.1.0.2/24"), address("fd00::2/64")];
        let routes = [
            route("10.1.0.0/24", None),
            route("169.254.1.1/32", None),
            route("fd00::/64", None),
            route("10.9.0.0/16", Some("10.1.0.1")),
            route("0.0.0.0/0", None),
        ];
        let reach = Reach::new(addresses, &routes);
        let no_router = Some("is not the address of a router");
        let own = Some("is the interface's own address");
        let unreachable = Some("is not reachable on the link");
        for (gateway, fault) in [
            ("10.1.0.1", None),
            // As with a point-to-point plugin: an address says nothing of it, a route does.
            ("169.254.1.1", None),
            ("fd00::1", None),
            ("fe80::1", None),
            ("10.1.0.2", own),
            ("fd00::2", own),
            ("10.2.0.1", unreachable),
            ("fd01::1", unreachable),
            // Behind a gateway, and by the default route that goes.
            ("10.9.0.1", unreachable),
            ("0.0.0.0", no_router),
            ("::", no_router),
            ("127.0.0.1", no_router),
            ("224.0.0.1", no_router),
        ] {
            let gateway: IpAddr = gateway.parse().expect("an address");
            assert_eq!(reach.fault(gateway), fault, "{gateway}");
        }
        assert_eq!(reach.shown(), "10.1.0.2/24 and fd00::2/64");
        assert_eq!(Reach::new(Vec::new(), &[]).shown(), "no address");
    }
}
