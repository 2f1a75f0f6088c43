//! Compares two grants: what becomes possible with the second, and what is no longer possible.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::points::is_new_for_certain;
use bytesize::ByteSize;
use serde::Serialize;
use weir_grant::document::Spec;
use weir_grant::pattern::{Pattern, network_covers, networks_meet};
use weir_grant::phrase::{joined, quoted};
use weir_grant::rule::{Bounds, RuleFields, merge, rules_of, sentence};
use weir_grant::size::Exact;
use weir_grant::{Capabilities, Capability, Document, Section};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// What only the second allows, capability by capability, and what it may be that only it allows.
    pub possible: Vec<Change>,
    /// What only the first allows.
    pub impossible: Vec<Change>,
    /// Globs of networks on which only the second lets the plugin run.
    pub more_networks: Vec<Networks>,
    /// On which only the first does.
    pub fewer_networks: Vec<Networks>,
    /// Other members of the documents.
    pub members: Vec<Member>,
}

/// What is allowed in one capability by one of two grants, and not, or not all of it, by the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// On networks of NetworkAttachmentDefinitions.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub for_tenants: bool,
    pub capability: Capability,
    /// Whether an operation is known that only this grant allows. If not, the other may allow all of it in several rules.
    pub certain: bool,
    /// "create interfaces of kind bridge, on the host".
    pub what: String,
    /// The same as a rule; null for what only several rules allow together.
    pub rule: serde_json::Value,
    /// What the other grant allows that has something in common with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_allows: Vec<Allowed>,
}

/// Networks on which one of two grants lets the plugin run, and the other on none of them or on a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Networks {
    pub glob: String,
    /// The globs of the other grant that have networks in common with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_covers: Vec<String>,
}

/// What a rule allows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Allowed {
    pub what: String,
    pub rule: serde_json::Value,
    /// The values that must match as well, by field, where the rule reaches beyond the change.
    #[serde(skip_serializing_if = "Bounds::is_empty")]
    pub as_far_as: Bounds,
}

impl Allowed {
    /// What a rule of the other grant allows of a change.
    fn by(rule: &RuleFields, change: &RuleFields) -> Self {
        let as_far_as = change.exceeded_by(rule);
        let mut what = sentence(rule);
        if !as_far_as.is_empty() {
            let values = as_far_as
                .values()
                .map(|values| joined(quoted(values), "or"));
            let all = joined(values.collect(), "and");
            what += &format!(", as far as {all} matches as well");
        }
        Self {
            what,
            rule: rule.to_json(),
            as_far_as,
        }
    }
}

/// A member of a document that has another value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    /// `spec.limits.time`.
    pub key: &'static str,
    pub from: String,
    pub to: String,
    /// Whether the second document allows more by it, apart from networks.
    #[serde(skip)]
    is_wider: bool,
}

impl Difference {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the second document surely allows nothing that the first does not.
    pub fn is_narrower(&self) -> bool {
        let is_wider = self.members.iter().any(|member| member.is_wider);
        self.possible.is_empty() && self.more_networks.is_empty() && !is_wider
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
    let mut member = |key, from: String, to: String, is_wider| {
        if from != to {
            difference.members.push(Member {
                key,
                from,
                to,
                is_wider,
            });
        }
    };
    let digest = |spec: &Spec| {
        let digest = spec.plugin.digest.as_ref();
        digest.map_or("none".to_owned(), ToString::to_string)
    };
    let name = |spec: &Spec| spec.plugin.name.clone();
    let networks = |spec: &Spec| networks(&spec.networks);
    member("spec.plugin.name", name(one), name(two), true);
    let other_component = one.plugin.digest.is_some();
    member(
        "spec.plugin.digest",
        digest(one),
        digest(two),
        other_component,
    );
    member("spec.networks", networks(one), networks(two), false);
    let more_pods = !requests(two).is_subset(&requests(one));
    member("spec.tenants.pods", pods(one), pods(two), more_pods);
    let (one, two) = (&one.limits, &two.limits);
    // To the byte, so that different sizes have different texts.
    let size = |size: ByteSize| Exact::from(size).to_string();
    let time = |time| humantime::format_duration(time).to_string();
    let count = |count: u64| count.to_string();
    let sizes = [
        ("spec.limits.memory", one.memory, two.memory),
        ("spec.limits.transfer", one.transfer, two.transfer),
        ("spec.limits.log", one.log, two.log),
    ];
    for (key, one, two) in sizes {
        member(key, size(one), size(two), two > one);
    }
    let counts = [
        ("spec.limits.calls", one.calls, two.calls),
        ("spec.limits.changes", one.changes, two.changes),
    ];
    for (key, one, two) in counts {
        member(key, count(one), count(two), two > one);
    }
    let (one, two) = (one.time, two.time);
    member("spec.limits.time", time(one), time(two), two > one);
    difference
}

/// The globs of networks in one text, without those that others cover.
fn networks(patterns: &[Pattern]) -> String {
    let all = globs(patterns);
    let is_needed = |glob: &&String| !all.iter().any(|o| o != *glob && network_covers(o, glob));
    or_none(all.iter().filter(is_needed).map(String::as_str).collect())
}

/// The globs of the second that none of the first covers.
fn uncovered(first: &[Pattern], second: &[Pattern]) -> Vec<Networks> {
    let first = globs(first);
    let is_new = |glob: &String| !first.iter().any(|wide| network_covers(wide, glob));
    let common = |glob: &str| {
        let common = first.iter().filter(|other| networks_meet(glob, other));
        common.cloned().collect()
    };
    let new = globs(second).into_iter().filter(is_new);
    new.map(|glob| Networks {
        other_covers: common(&glob),
        glob,
    })
    .collect()
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
    or_none(requests(spec).into_iter().collect())
}

/// The words of what pods may request.
fn requests(spec: &Spec) -> BTreeSet<&'static str> {
    let requests = spec.tenants.iter().flat_map(|tenants| &tenants.pods);
    requests.map(|request| request.word()).collect()
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
    let added = |capability| {
        let mut changes = added_by_rules(capability, first, second);
        if changes.is_empty() {
            changes = added_together(capability, first, second);
        }
        changes
    };
    let mut changes: Vec<Change> = Capability::ALL.into_iter().flat_map(added).collect();
    for change in &mut changes {
        change.for_tenants = section == Section::Tenants;
    }
    changes
}

