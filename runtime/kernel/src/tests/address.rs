//! Capability `address`.

use std::net::IpAddr;

use ipnet::IpNet;
use weir_grant::Namespace::{Container, Host};
use weir_grant::address::{Add, Delete, Family, List, Settle};
use weir_grant::link::LinkFacts;

use super::{Lab, lab};
use crate::Code;
use weir_grant::address::Address;

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

/// An address that is used at once, without a search for duplicates.
pub(super) fn new(link: &LinkFacts, address: &str) -> Add {
    Add {
        overlap: None,
        link: link.clone(),
        address: net(address),
        peer: None,
        broadcast: None,
        no_duplicate_detection: true,
        no_prefix_route: false,
    }
}

fn list(lab: &mut Lab, link: &LinkFacts, family: Option<Family>) -> Vec<Address> {
    let wanted = List {
        link: link.clone(),
        family,
    };
    lab.perform(wanted).unwrap()
}

#[test]
fn addresses_are_added_listed_and_removed() {
    lab(|lab| {
        let (host, eth0) = lab.veth();
        lab.perform(new(&eth0, "10.1.2.3/24")).unwrap();
        lab.perform(new(&eth0, "fd00::3/64")).unwrap();
        let v4 = list(lab, &eth0, Some(Family::Ipv4));
        let expected = Address {
            address: net("10.1.2.3/24"),
            peer: None,
            broadcast: None,
            tentative: false,
            duplicate: false,
        };
        assert_eq!(v4, [expected]);
        let all = list(lab, &eth0, None);
        let mut ours = all.iter().filter(|a| a.address == net("fd00::3/64"));
        assert!(!ours.next().unwrap().tentative);
        assert!(all.iter().any(|a| a.address == net("10.1.2.3/24")));
        assert!(list(lab, &host, Some(Family::Ipv4)).is_empty());

        let shown = lab.show(Container, &["-4", "addr", "show", "eth0"]);
        assert_eq!(shown["addr_info"][0]["local"], "10.1.2.3");
        assert_eq!(shown["addr_info"][0]["prefixlen"], 24);
        assert_eq!(shown["addr_info"][0]["scope"], "global");
        assert!(shown["addr_info"][0].get("broadcast").is_none());

        for text in ["10.1.2.3/24", "fd00::3/64"] {
            let error = lab.perform(new(&eth0, text)).unwrap_err();
            assert_eq!(error.code, Code::Exists, "{error}");
        }
        for text in ["10.1.2.3/24", "fd00::3/64"] {
            let gone = || Delete {
                link: eth0.clone(),
                address: net(text),
            };
            lab.perform(gone()).unwrap();
            let error = lab.perform(gone()).unwrap_err();
            assert_eq!(error.code, Code::NotFound, "{error}");
        }
        assert!(list(lab, &eth0, Some(Family::Ipv4)).is_empty());
    });
}

#[test]
fn only_the_very_address_is_removed() {
    lab(|lab| {
        let (host, _) = lab.veth();
        lab.perform(new(&host, "10.1.2.3/24")).unwrap();
        let wrong = Delete {
            link: host.clone(),
            address: net("10.1.2.3/16"),
        };
        let error = lab.perform(wrong).unwrap_err();
        assert_eq!(error.code, Code::NotFound);
        assert_eq!(list(lab, &host, Some(Family::Ipv4)).len(), 1);
    });
}

#[test]
fn an_address_may_have_a_peer_and_a_broadcast_address() {
    lab(|lab| {
        let (host, _) = lab.veth();
        for (text, peer) in [("10.0.0.1/32", "10.0.0.2"), ("fd00::1/128", "fd00::2")] {
            let peer: IpAddr = peer.parse().unwrap();
            let wanted = Add {
                peer: Some(peer),
                ..new(&host, text)
            };
            lab.perform(wanted).unwrap();
            let found = list(lab, &host, None);
            let found = found.iter().find(|a| a.address == net(text)).expect(text);
            assert_eq!(found.peer, Some(peer));
            let gone = Delete {
                link: host.clone(),
                address: net(text),
            };
            lab.perform(gone).unwrap();
        }
        let broadcast: IpAddr = "10.9.0.255".parse().unwrap();
        let wanted = Add {
            broadcast: Some(broadcast),
            no_prefix_route: true,
            ..new(&host, "10.9.0.1/24")
        };
        lab.perform(wanted).unwrap();
        assert_eq!(
            list(lab, &host, Some(Family::Ipv4))[0].broadcast,
            Some(broadcast)
        );
        assert!(
            lab.show_all(Host, &["-4", "route", "show", "table", "main"])
                .is_empty()
        );
    });
}

#[test]
fn impossible_addresses_are_invalid() {
    lab(|lab| {
        let (host, _) = lab.veth();
        let mixed = Add {
            peer: Some("fd00::1".parse().unwrap()),
            ..new(&host, "10.0.0.1/32")
        };
        let broadcast = Add {
            broadcast: Some("10.0.0.255".parse().unwrap()),
            ..new(&host, "fd00::1/64")
        };
        for wanted in [mixed, broadcast] {
            let error = lab.perform(wanted).unwrap_err();
            assert_eq!(error.code, Code::Invalid, "{error}");
        }
    });
}

#[test]
fn settle_waits_for_duplicate_address_detection() {
    lab(|lab| {
        let (_, eth0) = lab.veth();
        let tentative = Add {
            no_duplicate_detection: false,
            ..new(&eth0, "fd00::5/64")
        };
        lab.perform(tentative).unwrap();
        assert!(
            list(lab, &eth0, Some(Family::Ipv6))
                .iter()
                .any(|a| a.tentative)
        );
        let settle = |timeout_ms| Settle {
            link: eth0.clone(),
            timeout_ms,
        };
        let error = lab.perform(settle(1)).unwrap_err();
        assert_eq!(error.code, Code::TimedOut);
        assert!(
            error.message.contains("is still tentative after 1 ms"),
            "{error}"
        );
        lab.perform(settle(20_000)).unwrap();
        assert!(
            !list(lab, &eth0, Some(Family::Ipv6))
                .iter()
                .any(|a| a.tentative)
        );
    });
}

#[test]
fn settle_names_a_duplicate() {
    lab(|lab| {
        let (host, eth0) = lab.veth();
        lab.perform(new(&host, "fd00::5/64")).unwrap();
        let settle = |link: &LinkFacts| Settle {
            link: link.clone(),
            timeout_ms: 20_000,
        };
        lab.perform(settle(&host)).unwrap();
        let twin = Add {
            no_duplicate_detection: false,
            ..new(&eth0, "fd00::5/64")
        };
        lab.perform(twin).unwrap();
        let error = lab.perform(settle(&eth0)).unwrap_err();
        assert_eq!(error.code, Code::Exists);
        assert!(error.message.contains("has fd00::5"), "{error}");
    });
}
