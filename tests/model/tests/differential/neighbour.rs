//! Capability `neighbour`.

use weir_grant::link::{LinkFacts, Mac, Update};
use weir_grant::neighbour::{Add, Delete, State};

use crate::link::{nothing_of, pair};
use crate::side::compare;

fn entry(link: &LinkFacts, address: &str, proxy: bool) -> Add {
    Add {
        link: link.clone(),
        address: address.parse().expect("an address"),
        mac: (!proxy).then(|| Mac(vec![2, 0, 0, 0, 0, 9])),
        state: State::Permanent,
        proxy,
    }
}

#[test]
fn entries_are_replaced_and_removed() {
    compare(|side| {
        let (_, eth0) = pair(side);
        for (address, proxy) in [("10.1.0.9", false), ("10.1.0.9", true), ("fd00::9", false)] {
            side.perform(entry(&eth0, address, proxy));
            side.perform(entry(&eth0, address, proxy));
        }
        side.show("with entries");
        for proxy in [None, None, None, Some(true)] {
            side.perform(Delete {
                link: eth0.clone(),
                address: [10, 1, 0, 9].into(),
                proxy,
            });
        }
    });
}

#[test]
fn entries_go_when_the_link_is_down() {
    compare(|side| {
        let (_, eth0) = pair(side);
        side.perform(entry(&eth0, "10.1.0.9", false));
        side.perform(Update {
            up: Some(false),
            ..nothing_of(&eth0)
        });
    });
}
