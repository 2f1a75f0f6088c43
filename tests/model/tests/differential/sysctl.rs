//! Capability `sysctl`.

use weir_grant::Namespace::{self, Container, Host};
use weir_grant::link::Update;
use weir_grant::sysctl::{Read, Write};

use crate::link::{nothing_of, pair};
use crate::side::{BOTH, Side, compare};

const KEYS: [&str; 5] = [
    "net.ipv4.ip_forward",
    "net.ipv4.conf.all.forwarding",
    "net.ipv4.conf.eth0.forwarding",
    "net.ipv6.conf.all.forwarding",
    "net.ipv6.conf.eth0.disable_ipv6",
];

pub(crate) fn write(side: &mut Side, namespace: Namespace, key: &str, value: &str) {
    side.perform(Write {
        namespace,
        key: key.to_owned(),
        value: value.to_owned(),
        owner: String::new(),
    });
}

fn read_all(side: &mut Side) {
    for namespace in BOTH {
        for key in KEYS {
            let key = key.to_owned();
            side.answer(Read { namespace, key });
        }
    }
}

#[test]
fn what_follows_from_a_parameter() {
    compare(|side| {
        pair(side);
        for namespace in BOTH {
            for key in ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"] {
                write(side, namespace, key, "0");
                write(side, namespace, key, "1");
            }
        }
        read_all(side);
    });
}

#[test]
fn what_cannot_be_written_or_read() {
    compare(|side| {
        pair(side);
        for key in [
            "net.ipv4.nothing",
            "net.ipv4",
            "kernel.pid_max",
            "net.ipv4.conf.eth9.rp_filter",
        ] {
            write(side, Container, key, "1");
            side.perform(Read {
                namespace: Host,
                key: key.to_owned(),
            });
        }
        write(side, Container, "net.ipv4.ip_forward", "yes");
        write(side, Container, "net.ipv4.ip_forward", "1\n2");
    });
}

#[test]
fn the_parameters_of_a_link_follow_its_name() {
    compare(|side| {
        let (_, eth0) = pair(side);
        write(side, Container, "net.ipv4.conf.eth0.arp_notify", "1");
        side.perform(Update {
            name: Some("net.1".to_owned()),
            ..nothing_of(&eth0)
        });
        for key in [
            "net.ipv4.conf.eth0.arp_notify",
            "net.ipv4.conf.net/1.arp_notify",
        ] {
            side.answer(Read {
                namespace: Container,
                key: key.to_owned(),
            });
        }
    });
}

#[test]
fn addresses_go_with_ipv6() {
    compare(|side| {
        let (_, eth0) = pair(side);
        crate::address::add(side, &eth0, "fd00::2/64");
        write(side, Container, "net.ipv6.conf.eth0.disable_ipv6", "1");
        side.show("without IPv6");
        crate::address::add(side, &eth0, "fd00::3/64");
    });
}
