//! The reads that a component needs, which neither the audit log nor its own changes show: worked out from the functions that
//! it imports, and from a grant under which it runs.

use std::collections::{BTreeMap, BTreeSet};

use weir_grant::operation_names::function;
use weir_grant::rule::{RuleFields, merge, rules_of};
use weir_grant::{Capabilities, Capability, Verb};

use super::reach::changes;

/// Functions of the contract, by capability.
pub type Functions = BTreeMap<Capability, Vec<String>>;

/// A capability in which a grant does not let a component read what it needs to.
#[derive(Debug, PartialEq)]
pub struct Lacking {
    pub capability: Capability,
    /// The imported functions that read there.
    pub functions: Vec<String>,
    pub reads: Reads,
}

/// What cannot be read.
#[derive(Debug, PartialEq)]
pub enum Reads {
    /// What these rules of the other grant allow.
    Rules(Vec<RuleFields>),
    /// Anything in these namespaces.
    Namespaces(Vec<String>),
    /// Anything at all.
    All,
}

/// Returns the functions that read, or may.
pub fn reading(imported: &Functions) -> Functions {
    let reads = |capability, name: &&String| {
        let verbs = function::verbs(capability, name);
        verbs.contains(&Verb::Read)
    };
    let of_capability = |(capability, names): (&Capability, &Vec<String>)| {
        let names = names.iter().filter(|name| reads(*capability, name));
        let names: Vec<String> = names.cloned().collect();
        (!names.is_empty()).then_some((*capability, names))
    };
    imported.iter().filter_map(of_capability).collect()
}

/// Returns what a grant's rules let these functions read, without anything else that the rules allow.
pub fn reads_of(granted: &Capabilities, reading: &Functions) -> Vec<RuleFields> {
    let of_capability = |(capability, functions): (&Capability, &Vec<String>)| {
        let mut rules = rules_of(granted, *capability);
        rules.retain(|rule| is_for_any(rule, functions));
        rules
    };
    reading
        .iter()
        .flat_map(of_capability)
        .map(read_of)
        .collect()
}

fn is_for_any(rule: &RuleFields, functions: &[String]) -> bool {
    let mut functions = functions.iter();
    may_read(rule) && functions.any(|name| function::concerns(rule.capability, name, rule))
}

fn may_read(rule: &RuleFields) -> bool {
    rule.verbs().contains(&Verb::Read)
}

fn read_of(rule: RuleFields) -> RuleFields {
    rule.only(Verb::Read)
}

/// Returns what a grant does not let a component read although another grant of the component does, of what the component
/// needs as far as that one shows.
pub fn lacking_beside(
    granted: &Capabilities,
    other: &Capabilities,
    imported: &Functions,
) -> Vec<Lacking> {
    let is_ipv4_only = is_ipv4_only(granted);
    let of_capability = |(capability, functions): (Capability, Vec<String>)| {
        let own = parts(&rules_of(granted, capability));
        let others = rules_of(other, capability);
        let named = named_keys(&others);
        let mut lacking = BTreeSet::new();
        for rule in others.iter().filter(|rule| is_for_any(rule, &functions)) {
            for mut parts in apart(rule) {
                lacking.extend(unseen(&parts, &own, &named));
                parts.retain(|part| !(is_ipv4_only && is_of_ipv6(part)));
                let is_met = parts.iter().any(|part| {
                    let mut own = own.iter().filter(|own| !is_for_another(own, part, &named));
                    own.any(|own| meets(own, part))
                });
                if !parts.is_empty() && !is_met && is_needed(rule, &parts, &own) {
                    lacking.extend(parts);
                }
            }
        }
        let lacking = merge(lacking.into_iter().collect());
        (!lacking.is_empty()).then_some(Lacking {
            capability,
            functions,
            reads: Reads::Rules(lacking),
        })
    };
    reading(imported)
        .into_iter()
        .filter_map(of_capability)
        .collect()
}

