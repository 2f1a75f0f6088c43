//! Random operations, with values for each of their fields.

use super::field::{Field, Kind};
use super::table::OPERATIONS;
use super::{Known, named};
use crate::Capability;
use crate::chance::{Chance, one_of};
use crate::query::Query;

/// An operation of a capability; none where the fields that were chosen do not go together.
pub fn operation(chance: &mut dyn Chance, capability: Capability) -> Option<Box<dyn Query>> {
    let is_own = |known: &&Known| known.name.split('.').next() == Some(capability.word());
    let known: Vec<&Known> = OPERATIONS.iter().filter(is_own).collect();
    let known = known.get(chance.below(known.len()))?;
    let mut given = Vec::new();
    for field in known.fields {
        if field.required || chance.below(2) == 0 {
            given.push((field.name.to_owned(), value(chance, field)));
        }
    }
    named(known.asked_as, &given).ok()
}

fn value(chance: &mut dyn Chance, field: &Field) -> String {
    let words: &[&str] = match field.kind {
        Kind::OneOf(words) => words,
        Kind::Number => &["53", "100", "254", "2048", "30001"],
        Kind::Flag => &["true", "false"],
        Kind::Address => &[
            "10.1.2.3",
            "10.9.0.1",
            "192.0.2.1",
            "fd00::1",
            "::ffff:10.0.0.1",
        ],
        Kind::Network => &["10.1.2.3/16", "10.1.2.3/32", "0.0.0.0/0", "fd00::1/64"],
        Kind::List => list(field.name),
        Kind::Text => text(field.name),
    };
    one_of(chance, words).to_owned()
}

fn list(name: &str) -> &'static [&'static str] {
    match name {
        "hooks" => &["input", "forward", "input,postrouting"],
        "statements" => &["accept", "drop", "drop,masquerade", "dnat"],
        "addresses" => &["10.1.2.3", "10.1.2.3,fd00::1"],
        _ => &["a", "a,b"],
    }
}

/// Texts by the last part of a field's name: `kind` of `peer.kind`.
fn text(name: &str) -> &'static [&'static str] {
    match name.rsplit('.').next().unwrap_or(name) {
        "kind" => &["veth", "bridge", "ifb", "dummy", "physical"],
        "key" => &[
            "net.ipv4.ip_forward",
            "net.ipv4.conf.eth0.forwarding",
            "net.ipv4.conf.eth0/1.x",
        ],
        "value" => &["0", "1", "2"],
        "owner" => &["blue c1 eth0", "blue c2 eth0", "red c3 eth1"],
        "directory" | "shared-directory" => &["/var/lib/cni", "/run/cni/x/y", "/srv"],
        "path" => &["/etc/resolv.conf", "/etc/hosts", "/etc/shadow"],
        "plugin" => &["host-local", "static", "dhcp", "bridge"],
        "protocol" => &["tcp", "udp", "sctp"],
        "discipline" => &["tbf", "htb", "ingress", "clsact"],
        "access" => &["read", "write"],
        "address" => &["0000:03:00.1", "0000:00:1f.6"],
        "table" => &["100", "254"],
        "zone" => &["trusted", "public"],
        _ => &["eth0", "veth1", "cni0", "eth0.1", "trusted"],
    }
}