fn added_by_rules(
    capability: Capability,
    first: &Capabilities,
    second: &Capabilities,
) -> Vec<Change> {
    let before = together(first, capability);
    let is_new = |part: &RuleFields| !before.iter().any(|rule| rule.covers(part));
    let after = rules_of(second, capability);
    let new = after.iter().flat_map(RuleFields::split).filter(is_new);
    let others = rules_of(first, capability);
    // Distinguishes parts that the other grant does not allow at all from those that it allows in part.
    let mut alike: BTreeMap<(Reverse<bool>, bool), Vec<New>> = BTreeMap::new();
    for part in new {
        let common = others
            .iter()
            .filter_map(|other| other.in_common_with(&part));
        let common: Vec<RuleFields> = common.collect();
        let certain = common.is_empty() || is_new_for_certain(&part, &before);
        let kind = (Reverse(certain), !common.is_empty());
        alike.entry(kind).or_default().push(New { part, common });
    }
    let changes = alike
        .into_iter()
        .flat_map(|((Reverse(certain), _), parts)| {
            let rules = merge(parts.iter().map(|new| new.part.clone()).collect());
            let change = |rule| Change::of(capability, certain, &rule, &parts);
            rules.into_iter().map(change).collect::<Vec<Change>>()
        });
    changes.collect()
}

/// A part that the other grant's rules do not allow, or not all of it.
struct New {
    part: RuleFields,
    /// What the other grant's rules have in common with it.
    common: Vec<RuleFields>,
}

impl Change {
    /// The rule that some of the parts make.
    fn of(capability: Capability, certain: bool, rule: &RuleFields, parts: &[New]) -> Self {
        let own = parts.iter().filter(|new| rule.covers(&new.part));
        let other: BTreeSet<RuleFields> = own.flat_map(|new| new.common.clone()).collect();
        let other = merge(other.into_iter().collect());
        Self {
            for_tenants: false,
            capability,
            certain,
            what: sentence(rule),
            rule: rule.to_json(),
            other_allows: other.iter().map(|other| Allowed::by(other, rule)).collect(),
        }
    }
}