/// Rules with one value for each field.
fn parts(rules: &[RuleFields]) -> Vec<RuleFields> {
    rules.iter().flat_map(RuleFields::split).collect()
}

/// Parts of what a rule allows reading, apart where one does not do in place of the other: those of another namespace, files
/// and stores, and each parameter that is named.
fn apart(rule: &RuleFields) -> Vec<Vec<RuleFields>> {
    let mut apart: BTreeMap<_, Vec<RuleFields>> = BTreeMap::new();
    for part in read_of(rule.clone()).split() {
        let named = named_key(&part).cloned();
        let place = (
            part.get("namespace").cloned(),
            part.get("files").is_some(),
            named,
        );
        apart.entry(place).or_default().push(part);
    }
    apart.into_values().collect()
}

/// Returns what another grant of the component lets it read and this one does not, apart from what is lacking: whether it reads there
/// depends on its configuration. Of capabilities in which this one lets it read something.
pub fn narrowed_beside(
    granted: &Capabilities,
    other: &Capabilities,
    imported: &Functions,
) -> Vec<Lacking> {
    let lacking = lacking_beside(granted, other, imported);
    let of_capability = |(capability, functions): (Capability, Vec<String>)| {
        let own = parts(&rules_of(granted, capability));
        let mut known = own.clone();
        for one in lacking.iter().filter(|one| one.capability == capability) {
            if let Reads::Rules(rules) = &one.reads {
                known.extend(parts(rules));
            }
        }
        let others = rules_of(other, capability);
        let others = others.iter().filter(|rule| is_for_any(rule, &functions));
        let parts: BTreeSet<RuleFields> = others
            .flat_map(|rule| read_of(rule.clone()).split())
            .collect();
        let is_narrowed = |part: &RuleFields| !known.iter().any(|known| known.covers(part));
        let narrowed = merge(parts.into_iter().filter(is_narrowed).collect());
        let reads = own.iter().any(may_read);
        (reads && !narrowed.is_empty()).then_some(Lacking {
            capability,
            functions,
            reads: Reads::Rules(narrowed),
        })
    };
    reading(imported)
        .into_iter()
        .filter_map(of_capability)
        .collect()
}

/// Those of these reads of which a grant has nothing, although it lets the component change what is read there.
fn unseen(parts: &[RuleFields], own: &[RuleFields], named: &BTreeSet<String>) -> Vec<RuleFields> {
    let changed: Vec<RuleFields> = own
        .iter()
        .filter(|own| changes(own))
        .cloned()
        .map(read_of)
        .collect();
    let is_unseen = |part: &&RuleFields| {
        let is_of = |own: &RuleFields| !is_for_another(own, part, named) && meets(own, part);
        changed.iter().any(is_of) && !own.iter().any(is_of)
    };
    parts.iter().filter(is_unseen).cloned().collect()
}

/// The parameter that a part names.
fn named_key(part: &RuleFields) -> Option<&String> {
    let key = part.get("keys").and_then(|keys| keys.first());
    key.filter(|key| !key.contains('*'))
}

/// The parameters that rules name.
fn named_keys(rules: &[RuleFields]) -> BTreeSet<String> {
    let parts = rules.iter().flat_map(RuleFields::split);
    parts.filter_map(|part| named_key(&part).cloned()).collect()
}

/// Whether a part of a grant is for another parameter than this part of the other grant, which names both: the one of the
/// container's interface is not that of `lo`, although the interface could have this name.
fn is_for_another(own: &RuleFields, part: &RuleFields, named: &BTreeSet<String>) -> bool {
    let key = named_key(own);
    let is_named = key.is_some_and(|key| named.contains(key));
    is_named && named_key(part).is_some_and(|of_part| Some(of_part) != key)
}

fn meets(own: &RuleFields, part: &RuleFields) -> bool {
    own.in_common_with(part).is_some()
}

