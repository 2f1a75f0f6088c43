//! Capability `neighbour`.

use std::net::IpAddr;

use weir_grant::Namespace::{Container, Host};
use weir_grant::address::{Add as AddAddress, Family};
use weir_grant::link::{LinkFacts, Mac};
use weir_grant::neighbour::{Add, Announce, Delete, List, State};
use weir_kit::ear::{ARP, Ear, IPV6};

use super::{Lab, address, lab};
use crate::Code;
use weir_grant::neighbour::Neighbour;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn list(lab: &mut Lab, link: &LinkFacts, family: Option<Family>) -> Vec<Neighbour> {
    let wanted = List {
        link: link.clone(),
        family,
    };
    let mut found = lab.perform(wanted).unwrap();
    // The kernel's own entries for multicast groups.
    found.retain(|entry| entry.state != State::Noarp);
    found
}

#[test]
fn entries_are_added_replaced_listed_and_removed() {
    lab(|lab| {
        let (host, eth0) = lab.veth();
        for address in ["10.0.0.9", "fd00::9"] {
            for (last, state) in [(1, State::Permanent), (2, State::Reachable)] {
                let mac = Mac(vec![2, 0, 0, 0, 0, last]);
                let wanted = Add {
                    link: eth0.clone(),
                    address: ip(address),
                    mac: Some(mac.clone()),
                    state,
                    proxy: false,
                };
                lab.perform(wanted).unwrap();
                let family = Family::of(&ip(address));
                let expected = Neighbour {
                    address: ip(address),
                    mac: Some(mac),
                    state,
                    proxy: false,
                };
                assert_eq!(list(lab, &eth0, Some(family)), [expected]);
            }
        }
        assert_eq!(list(lab, &eth0, None).len(), 2);
        assert!(list(lab, &host, None).is_empty());
        let shown = lab.show(Container, &["neigh", "show", "10.0.0.9", "dev", "eth0"]);
        assert_eq!(shown["lladdr"], "02:00:00:00:00:02");
        for address in ["10.0.0.9", "fd00::9"] {
            let gone = || Delete {
                link: eth0.clone(),
                address: ip(address),
                proxy: None,
            };
            lab.perform(gone()).unwrap();
            let error = lab.perform(gone()).unwrap_err();
            assert_eq!(error.code, Code::NotFound, "{error}");
        }
    });
}

fn new(link: &LinkFacts, address: &str, proxy: bool) -> Add {
    Add {
        link: link.clone(),
        address: ip(address),
        mac: (!proxy).then(|| Mac(vec![2, 0, 0, 0, 0, 1])),
        state: State::Permanent,
        proxy,
    }
}

#[test]
fn proxy_entries_are_entries_as_well() {
    lab(|lab| {
        let (host, _) = lab.veth();
        for address in ["10.0.0.9", "fd00::9"] {
            lab.perform(new(&host, address, true)).unwrap();
            let found = list(lab, &host, Some(Family::of(&ip(address))));
            assert!(found.len() == 1 && found[0].proxy, "{found:?}");
            let gone = Delete {
                link: host.clone(),
                address: ip(address),
                proxy: None,
            };
            lab.perform(gone).unwrap();
        }
        assert!(list(lab, &host, None).is_empty());
    });
}

/// An address can have an entry of both kinds; one is removed by itself where that is asked for.
#[test]
fn an_entry_and_a_proxy_entry_of_one_address_are_two() {
    lab(|lab| {
        let (host, _) = lab.veth();
        for address in ["10.0.0.9", "fd00::9"] {
            for proxy in [false, true] {
                let before = lab.log.noted();
                lab.perform(new(&host, address, proxy)).unwrap();
                assert_eq!(lab.log.noted(), before + 1, "{address}: it is new");
                lab.perform(new(&host, address, proxy)).unwrap();
                assert_eq!(lab.log.noted(), before + 1, "{address}: it was there");
            }
            for proxy in [true, false] {
                let gone = || Delete {
                    link: host.clone(),
                    address: ip(address),
                    proxy: Some(proxy),
                };
                lab.perform(gone()).unwrap();
                let left = list(lab, &host, Some(Family::of(&ip(address))));
                assert!(left.iter().all(|entry| entry.proxy != proxy), "{left:?}");
                assert_eq!(left.len(), usize::from(proxy), "{left:?}");
                let error = lab.perform(gone()).unwrap_err();
                assert_eq!(error.code, Code::NotFound, "{error}");
            }
        }
    });
}

