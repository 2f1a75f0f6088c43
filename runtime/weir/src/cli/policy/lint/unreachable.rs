//! Rules, and parts of rules, that no operation can match.

use weir_grant::{Capability, Verb};

use super::super::describe::joined;
use super::super::rule_fields::{RuleFields, is_plain, verbs};
use super::{Finding, warning};

/// The longest name of a link, `IFNAMSIZ` without its end.
const LONGEST_NAME: usize = 15;

/// The kinds that the kernel has words for; others are reported as well, but seldom meant.
const KINDS: [&str; 25] = [
    "bareudp",
    "bond",
    "bridge",
    "dummy",
    "geneve",
    "gre",
    "gretap",
    "ifb",
    "ip6tnl",
    "ipip",
    "ipvlan",
    "ipvtap",
    "loopback",
    "macvlan",
    "macvtap",
    "netkit",
    "physical",
    "sit",
    "team",
    "tun",
    "veth",
    "vlan",
    "vrf",
    "vxlan",
    "wireguard",
];

/// Why no operation can match a rule, or a part of it.
pub(super) fn never_effective(rule: &RuleFields) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (field, values) in &rule.fields {
        // No hook and no statement is what a rule about a table's sets has.
        let may_be_empty = rule.capability == Capability::Firewall;
        if values.is_empty() && !may_be_empty {
            let text = format!("`{field}` is empty: nothing matches it");
            findings.push(warning("never-effective", text));
        }
    }
    findings.extend(wrong_verbs(rule));
    findings.extend(no_such_names(rule));
    findings.extend(no_such_hooks(rule));
    findings.extend(no_such_plugins(rule));
    findings.extend(nothing_read(rule));
    for field in rule.unused().into_iter().filter(|f| rule.get(f).is_some()) {
        let text = format!("`{field}` bounds nothing: what only reads has none");
        findings.push(warning("never-effective", text));
    }
    if let Some(kinds) = rule.get("kinds") {
        let unknown: Vec<String> = kinds
            .iter()
            .filter(|kind| !KINDS.contains(&kind.as_str()))
            .map(|kind| format!("`{kind}`"))
            .collect();
        if !unknown.is_empty() {
            let text = format!(
                "the kernel has no links of kind {} that weir knows; it knows {}",
                joined(unknown, "and"),
                KINDS.join(", ")
            );
            findings.push(warning("unknown-kind", text));
        }
    }
    if let Some(keys) = rule
        .get("keys")
        .filter(|_| rule.capability == Capability::Sysctl)
    {
        for key in keys.iter().filter(|key| !below_net(key)) {
            let text = format!("`{key}` is not below `net.`: no other parameter can be reached");
            findings.push(warning("never-effective", text));
        }
    }
    findings
}

fn below_net(key: &str) -> bool {
    let first = key.split('.').next().unwrap_or_default();
    !is_plain(first) || first == "net"
}

fn wrong_verbs(rule: &RuleFields) -> Option<Finding> {
    let named = rule.get("verbs")?;
    let known = verbs(rule.capability);
    let wrong: Vec<String> = named
        .iter()
        .filter(|verb| !known.iter().any(|k| k.to_string() == **verb))
        .map(|verb| format!("`{verb}`"))
        .collect();
    let known: Vec<String> = known.iter().map(Verb::to_string).collect();
    let text = format!(
        "`{}` has no operation that does {}; its verbs are {}",
        rule.capability,
        joined(wrong.clone(), "or"),
        known.join(", ")
    );
    (!wrong.is_empty()).then(|| warning("never-effective", text))
}

fn no_such_names(rule: &RuleFields) -> Vec<Finding> {
    let mut findings = Vec::new();
    let names = [rule.get("names"), rule.get("links")];
    for name in names.into_iter().flatten().flatten() {
        let is_literal = is_plain(name) && !name.contains('{');
        let impossible = name.len() > LONGEST_NAME || name.contains('/') || name == ".";
        if is_literal && impossible {
            let text = format!(
                "no link is called `{name}`: names have at most {LONGEST_NAME} bytes and no slash"
            );
            findings.push(warning("never-effective", text));
        }
    }
    findings
}

/// The hooks that a family has not.
fn no_such_hooks(rule: &RuleFields) -> Vec<Finding> {
    let (Some(families), Some(hooks)) = (rule.get("families"), rule.get("hooks")) else {
        return Vec::new();
    };
    if rule.capability != Capability::Firewall {
        return Vec::new();
    }
    let nowhere = hooks.iter().filter(|hook| {
        let in_family = |family: &String| hooks_of(family).contains(&hook.as_str());
        !families.iter().any(in_family)
    });
    nowhere
        .map(|hook| {
            let families: Vec<String> = families.iter().map(|f| format!("`{f}`")).collect();
            let text = format!(
                "tables of {} have no hook `{hook}`",
                joined(families, "and")
            );
            warning("never-effective", text)
        })
        .collect()
}

/// Names of IPAM plugins that none can have.
fn no_such_plugins(rule: &RuleFields) -> Vec<Finding> {
    let names = rule
        .get("name")
        .filter(|_| rule.capability == Capability::Ipam);
    let impossible = names.into_iter().flatten();
    impossible
        .filter(|name| !is_plain(name) || name.contains(['{', '/']) || name.is_empty())
        .map(|name| {
            let text = format!("`{name}` is no plugin's name: names are exact here, and no globs");
            warning("never-effective", text)
        })
        .collect()
}

/// What is allowed to be read, and cannot be.
fn nothing_read(rule: &RuleFields) -> Option<Finding> {
    let named = rule.get("verbs")?;
    let reads = named.contains("read");
    let text = match rule.capability {
        Capability::Store if rule.get("files").is_some() && !reads => {
            "`files` is of no effect: files can be read and no more".to_owned()
        }
        Capability::Rule if reads => {
            let of_one = ["sources", "tables", "priorities"];
            let bound = of_one.into_iter().find(|field| rule.get(field).is_some())?;
            format!(
                "`read` is of no effect beside `{bound}`: a look at policy rules shows all of them"
            )
        }
        _ => return None,
    };
    Some(warning("never-effective", text))
}

fn hooks_of(family: &str) -> &'static [&'static str] {
    match family {
        "arp" => &["input", "output"],
        "netdev" => &["ingress", "egress"],
        "inet" => &[
            "prerouting",
            "input",
            "forward",
            "output",
            "postrouting",
            "ingress",
        ],
        _ => &["prerouting", "input", "forward", "output", "postrouting"],
    }
}
