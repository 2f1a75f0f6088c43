//! Compares two grants: what becomes possible with the second, and what is no longer possible.

use std::collections::BTreeSet;

use bytesize::ByteSize;
use serde::Serialize;
use weir_grant::document::Spec;
use weir_grant::pattern::{Pattern, network_covers};
use weir_grant::rule::{RuleFields, merge, rules_of, sentence};
use weir_grant::size::Exact;
use weir_grant::{Capabilities, Capability, Document, Section};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// What only the second allows, capability by capability.
    pub possible: Vec<Change>,
    /// What only the first allows.
    pub impossible: Vec<Change>,
    /// Globs of networks on which only the second lets the plugin run.
    pub more_networks: Vec<String>,
    /// On which only the first does.
    pub fewer_networks: Vec<String>,
    /// Other members of the documents.
    pub members: Vec<Member>,
}

/// What is allowed in one capability by one of two grants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// On networks of NetworkAttachmentDefinitions.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub for_tenants: bool,
    pub capability: Capability,
    /// "create interfaces of kind bridge, on the host".
    pub what: String,
    /// The same as a rule.
    pub rule: serde_json::Value,
}

/// A member of a document that has another value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    /// `spec.limits.time`.
    pub key: &'static str,
    pub from: String,
    pub to: String,
}

