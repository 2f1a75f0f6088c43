//! Capability `route`.

use ipnet::IpNet;
use weir_grant::Namespace::{Container, Host};
use weir_grant::address::Family;
use weir_grant::link::LinkFacts;
use weir_grant::route::{Add, Delete, Get, List, NextHop, Replace, Route, RouteKind};

use super::{Lab, address, lab};
use crate::Code;
type Found = Route<u32>;

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

/// A destination of each family, with two gateways.
const DESTINATIONS: [(&str, [&str; 2]); 2] = [
    ("192.0.2.0/24", ["10.0.0.8", "10.0.0.9"]),
    ("2001:db8::/32", ["fd00::8", "fd00::9"]),
];

fn to(destination: &str) -> Route {
    Route::unicast(net(destination))
}

/// `eth0` in the container with an address of each family.
fn connected(lab: &mut Lab) -> LinkFacts {
    let (_, link) = lab.veth();
    for text in ["10.0.0.2/24", "fd00::2/64"] {
        lab.perform(address::new(&link, text)).unwrap();
    }
    link
}

fn add(lab: &mut Lab, route: Route) -> Result<(), crate::Error> {
    let namespace = Container;
    lab.perform(Add {
        namespace,
        route,
        overlap: None,
    })
}

fn everything() -> List {
    List {
        namespace: Container,
        family: None,
        destination: None,
        link: None,
        gateway: None,
        table: None,
    }
}

