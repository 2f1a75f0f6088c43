//! Random sequences of operations, from fixed seeds.

use weir_grant::Namespace::Container;
use weir_grant::link::{LinkFacts, Update};
use weir_grant::route::{Delete, Route};

use crate::side::{Side, compare};
use crate::{address, link, route, sysctl};

/// xorshift64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed << 32 | 0x9e37_79b9)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

const ADDRESSES: [&str; 6] = [
    "10.1.0.2/24",
    "10.1.0.3/24",
    "10.2.0.2/16",
    "10.3.0.2/32",
    "fd00::2/64",
    "fd01::2/128",
];
const DESTINATIONS: [&str; 4] = ["0.0.0.0/0", "10.5.0.0/16", "10.5.1.0/24", "fd05::/64"];
const GATEWAYS: [&str; 3] = ["10.1.0.1", "10.2.0.1", "10.9.0.1"];

fn step(side: &mut Side, random: &mut Random, eth0: &LinkFacts) {
    match random.below(8) {
        0 | 1 => address::add(side, eth0, random.of(&ADDRESSES)),
        2 => address::delete(side, eth0, random.of(&ADDRESSES)),
        3 => route::add(side, Container, route::over(eth0, random.of(&DESTINATIONS))),
        4 => route::add(side, Container, by_gateway(random)),
        5 => {
            let route = route::to(random.of(&DESTINATIONS));
            let namespace = Container;
            side.perform(Delete { namespace, route });
        }
        6 => {
            side.perform(Update {
                up: Some(random.below(3) > 0),
                ..link::nothing_of(eth0)
            });
        }
        _ => {
            let key = "net.ipv4.conf.eth0.forwarding";
            sysctl::write(side, Container, key, random.of(&["0", "1"]));
        }
    }
    side.show("then");
}

fn by_gateway(random: &mut Random) -> Route {
    Route {
        gateway: Some(random.of(&GATEWAYS).parse().expect("an address")),
        priority: random.of(&[None, Some(5)]),
        ..route::to(random.of(&DESTINATIONS[..3]))
    }
}

#[test]
fn any_sequence_of_operations_on_a_link() {
    for seed in 1..=8_u64 {
        compare(|side| {
            let mut random = Random::new(seed);
            let (_, eth0) = link::pair(side);
            for _ in 0..15 {
                step(side, &mut random, &eth0);
            }
        });
    }
}