/// Whether a component needs to read what a rule allows: the rule is for nothing else, the grant lets it change what the rule
/// does, or what it reads decides whether it changes something.
fn is_needed(rule: &RuleFields, parts: &[RuleFields], own: &[RuleFields]) -> bool {
    if !changes(rule) || is_read_first(rule.capability) {
        return true;
    }
    let namespace = parts.iter().find_map(|part| part.get("namespace"));
    let mut written = rule.split();
    written.retain(|part| changes(part) && part.get("namespace") == namespace);
    written
        .iter()
        .any(|part| own.iter().any(|own| meets(own, part)))
}

/// Whether plugins read before they decide to write: a parameter may have the value, and firewalld may not run.
fn is_read_first(capability: Capability) -> bool {
    matches!(capability, Capability::Sysctl | Capability::Firewalld)
}

/// Whether a grant gives addresses, and those of IPv4 alone.
fn is_ipv4_only(granted: &Capabilities) -> bool {
    let rules = rules_of(granted, Capability::Address);
    let mut gives = rules
        .iter()
        .filter(|rule| rule.verbs().contains(&Verb::Create))
        .peekable();
    let is_ipv4 = |rule: &RuleFields| {
        let networks = rule.get("addresses");
        networks.is_some_and(|networks| networks.iter().all(|network| !network.contains(':')))
    };
    gives.peek().is_some() && gives.all(is_ipv4)
}

fn is_of_ipv6(part: &RuleFields) -> bool {
    let mut keys = part.get("keys").into_iter().flatten();
    keys.any(|key| key.starts_with("net.ipv6."))
}

/// Returns what a grant does not let a component read, as far as its imports alone show: what no rule allows the functions,
/// and what the grant lets it change in one namespace and look at in the other only.
pub fn lacking_alone(granted: &Capabilities, imported: &Functions) -> Vec<Lacking> {
    let mut lacking = Vec::new();
    for (capability, functions) in reading(imported) {
        let rules = rules_of(granted, capability);
        if rules.is_empty() && !is_needed_alone(capability, imported) {
            continue;
        }
        let is_denied = |name: &&String| {
            let mut rules = rules.iter().filter(|rule| may_read(rule));
            !rules.any(|rule| function::concerns(capability, name, rule))
        };
        let denied: Vec<String> = functions.iter().filter(is_denied).cloned().collect();
        let blind = changed_unseen(&rules);
        if !denied.is_empty() {
            lacking.push(Lacking {
                capability,
                functions: denied,
                reads: Reads::All,
            });
        } else if !blind.is_empty() {
            lacking.push(Lacking {
                capability,
                functions,
                reads: Reads::Namespaces(blind),
            });
        }
    }
    lacking
}

/// Whether a component that may do nothing in a capability lacks the reads: it has no other use for it, or reads first.
fn is_needed_alone(capability: Capability, imported: &Functions) -> bool {
    let functions = imported.get(&capability).into_iter().flatten();
    let mut verbs = functions.flat_map(|name| function::verbs(capability, name));
    is_read_first(capability) || verbs.all(|verb| verb == Verb::Read)
}