fn only(lab: &mut Lab, destination: &str) -> Found {
    let wanted = List {
        destination: Some(net(destination)),
        ..everything()
    };
    let mut found = lab.perform(wanted).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn a_route_has_all_it_was_asked_for() {
    lab(|lab| {
        let link = connected(lab);
        for (destination, gateway, source) in [
            ("192.0.2.0/24", "10.0.0.1", "10.0.0.2"),
            ("2001:db8::/32", "fd00::1", "fd00::2"),
            ("0.0.0.0/0", "10.0.0.1", "10.0.0.2"),
            ("::/0", "fd00::1", "fd00::2"),
        ] {
            let wanted = Route {
                gateway: Some(gateway.parse().unwrap()),
                link: Some(link.clone()),
                source: Some(source.parse().unwrap()),
                priority: Some(77),
                mtu: Some(1400),
                advmss: Some(1300),
                protocol: Some(4),
                ..to(destination)
            };
            add(lab, wanted.clone()).unwrap();
            let error = add(lab, wanted).unwrap_err();
            assert_eq!(error.code, Code::Exists, "{error}");
            let found = only(lab, destination);
            assert_eq!(found.gateway, Some(gateway.parse().unwrap()));
            assert_eq!(found.link, Some(link.index));
            assert_eq!(found.source, Some(source.parse().unwrap()));
            assert_eq!((found.table, found.priority), (254, Some(77)));
            assert_eq!((found.mtu, found.advmss), (Some(1400), Some(1300)));
            assert_eq!((found.protocol, found.scope), (Some(4), Some(0)));
            assert_eq!(found.kind, RouteKind::Unicast);
        }
        let shown = lab.show(Container, &["route", "show", "192.0.2.0/24"]);
        assert_eq!(shown["gateway"], "10.0.0.1");
        assert_eq!(shown["metric"], 77);
        assert_eq!(shown["protocol"], "static");
        assert_eq!(shown["metrics"][0]["mtu"], 1400);
        assert_eq!(shown["metrics"][0]["advmss"], 1300);
    });
}

/// Each attachment of a container may have a route to the same destination.
#[test]
fn a_container_may_have_several_routes_to_one_destination() {
    lab(|lab| {
        let link = connected(lab);
        for (destination, gateways) in DESTINATIONS {
            let via = |gateway: &str| Route {
                gateway: Some(gateway.parse().unwrap()),
                link: Some(link.clone()),
                ..to(destination)
            };
            let [first, second] = gateways.map(via);
            add(lab, first.clone()).unwrap();
            add(lab, second.clone()).unwrap();
            assert_eq!(add(lab, second.clone()).unwrap_err().code, Code::Exists);
            let wanted = List {
                destination: Some(net(destination)),
                ..everything()
            };
            let found = lab.perform(wanted).unwrap();
            let mut by = Vec::new();
            for route in &found {
                by.extend(route.gateway);
                by.extend(route.next_hops.iter().filter_map(|hop| hop.gateway));
            }
            let expected: [std::net::IpAddr; 2] = match net(destination) {
                // The later one is the one that the kernel takes.
                IpNet::V4(_) => [gateways[1].parse().unwrap(), gateways[0].parse().unwrap()],
                IpNet::V6(_) => gateways.map(|gateway| gateway.parse().unwrap()),
            };
            assert_eq!(by, expected);
            // Removing one leaves the other.
            let namespace = Container;
            let route = second;
            lab.perform(Delete { namespace, route }).unwrap();
            assert_eq!(only(lab, destination).gateway, first.gateway);
        }
    });
}

#[test]
fn scope_and_protocol_have_defaults() {
    lab(|lab| {
        let link = Some(connected(lab));
        let direct = Route {
            link: link.clone(),
            ..to("192.0.2.0/24")
        };
        add(lab, direct).unwrap();
        let found = only(lab, "192.0.2.0/24");
        assert_eq!((found.scope, found.protocol), (Some(253), Some(3)));
        let over = Route {
            gateway: Some("10.0.0.1".parse().unwrap()),
            ..to("198.51.100.0/24")
        };
        add(lab, over).unwrap();
        let found = only(lab, "198.51.100.0/24");
        assert_eq!((found.scope, found.link), (Some(0), link.map(|l| l.index)));
    });
}

#[test]
fn a_gateway_may_be_on_the_link_without_a_subnet() {
    lab(|lab| {
        let link = connected(lab);
        for (destination, gateway) in [
            ("192.0.2.0/24", "169.254.1.1"),
            ("2001:db8::/32", "fe80::1"),
            ("198.51.100.0/24", "fe80::1"),
        ] {
            let wanted = |on_link| Route {
                gateway: Some(gateway.parse().unwrap()),
                link: Some(link.clone()),
                on_link,
                ..to(destination)
            };
            if gateway.starts_with("169") {
                let error = add(lab, wanted(false)).unwrap_err();
                assert_eq!(error.code, Code::Invalid);
                assert!(
                    error.message.contains("Nexthop has invalid gateway"),
                    "{error}"
                );
            }
            add(lab, wanted(true)).unwrap();
            let found = only(lab, destination);
            assert_eq!(found.gateway, Some(gateway.parse().unwrap()));
            assert!(found.on_link);
        }
    });
}

#[test]
fn routes_of_all_kinds_and_tables() {
    lab(|lab| {
        connected(lab);
        for (kind, destination) in [
            (RouteKind::Blackhole, "192.0.2.0/28"),
            (RouteKind::Unreachable, "192.0.2.16/28"),
            (RouteKind::Prohibit, "2001:db8::/64"),
            (RouteKind::Throw, "192.0.2.48/28"),
        ] {
            let wanted = Route {
                kind,
                table: 70_000,
                ..to(destination)
            };
            add(lab, wanted).unwrap();
            let found = only(lab, destination);
            assert_eq!((found.kind, found.table), (kind, 70_000));
        }
        let local = Route {
            kind: RouteKind::Local,
            link: Some(lab.facts(Container, "lo")),
            table: 255,
            ..to("192.0.2.64/28")
        };
        add(lab, local).unwrap();
        let wanted = List {
            table: Some(70_000),
            ..everything()
        };
        assert_eq!(lab.perform(wanted).unwrap().len(), 4);
        let wanted = List {
            table: Some(80_000),
            ..everything()
        };
        assert!(lab.perform(wanted).unwrap().is_empty());
    });
}

#[test]
fn several_next_hops() {
    lab(|lab| {
        let link = connected(lab);
        for (destination, gateways) in DESTINATIONS {
            let hop = |gateway: &str, weight| NextHop {
                gateway: Some(gateway.parse().unwrap()),
                link: Some(link.clone()),
                weight,
                on_link: false,
            };
            let wanted = Route {
                next_hops: vec![hop(gateways[0], 1), hop(gateways[1], 256)],
                ..to(destination)
            };
            add(lab, wanted).unwrap();
            let found = only(lab, destination);
            let hops: Vec<_> = found.next_hops.iter().map(|h| (h.weight, h.link)).collect();
            assert_eq!(hops, [(1, Some(link.index)), (256, Some(link.index))]);
            assert_eq!(
                found.next_hops[1].gateway,
                Some(gateways[1].parse().unwrap())
            );
            let through = List {
                gateway: Some(gateways[0].parse().unwrap()),
                link: Some(link.clone()),
                ..everything()
            };
            assert_eq!(lab.perform(through).unwrap().len(), 1);
        }
    });
}

#[test]
fn replace_takes_the_place_of_its_like() {
    lab(|lab| {
        connected(lab);
        for gateway in ["10.0.0.1", "10.0.0.9"] {
            let route = Route {
                gateway: Some(gateway.parse().unwrap()),
                ..to("192.0.2.0/24")
            };
            let namespace = Container;
            lab.perform(Replace {
                namespace,
                route,
                overlap: None,
            })
            .unwrap();
            let found = only(lab, "192.0.2.0/24");
            assert_eq!(found.gateway, Some(gateway.parse().unwrap()));
        }
    });
}

#[test]
fn delete_removes_what_matches() {
    lab(|lab| {
        connected(lab);
        for (destination, gateway) in [("192.0.2.0/24", "10.0.0.1"), ("2001:db8::/32", "fd00::1")] {
            let route = Route {
                gateway: Some(gateway.parse().unwrap()),
                protocol: Some(4),
                priority: Some(5),
                ..to(destination)
            };
            add(lab, route).unwrap();
            let namespace = Container;
            let wrong = Route {
                gateway: Some("10.0.0.77".parse().unwrap()),
                ..to("192.0.2.0/24")
            };
            let delete = |route| Delete { namespace, route };
            let error = lab.perform(delete(wrong)).unwrap_err();
            assert_eq!(error.code, Code::NotFound, "{error}");
            lab.perform(delete(to(destination))).unwrap();
            let error = lab.perform(delete(to(destination))).unwrap_err();
            assert_eq!(error.code, Code::NotFound, "{error}");
        }
    });
}

#[test]
fn list_filters_by_family_and_link() {
    lab(|lab| {
        let link = connected(lab);
        let v4 = List {
            family: Some(Family::Ipv4),
            link: Some(link.clone()),
            ..everything()
        };
        let found = lab.perform(v4).unwrap();
        assert!(!found.is_empty());
        assert!(
            found
                .iter()
                .all(|r| r.destination.addr().is_ipv4() && r.link == Some(link.index))
        );
        let host = List {
            namespace: Host,
            ..everything()
        };
        let found = lab.perform(host).unwrap();
        assert!(
            !found.is_empty() && found.iter().all(|r| r.table == 254),
            "{found:?}"
        );
    });
}

#[test]
fn get_is_the_kernels_own_choice() {
    lab(|lab| {
        let link = connected(lab);
        for (address, source) in [("10.0.0.99", "10.0.0.2"), ("fd00::99", "fd00::2")] {
            let get = Get {
                namespace: Container,
                to: address.parse().unwrap(),
            };
            let found = lab.perform(get).unwrap();
            assert_eq!(found.link, Some(link.index));
            assert_eq!(found.source, Some(source.parse().unwrap()));
            assert_eq!(found.table, 254);
            assert_eq!(
                found.destination.addr(),
                address.parse::<std::net::IpAddr>().unwrap()
            );
        }
        for address in ["203.0.113.1", "2001:db8::1"] {
            let get = Get {
                namespace: Container,
                to: address.parse().unwrap(),
            };
            let error = lab.perform(get).unwrap_err();
            assert_eq!(error.code, Code::NotFound, "{error}");
        }
    });
}

#[test]
fn impossible_routes_are_invalid() {
    lab(|lab| {
        let link = connected(lab);
        let bits = to("192.0.2.1/24");
        let mixed = Route {
            gateway: Some("10.0.0.1".parse().unwrap()),
            ..to("2001:db8::/32")
        };
        let hop = NextHop {
            gateway: Some("10.0.0.1".parse().unwrap()),
            link: None,
            weight: 0,
            on_link: false,
        };
        let weight = Route {
            next_hops: vec![hop.clone()],
            ..to("192.0.2.0/24")
        };
        let both = Route {
            link: Some(link),
            next_hops: vec![NextHop { weight: 1, ..hop }],
            ..to("192.0.2.0/24")
        };
        let elsewhere = Route {
            link: Some(lab.facts(Host, "host0")),
            ..to("192.0.2.0/24")
        };
        for (route, reason) in [
            (bits, "expected 192.0.2.0/24"),
            (mixed, "cannot be reached over IPv4"),
            (weight, "expected 1 to 256"),
            (both, "no gateway and no link of its own"),
            (elsewhere, "`host0` in host"),
        ] {
            let error = add(lab, route).unwrap_err();
            assert_eq!(error.code, Code::Invalid);
            assert!(error.message.contains(reason), "{error}");
        }
    });
}

/// Without a link that a default route goes through, its ports, or what is under it, the host is off the network.
#[test]
fn the_links_that_a_default_route_needs_are_known() {
    use weir_grant::Namespace;

    use crate::Facts as _;

    lab(|lab| {
        let carries = |lab: &mut Lab, name: &str| {
            let link = lab.facts(Namespace::Host, name);
            lab.linux.carries_default_route(&link).unwrap()
        };
        for words in [
            "link add nic0 type veth peer name far0",
            "link add nic1 type veth peer name far1",
            "link add nic2 type veth peer name far2",
            "link add mac2 link nic2 type macvlan",
            "link add br0 type bridge",
            "link set nic0 master br0",
            "link set br0 up",
            "link set nic1 up",
            "link set far1 up",
            "link set nic2 up",
            "link set mac2 up",
        ] {
            lab.ip(Namespace::Host, &words.split(' ').collect::<Vec<_>>());
        }
        for name in ["nic0", "nic1", "nic2", "br0"] {
            assert!(!carries(lab, name), "{name}");
        }
        for (words, needed) in [
            ("route add default dev br0", &["br0", "nic0"][..]),
            ("-6 route add default dev nic1", &["nic1"]),
            ("route add default dev mac2 metric 7", &["mac2", "nic2"]),
        ] {
            lab.ip(Namespace::Host, &words.split(' ').collect::<Vec<_>>());
            for name in needed {
                assert!(carries(lab, name), "{words}: {name}");
            }
        }
        lab.ip(Namespace::Host, &["route", "del", "default", "dev", "br0"]);
        assert!(!carries(lab, "nic0") && !carries(lab, "br0"));
        // One to everything in a table that packets rarely look up is not the node's.
        lab.ip(
            Namespace::Host,
            &["route", "add", "default", "dev", "br0", "table", "77"],
        );
        assert!(!carries(lab, "nic0"));
    });
}
