//! What holds for every operation: that its severity and its words fit what it needs.

use std::collections::BTreeSet;

use super::{invocation, own};
use crate::Capability;
use crate::Severity::{ChangesHost, Reads};
use crate::field::Seen;
use crate::operation_names::{Field, Kind, by_name, of};
use crate::query::{Need, Query};

/// Whether something of the host is required.
fn is_of_host(operation: &dyn Query) -> bool {
    let invocation = invocation();
    let seen = Seen {
        invocation: &invocation,
        networks: &[],
        is_least: false,
    };
    let of_host = |need: Need| need.draft(&seen).rule.names("namespace", "host");
    operation.needs().into_iter().any(of_host)
}

/// A value that a field may have, chosen by a number.
fn value(field: &Field, choice: usize) -> String {
    let one_of = |values: &[&str]| values[choice % values.len()].to_owned();
    let own = own();
    match field.kind {
        Kind::OneOf(words) => one_of(words),
        Kind::Number => one_of(&["0", "1", "254", "8080"]),
        Kind::Flag => one_of(&["true", "false"]),
        Kind::Address => one_of(&["10.1.0.2", "fd00::2"]),
        Kind::Network => one_of(&["10.1.0.2/32", "10.1.0.0/16", "0.0.0.0/0", "fd00::2/128"]),
        Kind::ListOf(words) => one_of(words),
        Kind::Addresses => one_of(&["10.1.0.2", "10.1.0.2,10.1.0.3"]),
        Kind::List => one_of(&["eth0", "eth0,eth1"]),
        Kind::Text => match field.name {
            "access" => one_of(&["read", "write"]),
            "discipline" => one_of(&["tbf", "htb", "ingress", "clsact", "fq_codel"]),
            "protocol" => one_of(&["tcp", "udp", "sctp"]),
            "owner" => one_of(&["net", "other", &own]),
            "mac" => "02:00:00:00:00:01".to_owned(),
            "key" => one_of(&["net.ipv4.ip_forward", "net.ipv4.conf.eth0.rp_filter"]),
            "value" => one_of(&["0", "1"]),
            "command" => "ADD".to_owned(),
            name if name.ends_with("kind") => one_of(&[
                "veth", "bridge", "macvlan", "vlan", "dummy", "tap", "physical",
            ]),
            _ => one_of(&["x", "eth0", "/var/lib/x"]),
        },
    }
}

/// Operations of all sorts: those that the fields of a person's question can make.
fn operations(rounds: usize) -> Vec<Box<dyn Query>> {
    let mut state = 1_u64;
    let mut choose = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let mut all = Vec::new();
    for known in Capability::ALL.into_iter().flat_map(of) {
        for _ in 0..rounds {
            let chosen = known
                .fields
                .iter()
                .filter(|field| field.required || choose() % 2 == 0);
            let fields: Vec<_> = chosen.collect();
            let given: Vec<_> = fields
                .into_iter()
                .map(|field| (field.name.to_owned(), value(field, choose())))
                .collect();
            all.extend(by_name(known.query_name, &given).ok());
        }
    }
    all
}

#[test]
fn what_changes_the_host_is_never_less_than_that() {
    let mut changes = BTreeSet::new();
    for operation in operations(300) {
        let severity = operation.severity(&invocation());
        let arguments = operation.arguments();
        let (name, act) = (operation.name(), operation.act());
        assert_eq!(operation.is_read(), severity == Reads, "{name} {arguments}");
        assert!(!act.is_empty() && !act.contains("  "), "{name}: {act:?}");
        if is_of_host(&*operation) && !operation.is_read() {
            assert!(severity >= ChangesHost, "{severity}: {name} {arguments}");
            changes.insert(name);
        }
    }
    // It was tried with every operation that can.
    for name in [
        "link.create",
        "link.update",
        "link.update-port",
        "link.update-bridge",
        "link.add-vlans",
        "link.delete-vlans",
        "link.delete",
        "link.move",
        "address.add",
        "address.delete",
        "route.add",
        "route.replace",
        "route.delete",
        "policy-rule.add",
        "policy-rule.delete",
        "neighbour.add",
        "neighbour.delete",
        "neighbour.announce",
        "traffic.add-qdisc",
        "traffic.delete-qdisc",
        "traffic.add-class",
        "traffic.delete-class",
        "traffic.add-filter",
        "traffic.delete-filter",
        "firewall.apply",
        "firewall.remove-reference-rules",
        "conntrack.delete",
        "sysctl.write",
    ] {
        assert!(changes.contains(name), "{name} was not tried on the host");
    }
}

/// Nothing is called an update or a write: the words name the act.
#[test]
fn no_words_are_those_of_a_verb_alone() {
    for operation in operations(100)
        .iter()
        .filter(|operation| !operation.is_read())
    {
        let (name, act) = (operation.name(), operation.act());
        assert!(!act.starts_with("update "), "{name}: {act}");
        let is_bare = act.starts_with("write ");
        let is_empty = act.starts_with("write nftables table") || act.starts_with("write the ");
        assert!(!is_bare || is_empty, "{name}: {act}");
    }
}
