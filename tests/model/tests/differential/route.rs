//! Capability `route`.

use weir_grant::Namespace::{self, Container, Host};
use weir_grant::link::LinkFacts;
use weir_grant::route::{Add, Delete, Get, Replace, Route, RouteKind};

use crate::address::add as add_address;
use crate::link::pair;
use crate::side::{Side, compare};

pub(crate) fn to(destination: &str) -> Route {
    Route::unicast(destination.parse().expect("a network"))
}

fn by(gateway: &str, destination: &str) -> Route {
    Route {
        gateway: Some(gateway.parse().expect("an address")),
        ..to(destination)
    }
}

pub(crate) fn over(link: &LinkFacts, destination: &str) -> Route {
    Route {
        link: Some(link.clone()),
        ..to(destination)
    }
}

pub(crate) fn add(side: &mut Side, namespace: Namespace, route: Route) {
    side.perform(Add {
        namespace,
        route,
        overlap: None,
    });
}

fn replace(side: &mut Side, namespace: Namespace, route: Route) {
    side.perform(Replace {
        namespace,
        route,
        overlap: None,
    });
}

fn delete(side: &mut Side, namespace: Namespace, route: Route) {
    side.perform(Delete { namespace, route });
}

/// A pair with addresses at both ends.
fn connected(side: &mut Side) -> (LinkFacts, LinkFacts) {
    let (host, eth0) = pair(side);
    add_address(side, &host, "10.1.0.1/24");
    add_address(side, &eth0, "10.1.0.2/24");
    add_address(side, &eth0, "fd00::2/64");
    (host, eth0)
}

#[test]
fn a_route_leads_over_a_link_or_by_a_neighbour() {
    compare(|side| {
        let (host, eth0) = connected(side);
        add(side, Container, by("10.1.0.1", "0.0.0.0/0"));
        add(side, Container, by("10.1.0.1", "0.0.0.0/0"));
        add(side, Container, by("fd00::1", "::/0"));
        add(side, Container, over(&eth0, "10.5.0.0/16"));
        add(side, Container, by("10.77.0.1", "10.6.0.0/16"));
        add(side, Container, by("10.1.0.2", "10.6.0.0/16"));
        add(side, Container, to("10.7.0.0/16"));
        add(side, Container, to("10.7.0.1/16"));
        add(side, Container, over(&host, "10.8.0.0/16"));
        let on_link = Route {
            on_link: true,
            link: Some(eth0.clone()),
            ..by("169.254.1.1", "10.9.0.0/16")
        };
        add(side, Container, on_link);
        let of_table = Route {
            table: 100,
            ..over(&eth0, "10.9.0.0/16")
        };
        add(side, Container, of_table);
        for address in ["10.1.0.2", "10.1.0.9", "10.5.1.1", "192.0.2.1"] {
            let found = side.perform(Get {
                namespace: Container,
                to: address.parse().expect("an address"),
            });
            let found = found.map(|route| (route.destination, route.gateway, route.source));
            side.say(format!("{found:?}"));
        }
    });
}

#[test]
fn a_second_route_to_a_destination() {
    compare(|side| {
        let (host, eth0) = connected(side);
        for (namespace, link) in [(Host, &host), (Container, &eth0)] {
            let first = over(link, "10.5.0.0/16");
            let second = Route {
                mtu: Some(1300),
                ..first.clone()
            };
            let other = Route {
                priority: Some(7),
                ..first.clone()
            };
            for route in [&first, &second, &other, &second] {
                add(side, namespace, route.clone());
            }
            side.show("with routes");
            replace(side, namespace, second.clone());
            replace(side, namespace, over(link, "10.6.0.0/16"));
            delete(side, namespace, over(link, "10.5.0.0/16"));
            delete(side, namespace, by("10.1.0.7", "10.5.0.0/16"));
        }
    });
}

#[test]
fn routes_that_lead_nowhere() {
    compare(|side| {
        let (_, eth0) = connected(side);
        for kind in [
            RouteKind::Blackhole,
            RouteKind::Unreachable,
            RouteKind::Prohibit,
        ] {
            let nowhere = Route {
                kind,
                ..to("10.5.0.0/16")
            };
            add(side, Host, nowhere.clone());
            let over_link = Route {
                kind,
                ..over(&eth0, "10.5.0.0/16")
            };
            add(side, Container, over_link);
            delete(side, Host, nowhere);
        }
    });
}

#[test]
fn a_source_must_be_an_address_of_the_namespace() {
    compare(|side| {
        let (_, eth0) = connected(side);
        for source in [[10, 1, 0, 2], [10, 1, 0, 3]] {
            let route = Route {
                source: Some(source.into()),
                ..over(&eth0, "10.5.0.0/16")
            };
            add(side, Container, route);
        }
        side.show("with a source");
        crate::address::delete(side, &eth0, "10.1.0.2/24");
    });
}