impl Difference {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

pub fn compare(first: &Document, second: &Document) -> Difference {
    let (one, two) = (&first.spec, &second.spec);
    let mut difference = Difference {
        possible: added(one, two),
        impossible: added(two, one),
        more_networks: uncovered(&one.networks, &two.networks),
        fewer_networks: uncovered(&two.networks, &one.networks),
        members: Vec::new(),
    };
    let mut member = |key, from: String, to: String| {
        if from != to {
            difference.members.push(Member { key, from, to });
        }
    };
    let digest = |spec: &Spec| {
        let digest = spec.plugin.digest.as_ref();
        digest.map_or("none".to_owned(), ToString::to_string)
    };
    let name = |spec: &Spec| spec.plugin.name.clone();
    let networks = |spec: &Spec| networks(&spec.networks);
    member("spec.plugin.name", name(one), name(two));
    member("spec.plugin.digest", digest(one), digest(two));
    member("spec.networks", networks(one), networks(two));
    member("spec.tenants.pods", pods(one), pods(two));
    let (one, two) = (&one.limits, &two.limits);
    // To the byte, so that different sizes have different texts.
    let size = |size: ByteSize| Exact::from(size).to_string();
    let time = |time| humantime::format_duration(time).to_string();
    let count = |count: u64| count.to_string();
    member("spec.limits.memory", size(one.memory), size(two.memory));
    member("spec.limits.time", time(one.time), time(two.time));
    member("spec.limits.calls", count(one.calls), count(two.calls));
    member(
        "spec.limits.changes",
        count(one.changes),
        count(two.changes),
    );
    member(
        "spec.limits.transfer",
        size(one.transfer),
        size(two.transfer),
    );
    member("spec.limits.log", size(one.log), size(two.log));
    difference
}

/// The globs of networks in one text, without those that others cover.
fn networks(patterns: &[Pattern]) -> String {
    let all = globs(patterns);
    let is_needed = |glob: &&String| !all.iter().any(|o| o != *glob && network_covers(o, glob));
    or_none(all.iter().filter(is_needed).map(String::as_str).collect())
}

/// The globs of the second that none of the first covers.
fn uncovered(first: &[Pattern], second: &[Pattern]) -> Vec<String> {
    let first = globs(first);
    let is_new = |glob: &String| !first.iter().any(|wide| network_covers(wide, glob));
    globs(second).into_iter().filter(is_new).collect()
}

fn globs(patterns: &[Pattern]) -> BTreeSet<String> {
    patterns.iter().map(ToString::to_string).collect()
}

fn or_none(words: Vec<&str>) -> String {
    if words.is_empty() {
        return "none".to_owned();
    }
    words.join(", ")
}

/// What a grant allows in a capability, with rules merged where possible.
fn together(capabilities: &Capabilities, capability: Capability) -> Vec<RuleFields> {
    let rules = rules_of(capabilities, capability);
    let parts = rules.iter().flat_map(RuleFields::split).collect();
    let mut all: Vec<RuleFields> = merge(parts)
        .into_iter()
        .map(RuleFields::aggregated)
        .collect();
    // Some rules cover a part only as they were written.
    all.extend(rules);
    all
}

/// What pods may request, in one text.
fn pods(spec: &Spec) -> String {
    let requests = spec.tenants.iter().flat_map(|tenants| &tenants.pods);
    let words: BTreeSet<&str> = requests.map(|request| request.word()).collect();
    or_none(words.into_iter().collect())
}

fn added(first: &Spec, second: &Spec) -> Vec<Change> {
    let nothing = Capabilities::default();
    let of = |section| {
        let first = first.section(section).unwrap_or(&nothing);
        let second = second.section(section).unwrap_or(&nothing);
        added_in(section, first, second)
    };
    Section::ALL.into_iter().flat_map(of).collect()
}

fn added_in(section: Section, first: &Capabilities, second: &Capabilities) -> Vec<Change> {
    let mut changes = Vec::new();
    for capability in Capability::ALL {
        let before = together(first, capability);
        let is_new = |part: &RuleFields| !before.iter().any(|rule| rule.covers(part));
        let after = rules_of(second, capability);
        let new = after.iter().flat_map(RuleFields::split).filter(is_new);
        changes.extend(merge(new.collect()).iter().map(|rule| Change {
            for_tenants: section == Section::Tenants,
            capability,
            what: sentence(rule),
            rule: rule.to_json(),
        }));
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::policy::tests::document_of as document;

    fn difference(first: &str, second: &str) -> (Vec<String>, Vec<String>, Vec<&'static str>) {
        let found = compare(&document(first), &document(second));
        let words = |changes: &[Change]| changes.iter().map(|c| c.what.clone()).collect();
        let members = found.members.iter().map(|m| m.key).collect();
        (words(&found.possible), words(&found.impossible), members)
    }

    #[test]
    fn what_is_written_in_another_way_is_the_same() {
        for (first, second) in [
            ("networks: [\"*\"]", "networks: [\"*\", blue]"),
            (
                "capabilities: { link: [{ kinds: [veth, bridge] }] }",
                "capabilities: { link: [{ kinds: [bridge] }, { kinds: [veth] }] }",
            ),
            (
                "capabilities: { link: [{}] }",
                "capabilities: { link: [{ namespace: host }, { namespace: container, verbs: [read] }, \
                 { namespace: container, verbs: [create, update, delete] }] }",
            ),
            (
                "capabilities: { sysctl: [{ values: [\"1\"], verbs: [write] }, { verbs: [read] }] }",
                "capabilities: { sysctl: [{ values: [\"1\"] }] }",
            ),
            ("limits: { memory: 64MiB }", "limits: { memory: 65536KiB }"),
            (
                "capabilities: { route: [{ destinations: [10.0.0.0/9, 10.128.0.0/9] }] }",
                "capabilities: { route: [{ destinations: [10.0.0.0/8] }] }",
            ),
            (
                "capabilities: { address: [{ namespace: host, addresses: [10.0.0.0/9] }, \
                 { namespace: host, addresses: [10.128.0.0/9] }] }",
                "capabilities: { address: [{ namespace: host, addresses: [10.0.0.0/8] }] }",
            ),
            (
                "capabilities: { conntrack: [{ ports: [1-10, 11-20] }] }",
                "capabilities: { conntrack: [{ ports: [1-20] }] }",
            ),
            (
                "capabilities: { rule: [{ priorities: [1, 2, 3-7] }] }",
                "capabilities: { rule: [{ priorities: [1-7] }] }",
            ),
        ] {
            let found = compare(&document(first), &document(second));
            assert!(found.is_empty(), "{first} and {second}: {found:?}");
        }
    }

    #[test]
    fn a_limit_is_compared_to_the_byte() {
        let (_, _, members) = difference(
            "limits: { transfer: 1100KiB, log: 100000B }",
            "limits: { transfer: 1126KiB, log: 100001B }",
        );
        assert_eq!(members, ["spec.limits.transfer", "spec.limits.log"]);
        let found = compare(
            &document("limits: { transfer: 1100KiB }"),
            &document("limits: { transfer: 1126KiB }"),
        );
        let Member { from, to, .. } = &found.members[0];
        assert_eq!((from.as_str(), to.as_str()), ("1100KiB", "1126KiB"));
    }

    #[test]
    fn what_becomes_possible_and_what_stops() {
        let first = "capabilities: { link: [{ namespace: host, kinds: [veth], verbs: [create, read] }] }, \
                     limits: { calls: 10 }";
        let second = "capabilities: { link: [{ namespace: host, kinds: [veth, bridge], verbs: [read] }], \
                      firewall: [{ namespace: host, families: [inet], hooks: [input], statements: [drop], \
                      verbs: [write] }] }, networks: [blue]";
        let (possible, impossible, members) = difference(first, second);
        assert_eq!(
            possible,
            [
                "look at interfaces of kind bridge, on the host",
                "write its own tables of inet, with chains on input, whose rules may drop, on the host",
            ]
        );
        assert_eq!(impossible, ["create interfaces of kind veth, on the host"]);
        assert_eq!(members, ["spec.networks", "spec.limits.calls"]);
        let (back, forth, _) = difference(second, first);
        assert_eq!((forth, back), (possible, impossible));
    }

    #[test]
    fn a_gap_between_ranges_is_a_difference() {
        for (first, second) in [
            (
                "conntrack: [{ ports: [1-10, 12-20] }]",
                "conntrack: [{ ports: [1-20] }]",
            ),
            (
                "route: [{ destinations: [10.0.0.0/9, 10.192.0.0/10] }]",
                "route: [{ destinations: [10.0.0.0/8] }]",
            ),
        ] {
            let of = |capabilities: &str| document(&format!("capabilities: {{ {capabilities} }}"));
            let found = compare(&of(first), &of(second));
            assert!(!found.possible.is_empty(), "{first} and {second}");
            assert!(found.impossible.is_empty(), "{found:?}");
        }
    }

    #[test]
    fn on_more_networks_is_more() {
        let found = compare(
            &document("networks: [blue, \"red*\"]"),
            &document("networks: [\"*\"]"),
        );
        assert_eq!(found.more_networks, ["*"]);
        assert_eq!(found.fewer_networks, Vec::<String>::new());
        let found = compare(
            &document("networks: [blue, \"red*\"]"),
            &document("networks: [red1, green]"),
        );
        assert_eq!(found.more_networks, ["green"]);
        assert_eq!(found.fewer_networks, ["blue", "red*"]);
    }
}
