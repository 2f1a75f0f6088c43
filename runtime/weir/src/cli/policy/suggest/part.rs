//! The rule for one object that an operation touches, capability by capability.

use std::collections::BTreeSet;

use ipnet::IpNet;
use weir_grant::address::Family;
use weir_grant::pattern::{DATA_DIR, RESOLV_CONF};
use weir_grant::query::Need;
use weir_grant::{Capability, Invocation, Namespace, Verb};
use weir_grant::{
    address, conntrack, device, firewall, firewalld, ipam, link, native, neighbour, packet, route,
    rule, store, sysctl, traffic,
};

use super::networks::network;
use super::spell::{key, literal, spell};
use crate::cli::policy::rule_fields::RuleFields;

/// A rule for one object, and the fields that the object says nothing about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Part {
    pub(super) rule: RuleFields,
    pub(super) open: BTreeSet<&'static str>,
}

impl Part {
    /// The rule for an object. `networks` are those in which addresses were given to links.
    pub(super) fn of(need: &Need, invocation: &Invocation, networks: &[IpNet]) -> Self {
        let seen = Seen {
            invocation,
            networks,
        };
        match need {
            Need::Link(r) => seen.link(r),
            Need::Address(r) => seen.address(r),
            Need::Route(r) => seen.route(r),
            Need::Rule(r) => seen.rule(r),
            Need::Neighbour(r) => seen.neighbour(r),
            Need::Traffic(r) => seen.traffic(r),
            Need::Firewall(r) => firewall(r),
            Need::Firewalld(r) => seen.firewalld(r),
            Need::Conntrack(r) => conntrack(r),
            Need::Sysctl(r) => seen.sysctl(r),
            Need::Store(r) => store(r),
            Need::Device(r) => device(r),
            Need::Packet(r) => seen.packet(r),
            Need::Ipam(r) => ipam(r),
            Need::Native(r) => native(r),
        }
    }

    /// A rule of a capability that bounds nothing yet but its verb.
    fn new(capability: Capability, verb: Verb) -> Self {
        Self::from(RuleFields::new(capability).with("verbs", [verb]))
    }

    /// The same in one namespace.
    fn within(capability: Capability, namespace: Namespace, verb: Verb) -> Self {
        Self::new(capability, verb).bound("namespace", Some(namespace))
    }

    /// A field that is set where the object says what it is.
    fn bound<T: ToString>(mut self, field: &'static str, value: Option<T>) -> Self {
        match value {
            Some(value) => self.rule = self.rule.with(field, [value]),
            None => {
                self.open.insert(field);
            }
        }
        self
    }

    /// The same, but left out where the object does not say: what it allows then is allowed only by a
    /// rule without the field.
    fn bound_or_any<T: ToString>(self, field: &'static str, value: Option<T>) -> Self {
        match value {
            Some(value) => self.bound(field, Some(value)),
            None => self,
        }
    }

    /// Whether a rule differs from this one in nothing but open fields and verbs.
    pub(super) fn goes_with(&self, rule: &RuleFields) -> bool {
        let is_compared = |field: &str| field != "verbs" && !self.open.contains(field);
        let of = |rule: &RuleFields| -> Vec<_> {
            let fields = rule.fields.clone().into_iter();
            fields.filter(|(field, _)| is_compared(field)).collect()
        };
        rule.capability == self.rule.capability && of(rule) == of(&self.rule)
    }

    /// Allows its verbs by a rule that it goes with.
    pub(super) fn join(&self, rule: &mut RuleFields) {
        if let Some(verbs) = self.rule.get("verbs") {
            let own = rule.fields.entry("verbs".to_owned()).or_default();
            own.extend(verbs.iter().cloned());
        }
    }
}

impl From<RuleFields> for Part {
    fn from(rule: RuleFields) -> Self {
        Self {
            rule,
            open: BTreeSet::new(),
        }
    }
}

/// What names and addresses are compared with.
struct Seen<'a> {
    invocation: &'a Invocation,
    networks: &'a [IpNet],
}

