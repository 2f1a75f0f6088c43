//! Capability `address`.

use weir_grant::address::{Add, Delete, Settle};
use weir_grant::link::{LinkFacts, Update};

use crate::link::{nothing_of, pair};
use crate::side::{Side, compare};

/// Adds an address without duplicate address detection.
pub(crate) fn add(side: &mut Side, link: &LinkFacts, address: &str) {
    side.perform(of(link, address));
}

fn of(link: &LinkFacts, address: &str) -> Add {
    Add {
        link: link.clone(),
        address: address.parse().expect("an address"),
        peer: None,
        broadcast: None,
        no_duplicate_detection: true,
        no_prefix_route: false,
        overlap: None,
    }
}

pub(crate) fn delete(side: &mut Side, link: &LinkFacts, address: &str) {
    side.perform(Delete {
        link: link.clone(),
        address: address.parse().expect("an address"),
    });
}

#[test]
fn an_address_brings_its_routes() {
    compare(|side| {
        let (_, eth0) = pair(side);
        for address in ["10.1.0.2/24", "10.2.0.2/32", "fd00::2/64", "fd01::2/128"] {
            add(side, &eth0, address);
            add(side, &eth0, address);
        }
        side.perform(Settle {
            link: eth0.clone(),
            timeout_ms: 20_000,
        });
        side.show("with addresses");
        for address in ["10.1.0.2/25", "10.1.0.2/24", "fd00::2/64", "fd00::2/64"] {
            delete(side, &eth0, address);
        }
    });
}

#[test]
fn further_addresses_of_a_network_go_with_the_first() {
    compare(|side| {
        let (_, eth0) = pair(side);
        for address in [
            "10.1.0.2/24",
            "10.1.0.3/24",
            "10.1.0.3/16",
            "fd00::2/64",
            "fd00::3/64",
        ] {
            add(side, &eth0, address);
        }
        add(side, &eth0, "fd00::3/80");
        side.show("with addresses");
        delete(side, &eth0, "10.1.0.2/24");
        delete(side, &eth0, "fd00::2/64");
    });
}

#[test]
fn what_a_link_loses_when_it_is_down() {
    compare(|side| {
        let (_, eth0) = pair(side);
        add(side, &eth0, "10.1.0.2/24");
        add(side, &eth0, "fd00::2/64");
        for up in [false, true] {
            side.perform(Update {
                up: Some(up),
                ..nothing_of(&eth0)
            });
            side.show("then");
        }
    });
}

#[test]
fn point_to_point_addresses_and_malformed_ones() {
    compare(|side| {
        let (host, eth0) = pair(side);
        side.perform(Add {
            peer: Some([10, 9, 0, 1].into()),
            ..of(&eth0, "10.1.0.2/32")
        });
        side.perform(Add {
            no_prefix_route: true,
            ..of(&eth0, "10.3.0.2/24")
        });
        side.perform(Add {
            broadcast: Some([10, 1, 0, 255].into()),
            ..of(&host, "fd00::2/64")
        });
        side.perform(Add {
            peer: Some([10, 9, 0, 1].into()),
            ..of(&host, "fd00::2/64")
        });
        side.show("with addresses");
        delete(side, &eth0, "10.1.0.2/32");
    });
}