/// What several rules of the second allow together, and those of the first do not.
fn added_together(
    capability: Capability,
    first: &Capabilities,
    second: &Capabilities,
) -> Vec<Change> {
    let Some(description) = capability.description() else {
        return Vec::new();
    };
    let before = (description.together)(first);
    let mut after = (description.together)(second);
    after.retain(|what| !before.contains(what));
    let change = |what| Change {
        for_tenants: false,
        capability,
        certain: true,
        what,
        rule: serde_json::Value::Null,
        other_allows: Vec::new(),
    };
    after.into_iter().map(change).collect()
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
    fn what_allows_nothing_more_is_narrower() {
        let wide =
            "capabilities: { link: [{}] }, networks: [a, b], limits: { calls: 10, time: 2s }";
        for (first, second, narrower) in [
            (wide, wide, true),
            (
                wide,
                "capabilities: { link: [{}] }, networks: [a], limits: { calls: 10, time: 1s }",
                true,
            ),
            (
                wide,
                "capabilities: {}, networks: [a, b], limits: { calls: 10, time: 2s }",
                true,
            ),
            ("limits: { calls: 10 }", "limits: { calls: 11 }", false),
            ("limits: { memory: 2MiB }", "limits: { memory: 1MiB }", true),
            ("networks: [a]", "networks: [a, b]", false),
            (
                "tenants: { capabilities: {} }",
                "tenants: { capabilities: {}, pods: [ips] }",
                false,
            ),
            (
                "tenants: { capabilities: {}, pods: [ips, mac] }",
                "tenants: { capabilities: {}, pods: [mac] }",
                true,
            ),
            // Each allows something that the other does not.
            (
                "capabilities: { link: [{}] }",
                "capabilities: { store: [{}] }",
                false,
            ),
        ] {
            let found = compare(&document(first), &document(second));
            assert_eq!(
                found.is_narrower(),
                narrower,
                "{first} and {second}: {found:?}"
            );
        }
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

    /// What is possible with the second, as `what (other, …)`, with a mark where it is not certain.
    fn possible(first: &str, second: &str) -> Vec<String> {
        let of = |capabilities: &str| document(&format!("capabilities: {{ {capabilities} }}"));
        let found = compare(&of(first), &of(second)).possible;
        let text = |change: &Change| {
            let other: Vec<&str> = change
                .other_allows
                .iter()
                .map(|o| o.what.as_str())
                .collect();
            let perhaps = if change.certain { "" } else { "perhaps " };
            format!("{perhaps}{} ({})", change.what, other.join(" / "))
        };
        found.iter().map(text).collect()
    }

    #[test]
    fn what_is_still_allowed_is_shown() {
        let all =
            "sysctl: [{ namespace: host, keys: [net.ipv4.conf.all.rp_filter], verbs: [write] }]";
        let each =
            "sysctl: [{ namespace: host, keys: [\"net.ipv4.conf.*.rp_filter\"], verbs: [write] }]";
        assert_eq!(
            possible(all, each),
            [
                "set net.ipv4.conf.*.rp_filter (every interface, `all` and `default`), on the host \
              (set net.ipv4.conf.all.rp_filter, on the host)"
            ]
        );
        assert_eq!(possible(each, all), [""; 0]);

        let veths = "link: [{ namespace: host, kinds: [veth], verbs: [update] }]";
        let named =
            "link: [{ namespace: host, kinds: [veth], names: [\"veth*\"], verbs: [update] }]";
        assert_eq!(
            possible(named, veths),
            ["change interfaces of kind veth, on the host \
              (change interfaces of kind veth, named veth*, on the host)"]
        );
        // Globs that overlap, neither of which covers the other.
        let ends = "link: [{ namespace: host, kinds: [veth], names: [\"*0\"], verbs: [update] }]";
        assert_eq!(
            possible(named, ends),
            ["change interfaces of kind veth, named *0, on the host \
              (change interfaces of kind veth, named veth*, on the host, as far as `*0` matches as well)"]
        );
        // What both allow is shown, and not what only the other does.
        let every = "link: [{ namespace: host, attributes: [mtu], verbs: [update] }]";
        assert_eq!(
            possible(every, named),
            ["change interfaces of kind veth, named veth*, on the host \
              (change interfaces of kind veth, named veth*, on the host, nothing but mtu)"]
        );
        let wholly = "link: [{ namespace: container, verbs: [delete] }]";
        assert_eq!(
            possible(veths, wholly),
            ["delete interfaces of every kind, hardware included, in the container ()"]
        );
    }

    #[test]
    fn what_cannot_be_determined_is_not_certain() {
        let halves = "link: [{ namespace: host, names: [\"[a-m]*\", \"[n-z]*\"], verbs: [read] }]";
        let letters = "link: [{ namespace: host, names: [\"[a-z]*\"], verbs: [read] }]";
        let told = possible(halves, letters);
        assert!(told[0].starts_with("perhaps look at"), "{told:?}");
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            possible(letters, "link: [{ namespace: host, verbs: [read] }]")[0]
                .starts_with("look at")
        );
    }

    /// A statement in a chain without a hook must be allowed on every hook of the grant.
    #[test]
    fn fewer_hooks_may_allow_more() {
        let two = "firewall: [{ namespace: host, families: [inet], hooks: [input], statements: [drop], verbs: [write] }, \
                   { namespace: host, families: [inet], hooks: [forward], statements: [accept], verbs: [write] }]";
        let one = "firewall: [{ namespace: host, families: [inet], hooks: [input], statements: [drop], verbs: [write] }]";
        assert_eq!(
            possible(two, one),
            [
                "write its own tables of inet, whose rules in chains without a hook may drop, in host ()"
            ]
        );
    }

    #[test]
    fn on_more_networks_is_more() {
        let found = compare(
            &document("networks: [blue, \"red*\"]"),
            &document("networks: [\"*\"]"),
        );
        let networks = |glob: &str, other: &[&str]| Networks {
            glob: glob.to_owned(),
            other_covers: other.iter().map(|glob| (*glob).to_owned()).collect(),
        };
        assert_eq!(found.more_networks, [networks("*", &["blue", "red*"])]);
        assert_eq!(found.fewer_networks, []);
        let found = compare(
            &document("networks: [blue, \"red*\"]"),
            &document("networks: [red1, green]"),
        );
        assert_eq!(found.more_networks, [networks("green", &[])]);
        let fewer = [networks("blue", &[]), networks("red*", &["red1"])];
        assert_eq!(found.fewer_networks, fewer);
    }
}