/// What the kernel has learned belongs to no plugin: it learns it again.
#[test]
fn an_entry_that_the_kernel_learned_is_replaced_by_a_new_one() {
    lab(|lab| {
        let (host, _) = lab.veth();
        for address in ["10.0.0.9", "fd00::9"] {
            let learned = Add {
                state: State::Reachable,
                ..new(&host, address, false)
            };
            let before = lab.log.noted();
            lab.perform(learned).unwrap();
            assert_eq!(lab.log.noted(), before + 1);
            let set = new(&host, address, false);
            lab.perform(set.clone()).unwrap();
            assert_eq!(lab.log.noted(), before + 2);
            lab.perform(set).unwrap();
            assert_eq!(lab.log.noted(), before + 2);
        }
    });
}

#[test]
fn announcements_are_heard_at_the_other_end() {
    lab(|lab| {
        let (_, eth0) = lab.veth();
        for text in ["10.0.0.2/24", "fd00::2/64"] {
            lab.perform(address::new(&eth0, text)).unwrap();
        }
        let shown = lab.show(Container, &["link", "show", "eth0"]);
        let mac: Vec<u8> = shown["address"]
            .as_str()
            .unwrap()
            .split(':')
            .map(|byte| u8::from_str_radix(byte, 16).unwrap())
            .collect();

        let ear = Ear::open().unwrap();
        let wanted = Announce {
            link: eth0.clone(),
            addresses: vec![ip("10.0.0.2"), ip("fd00::2")],
        };
        lab.perform(wanted).unwrap();

        // Hardware type 1, protocol IPv4, lengths 6 and 4, a request.
        let arp = ear.hear(ARP, 14, &[0, 1, 8, 0, 6, 4, 0, 1]).unwrap();
        assert_eq!(arp[..6], [0xff; 6]);
        assert_eq!(arp[6..12], mac);
        assert_eq!(arp[22..28], mac);
        assert_eq!(arp[28..32], [10, 0, 0, 2]);
        assert_eq!(arp[32..38], [0; 6]);
        assert_eq!(arp[38..42], [10, 0, 0, 2]);

        let na = ear.hear(IPV6, 54, &[136, 0]).unwrap();
        let address = "fd00::2".parse::<std::net::Ipv6Addr>().unwrap().octets();
        let all_nodes = "ff02::1".parse::<std::net::Ipv6Addr>().unwrap().octets();
        assert_eq!(na[21], 255, "hop limit");
        assert_eq!(na[22..38], address);
        assert_eq!(na[38..54], all_nodes);
        assert_ne!(na[56..58], [0, 0], "checksum");
        assert_eq!(na[58], 0x20, "override, and no router");
        assert_eq!(na[62..78], address);
        assert_eq!(na[78..80], [2, 1]);
        assert_eq!(na[80..86], mac);
    });
}

#[test]
fn only_the_links_own_addresses_are_announced() {
    lab(|lab| {
        let (host, _) = lab.veth();
        let wanted = |address| Announce {
            link: host.clone(),
            addresses: vec![address],
        };
        for address in ["10.0.0.2", "fd00::2"] {
            let error = lab.perform(wanted(ip(address))).unwrap_err();
            assert_eq!(error.code, Code::Invalid);
            assert!(
                error
                    .message
                    .contains(&format!("{address} is not an address")),
                "{error}"
            );
        }
        let tentative = AddAddress {
            no_duplicate_detection: false,
            ..address::new(&host, "fd00::2/64")
        };
        lab.perform(tentative).unwrap();
        let error = lab.perform(wanted(ip("fd00::2"))).unwrap_err();
        assert_eq!(error.code, Code::Busy);
        assert!(
            error.message.contains("duplicate address detection"),
            "{error}"
        );
        assert_eq!(host.namespace, Host);
    });
}