impl Seen<'_> {
    fn name(&self, namespace: Namespace, name: &str) -> Option<String> {
        Some(spell(namespace, name, self.invocation))
    }

    fn network(&self, address: IpNet) -> IpNet {
        network(address, self.networks)
    }

    fn link(&self, r: &link::Requirement) -> Part {
        Part::within(Capability::Link, r.namespace, r.verb)
            .bound("kinds", r.kind.as_ref())
            .bound("names", self.name(r.namespace, &r.name))
    }

    fn address(&self, r: &address::Requirement) -> Part {
        Part::within(Capability::Address, r.link.namespace, r.verb)
            .bound("kinds", r.link.known_kind().as_ref())
            .bound("links", self.name(r.link.namespace, &r.link.name))
            .bound("addresses", r.address.map(|a| self.network(a)))
    }

    fn route(&self, r: &route::Requirement) -> Part {
        let link = r.link.as_ref().and_then(|l| self.name(r.namespace, l));
        Part::within(Capability::Route, r.namespace, r.verb)
            .bound_or_any("links", link)
            .bound_or_any("destinations", r.destination.map(|d| self.network(d)))
            .bound_or_any("tables", r.table)
    }

    fn rule(&self, r: &rule::Requirement) -> Part {
        let family = r.family.map(|family| match family {
            Family::Ipv4 => "ipv4",
            Family::Ipv6 => "ipv6",
        });
        Part::within(Capability::Rule, r.namespace, r.verb)
            .bound_or_any("families", family)
            .bound_or_any("priorities", r.priority)
            .bound_or_any("sources", r.source.map(|source| self.network(source)))
            .bound_or_any("tables", r.table)
    }

    fn neighbour(&self, r: &neighbour::Requirement) -> Part {
        Part::within(Capability::Neighbour, r.link.namespace, r.verb)
            .bound("links", self.name(r.link.namespace, &r.link.name))
            .bound("addresses", r.address.map(|a| self.network(a.into())))
    }

    fn traffic(&self, r: &traffic::Requirement) -> Part {
        Part::within(Capability::Traffic, r.link.namespace, r.verb)
            .bound("kinds", r.link.known_kind().as_ref())
            .bound("links", self.name(r.link.namespace, &r.link.name))
            .bound("disciplines", r.discipline.as_ref())
    }

    fn firewalld(&self, r: &firewalld::Requirement) -> Part {
        Part::new(Capability::Firewalld, r.verb)
            .bound("zones", r.zone.as_ref().map(|zone| literal(zone)))
            .bound("sources", r.source.map(|s| self.network(s.into())))
    }

    fn sysctl(&self, r: &sysctl::Requirement) -> Part {
        let verb = match r.value {
            Some(_) => Verb::Write,
            None => Verb::Read,
        };
        Part::within(Capability::Sysctl, r.namespace, verb)
            .bound("keys", Some(key(r.namespace, &r.key, self.invocation)))
            .bound("values", r.value.as_ref())
    }

    fn packet(&self, r: &packet::Requirement) -> Part {
        let part = Part::new(Capability::Packet, r.verb)
            .bound("links", self.name(Namespace::Container, &r.link));
        match r.subject {
            packet::Subject::Udp { local, remote } => part
                .bound("protocols", Some("udp"))
                .bound("ports", Some(local))
                .bound("remotes", remote),
            packet::Subject::Raw(ether_type) => part
                .bound("protocols", Some("raw"))
                .bound("ethertypes", Some(ether_type)),
        }
    }
}

fn firewall(r: &firewall::Requirement) -> Part {
    let part =
        Part::within(Capability::Firewall, r.namespace, r.verb).bound("families", Some(r.family));
    match r.subject {
        // Rules that say nothing of ports and of owners allow all of them.
        firewall::Subject::Table
        | firewall::Subject::Reference
        | firewall::Subject::Port { .. }
        | firewall::Subject::Removed(_) => part,
        firewall::Subject::Hook(hook) => part.bound("hooks", Some(hook)),
        firewall::Subject::Statement { kind, hook } => part
            .bound("statements", Some(kind))
            // What may be reached from every hook is allowed on all that are.
            .bound_or_any("hooks", hook),
    }
}

fn conntrack(r: &conntrack::Requirement) -> Part {
    Part::within(Capability::Conntrack, r.namespace, r.verb)
        .bound("protocols", Some(r.protocol))
        // Entries of every port.
        .bound_or_any("ports", r.port)
}

fn store(r: &store::Requirement) -> Part {
    let part = Part::new(Capability::Store, r.verb);
    match &r.location {
        store::Location::Private => part,
        store::Location::Directory(path) | store::Location::SharedDirectory(path) => {
            part.bound("directories", Some(path.display()))
        }
        store::Location::ConfiguredDirectory(_) | store::Location::ConfiguredSharedDirectory(_) => {
            part.bound("directories", Some(DATA_DIR))
        }
        store::Location::File(path) => part.bound("files", Some(path.display())),
        store::Location::ConfiguredFile(_) => part.bound("files", Some(RESOLV_CONF)),
    }
}

fn device(r: &device::Requirement) -> Part {
    let part = Part::new(Capability::Device, r.verb);
    match &r.subject {
        device::Subject::Link(link) => part.bound("links", Some(literal(link))),
        device::Subject::PciAddress(address) => part.bound("pci", Some(literal(address))),
        device::Subject::KernelPath(_) => part,
    }
}

/// What would be listed, which is no rule of a grant.
fn native(r: &native::Requirement) -> Part {
    RuleFields::new(Capability::Native)
        .with("name", [r.plugin.clone()])
        .with("digest", [r.digest.to_string()])
        .into()
}

fn ipam(r: &ipam::Requirement) -> Part {
    RuleFields::new(Capability::Ipam)
        .with("name", [r.plugin.clone()])
        .into()
}