/// The namespaces in which the rules let a plugin change or delete what is there, and read nothing.
fn changed_unseen(rules: &[RuleFields]) -> Vec<String> {
    let namespaces = |passes: &dyn Fn(&Verb) -> bool| -> Vec<&str> {
        let rules = rules.iter().filter(|rule| rule.verbs().iter().any(passes));
        rules.flat_map(RuleFields::namespaces).collect()
    };
    let seen = namespaces(&|verb| *verb == Verb::Read);
    let mut changed = namespaces(&|verb| matches!(verb, Verb::Update | Verb::Delete | Verb::Write));
    changed.retain(|namespace| !seen.contains(namespace));
    changed.sort_unstable();
    changed.dedup();
    changed.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imported(functions: &[(Capability, &[&str])]) -> Functions {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        functions.iter().map(|(c, f)| (*c, names(f))).collect()
    }

    fn rules(text: &str) -> Capabilities {
        serde_json::from_str(text).unwrap_or_else(|why| panic!("{why}: {text}"))
    }

    #[test]
    fn reads_of_a_grant_are_kept_for_what_is_imported() {
        let granted = rules(
            r#"{"link": [{"namespace": "host", "kinds": ["veth"], "attributes": ["mtu"], "verbs": ["read", "update"]},
                         {"namespace": "container", "verbs": ["create"]}],
                "route": [{"verbs": ["read"]}],
                "store": [{"directories": ["/run/cni/a"]}, {"files": ["/etc/a"]}]}"#,
        );
        let imported = imported(&[
            (Capability::Link, &["get", "update"]),
            (Capability::Route, &["add"]),
            (Capability::Store, &["read-file"]),
        ]);
        let kept = reads_of(&granted, &reading(&imported));
        let kept: Vec<String> = kept.iter().map(|rule| rule.to_json().to_string()).collect();
        let expected = [
            r#"{"kinds":["veth"],"namespace":"host","verbs":["read"]}"#,
            r#"{"files":["/etc/a"],"verbs":["read"]}"#,
        ];
        assert_eq!(kept, expected);
    }

    /// What a grant lacks beside this one, by capability.
    fn lacks(granted: &str) -> Vec<(Capability, Vec<String>)> {
        let other = rules(
            r#"{"link": [{"namespace": "host", "kinds": ["ifb"], "verbs": ["create", "read"]},
                         {"namespace": "container", "names": ["{ifname}"], "verbs": ["read"]}],
                "sysctl": [{"namespace": "host", "keys": ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"],
                            "verbs": ["read", "write"]},
                           {"namespace": "container", "keys": ["net.*.*"], "verbs": ["read"]}],
                "firewall": [{"families": ["inet"], "verbs": ["read", "write"]}],
                "store": [{"directories": ["/run/cni/a"]}, {"files": ["/etc/a"], "verbs": ["read"]}]}"#,
        );
        let imported = imported(&[
            (Capability::Link, &["create", "get"]),
            (Capability::Sysctl, &["read", "write"]),
            (Capability::Firewall, &["apply", "list-sets"]),
            (Capability::Store, &["open", "read-file"]),
        ]);
        let lacking = lacking_beside(&rules(granted), &other, &imported);
        let texts = |reads: Reads| match reads {
            Reads::Rules(rules) => rules
                .iter()
                .map(|rule| rule.to_json().to_string())
                .collect(),
            other => panic!("{other:?}"),
        };
        let lacking = lacking.into_iter();
        lacking
            .map(|one| (one.capability, texts(one.reads)))
            .collect()
    }

    const ALL: [&str; 5] = [
        r#"{"namespace": "host", "kinds": ["ifb"], "names": ["bwp*"], "verbs": ["create", "read"]}"#,
        r#"{"namespace": "container", "verbs": ["read"]}"#,
        r#"{"keys": ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"], "namespace": "host", "verbs": ["read"]}"#,
        r#"{"keys": ["net.ipv4.tcp_retries1"], "namespace": "container", "verbs": ["read"]}"#,
        r#"{"files": ["/etc/a"], "verbs": ["read"]}"#,
    ];

    fn with([ifb, own, forward, other, file]: [&str; 5]) -> String {
        format!(r#"{{"link": [{ifb}, {own}], "sysctl": [{forward}, {other}], "store": [{file}]}}"#)
    }

    #[test]
    fn each_read_that_another_grant_has_is_missed() {
        // What it does not change in the firewall and in stores, it need not look at.
        assert_eq!(lacks(&with(ALL)), []);
        let nothing = r#"{"namespace": "host", "verbs": ["create"]}"#;
        for (at, instead, expected) in [
            (
                0,
                r#"{"namespace": "host", "kinds": ["ifb"], "verbs": ["create"]}"#,
                (
                    Capability::Link,
                    r#"{"kinds":["ifb"],"namespace":"host","verbs":["read"]}"#,
                ),
            ),
            (
                1,
                nothing,
                (
                    Capability::Link,
                    r#"{"names":["{ifname}"],"namespace":"container","verbs":["read"]}"#,
                ),
            ),
            (
                2,
                r#"{"keys": ["net.ipv6.conf.all.forwarding"], "namespace": "host"}"#,
                (
                    Capability::Sysctl,
                    r#"{"keys":["net.ipv4.ip_forward"],"namespace":"host","verbs":["read"]}"#,
                ),
            ),
            (
                3,
                r#"{"namespace": "container", "verbs": ["write"]}"#,
                (
                    Capability::Sysctl,
                    r#"{"keys":["net.*.*"],"namespace":"container","verbs":["read"]}"#,
                ),
            ),
            (
                4,
                r#"{"directories": ["/run/cni/a"]}"#,
                (
                    Capability::Store,
                    r#"{"files":["/etc/a"],"verbs":["read"]}"#,
                ),
            ),
        ] {
            let mut rules = ALL;
            rules[at] = instead;
            let (capability, rule) = expected;
            assert_eq!(
                lacks(&with(rules)),
                [(capability, vec![rule.to_owned()])],
                "{instead}"
            );
        }
    }

    /// As in the shipped grant of `bridge`.
    #[test]
    fn a_parameter_of_one_interface_is_not_that_of_another() {
        const KEYS: [&str; 2] = [
            "net.ipv6.conf.{ifname}.disable_ipv6",
            "net.ipv6.conf.lo.disable_ipv6",
        ];
        let imported = imported(&[(Capability::Sysctl, &["read", "write"])]);
        let of_keys = |keys: &[&str]| {
            let rule =
                serde_json::json!({"namespace": "container", "keys": keys, "verbs": ["read"]});
            rules(&serde_json::json!({ "sysctl": [rule] }).to_string())
        };
        let lacks = |keys: &[&str]| lacking_beside(&of_keys(keys), &of_keys(&KEYS), &imported);
        assert_eq!(lacks(&KEYS), []);
        assert_eq!(lacks(&["net.ipv6.conf.*.disable_ipv6"]), []);
        for key in KEYS {
            assert_eq!(lacks(&[key]).len(), 1, "{key}");
        }
        // A suggestion may have the interface's name.
        assert_eq!(lacks(&["net.ipv6.conf.eth0.disable_ipv6", KEYS[1]]), []);
    }

    /// As in grants that were narrowed by hand.
    #[test]
    fn what_a_grant_lets_it_change_it_reads() {
        const OTHER: &str = r#"{
            "address": [{"namespace": "host", "kinds": ["bridge", "veth"], "verbs": ["create", "read"]}],
            "sysctl": [{"namespace": "host", "keys": ["net.ipv4.ip_forward", "net.ipv6.conf.*.accept_ra"], "verbs": ["read", "write"]}]}"#;
        let imported = imported(&[
            (Capability::Address, &["add", "list"]),
            (Capability::Sysctl, &["read", "write"]),
        ]);
        let lacks = |address: &str, keys: &str| {
            let granted = rules(&format!(
                r#"{{"address": [{{"namespace": "host", "links": ["cni0"], "addresses": ["10.0.0.0/8"], "verbs": ["create"]}},
                                 {{"namespace": "host", {address} "verbs": ["read"]}}],
                    "sysctl": [{{"namespace": "host", "keys": ["net.ipv6.conf.cni0.accept_ra"], "verbs": ["write"]}},
                               {{"namespace": "host", "keys": [{keys}], "verbs": ["read"]}}]}}"#
            ));
            let lacking = lacking_beside(&granted, &rules(OTHER), &imported);
            let reads = lacking.into_iter().flat_map(|one| match one.reads {
                Reads::Rules(rules) => rules,
                other => panic!("{other:?}"),
            });
            reads
                .map(|rule| rule.to_json().to_string())
                .collect::<Vec<_>>()
        };
        const ALL_KEYS: &str = r#""net.ipv4.ip_forward", "net.ipv6.conf.cni0.accept_ra""#;
        assert!(lacks("", ALL_KEYS).is_empty());
        assert!(lacks(r#""links": ["cni0"],"#, ALL_KEYS).is_empty());
        assert_eq!(
            lacks(r#""kinds": ["veth"],"#, ALL_KEYS),
            [r#"{"kinds":["bridge"],"namespace":"host","verbs":["read"]}"#]
        );
        assert_eq!(
            lacks("", r#""net.ipv4.ip_forward""#),
            [r#"{"keys":["net.ipv6.conf.*.accept_ra"],"namespace":"host","verbs":["read"]}"#]
        );
    }

    #[test]
    fn a_narrower_read_is_told_from_a_missing_one() {
        let other = rules(r#"{"route": [{"namespace": "container", "verbs": ["read"]}]}"#);
        let imported = imported(&[(Capability::Route, &["add", "list"])]);
        let narrowed = |rule: &str| {
            let granted = rules(&format!(r#"{{"route": [{rule}]}}"#));
            narrowed_beside(&granted, &other, &imported).len()
        };
        let own = r#"{"namespace": "container", "links": ["{ifname}"], "verbs": ["read"]}"#;
        assert_eq!(narrowed(own), 1);
        assert_eq!(narrowed(r#"{"verbs": ["read"]}"#), 0);
        // That is missing.
        assert_eq!(narrowed(r#"{"namespace": "host", "verbs": ["read"]}"#), 0);
        assert_eq!(
            narrowed(r#"{"namespace": "container", "verbs": ["create"]}"#),
            0
        );
    }

    #[test]
    fn a_grant_of_ipv4_needs_no_parameters_of_ipv6() {
        let granted = with(ALL).replace(", \"net.ipv6.conf.all.forwarding\"", "");
        assert_eq!(lacks(&granted).len(), 1, "{granted}");
        let of = |network: &str| {
            let address =
                format!(r#"{{"address": [{{"addresses": ["{network}"], "verbs": ["create"]}}], "#);
            address + &granted[1..]
        };
        assert_eq!(lacks(&of("10.0.0.0/8")), []);
        assert_eq!(lacks(&of("fd00::/8")).len(), 1);
    }

    #[test]
    fn imports_alone_show_what_cannot_be_read() {
        let imported = imported(&[
            (Capability::Device, &["by-link"]),
            (Capability::Link, &["get", "update"]),
            (Capability::Route, &["add", "list"]),
            (Capability::Store, &["open", "read-file"]),
        ]);
        let lacks = |granted: &str| {
            let lacking = lacking_alone(&rules(granted), &imported).into_iter();
            lacking
                .map(|one| (one.capability, one.functions.join(" "), one.reads))
                .collect::<Vec<_>>()
        };
        let device = (Capability::Device, "by-link".to_owned(), Reads::All);
        // Without routes it may add none, so it need not look for them.
        assert_eq!(lacks("{}"), [device]);
        let link = |rules: &str| format!(r#"{{"device": [{{}}], "link": [{rules}]}}"#);
        let both = r#"{"namespace": "host", "verbs": ["update"]}, {"namespace": "container", "verbs": ["read"]}"#;
        let host = Reads::Namespaces(vec!["host".to_owned()]);
        assert_eq!(
            lacks(&link(both)),
            [(Capability::Link, "get".to_owned(), host)]
        );
        // What it makes itself it has.
        assert_eq!(lacks(&link(&both.replace("update", "create"))), []);
        let file = (Capability::Store, "read-file".to_owned(), Reads::All);
        assert_eq!(lacks(r#"{"device": [{}], "store": [{}]}"#), [file]);
        assert_eq!(
            lacks(r#"{"device": [{}], "store": [{}, {"files": ["/etc/a"]}]}"#),
            []
        );
    }
}
