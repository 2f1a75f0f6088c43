//! Random rules and operations, from their descriptions: what property tests and fuzz targets try.

use weir_grant::Capability;
use weir_grant::field;
use weir_grant::operation_names::{self, Field, Kind, Known, by_name};
use weir_grant::query::Query;
use weir_grant::rule::RuleFields;

/// A source of random choices.
pub trait Chance {
    /// Chooses a number below `count`; 0 if `count` is 0.
    fn below(&mut self, count: usize) -> usize;
}

impl<F: FnMut(usize) -> usize> Chance for F {
    fn below(&mut self, count: usize) -> usize {
        self(count)
    }
}

/// Pseudo-random numbers: the same seed gives the same ones.
pub struct Seeded(u64);

impl Seeded {
    /// Starts with a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
}

impl Chance for Seeded {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % count.max(1)
    }
}

/// One of some words.
fn one_of<'w>(chance: &mut dyn Chance, words: &[&'w str]) -> &'w str {
    words
        .get(chance.below(words.len()))
        .copied()
        .unwrap_or_default()
}

/// Up to three rules of a capability.
pub fn rules(chance: &mut dyn Chance, capability: Capability) -> Vec<RuleFields> {
    let count = chance.below(4);
    (0..count).map(|_| rule(chance, capability)).collect()
}

fn rule(chance: &mut dyn Chance, capability: Capability) -> RuleFields {
    let mut rule = RuleFields::new(capability);
    let is_name = capability.description().is_some_and(|d| d.is_name);
    for field in rule.described() {
        if is_name || chance.below(2) == 0 {
            rule = rule.with(field.key, values(chance, field));
        }
    }
    rule
}

fn values(chance: &mut dyn Chance, field: &field::Field) -> Vec<&'static str> {
    let count = if field.is_list { chance.below(4) } else { 1 };
    (0..count).map(|_| one_of(chance, field.examples)).collect()
}

/// Operations of any type.
pub type Operations = Vec<Box<dyn Query>>;

/// Operations of a capability, as many as are asked for.
pub fn operations(chance: &mut dyn Chance, capability: Capability, count: usize) -> Operations {
    (0..count)
        .filter_map(|_| operation(chance, capability))
        .collect()
}

/// An operation of a capability; none where the fields that were chosen do not go together.
pub fn operation(chance: &mut dyn Chance, capability: Capability) -> Option<Box<dyn Query>> {
    let (known, given) = named(chance, capability)?;
    by_name(known.query_name, &given).ok()
}

/// An operation of a capability, and all that differ from it in one field or in what is done.
pub fn one_field_away(
    chance: &mut dyn Chance,
    capability: Capability,
) -> Option<(Box<dyn Query>, Operations)> {
    let (known, given) = named(chance, capability)?;
    let operation = by_name(known.query_name, &given).ok()?;
    let without = |name: &str| -> Given {
        let others = given.iter().filter(|(other, _)| other != name);
        others.cloned().collect()
    };
    let mut away = Vec::new();
    for field in known.fields {
        let others = without(field.name);
        let with = |value: &&str| {
            let field = (field.name.to_owned(), (*value).to_owned());
            others.iter().cloned().chain([field]).collect()
        };
        away.extend(
            values_of(field)
                .iter()
                .map(with)
                .map(|given: Given| (known, given)),
        );
        away.push((known, others));
    }
    for other in operation_names::of(capability) {
        let has = |(name, _): &&(String, String)| other.fields.iter().any(|f| f.name == name);
        away.push((other, given.iter().filter(has).cloned().collect()));
    }
    let away = away.iter();
    let away = away.filter_map(|(known, given)| by_name(known.query_name, given).ok());
    Some((operation, away.collect()))
}

/// The fields of an operation, by name.
type Given = Vec<(String, String)>;

fn named(chance: &mut dyn Chance, capability: Capability) -> Option<(&'static Known, Given)> {
    let known: Vec<&Known> = operation_names::of(capability).collect();
    let known = known.get(chance.below(known.len()))?;
    let mut given = Vec::new();
    for field in known.fields {
        if field.required || chance.below(2) == 0 {
            let value = one_of(chance, values_of(field));
            given.push((field.name.to_owned(), value.to_owned()));
        }
    }
    Some((known, given))
}

fn values_of(field: &Field) -> &'static [&'static str] {
    match field.kind {
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
        Kind::List | Kind::ListOf(_) | Kind::Addresses => list(field.name),
        Kind::Text => text(field.name),
    }
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
