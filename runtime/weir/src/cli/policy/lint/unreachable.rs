//! Rules, and parts of rules, that no operation can match.

use weir_grant::field::Field;
use weir_grant::phrase::{joined, quoted};
use weir_grant::rule::RuleFields;
use weir_grant::{Capability, Verb};

use super::{Remark, warning};

/// Why no operation can match a rule, or a part of it.
pub(super) fn no_effect(rule: &RuleFields) -> Vec<Remark> {
    let mut findings = Vec::new();
    // A rule about the sets of a table has no hook and no statement.
    if rule.capability != Capability::Firewall {
        findings.extend(empty(rule));
    }
    findings.extend(no_such_hooks(rule));
    findings.extend(read_only(rule));
    findings.extend(not_said(rule));
    let unused = rule.unused().into_iter();
    let verbs = joined(quoted(rule.verbs()), "and");
    for field in unused.filter(|f| rule.get(f).is_some() && !is_place(rule, f)) {
        let text = format!("`{field}` has no effect: operations of {verbs} have none");
        findings.push(warning("no-effect", text));
    }
    let flaws = rule.flaws().into_iter();
    findings.extend(flaws.map(|(code, text)| warning(code, text)));
    findings
}

fn empty(rule: &RuleFields) -> Vec<Remark> {
    let empty = rule.fields.iter().filter(|(_, values)| values.is_empty());
    let text = |field| format!("`{field}` is empty: nothing matches it");
    empty
        .map(|(field, _)| warning("no-effect", text(field)))
        .collect()
}

/// Whether a rule without the field would be about something else.
fn is_place(rule: &RuleFields, key: &str) -> bool {
    let mut fields = rule.described().iter();
    fields.any(|field| field.key == key && !field.left_out_is_all)
}

/// Hooks that the families do not have.
fn no_such_hooks(rule: &RuleFields) -> Vec<Remark> {
    let (Some(families), Some(hooks)) = (rule.get("families"), rule.get("hooks")) else {
        return Vec::new();
    };
    let shown: Vec<String> = families.iter().map(|f| format!("`{f}`")).collect();
    let shown = joined(shown, "and");
    let text = |hook| format!("tables of {shown} have no hook `{hook}`");
    let is_nowhere = |hook: &&String| !families.iter().any(|family| has_hook(family, hook));
    let nowhere = hooks.iter().filter(is_nowhere);
    nowhere
        .map(|hook| warning("no-effect", text(hook)))
        .collect()
}

/// Fields that allow only reading, in a rule without that verb.
fn read_only(rule: &RuleFields) -> Vec<Remark> {
    let unused = rule.unused().into_iter().filter(|key| is_place(rule, key));
    let text = |field| format!("`{field}` has no effect: a file can only be read");
    unused
        .filter(|field| rule.get(field).is_some())
        .map(|field| warning("no-effect", text(field)))
        .collect()
}

/// Verbs whose operations do not have a field, in a rule with that field.
fn not_said(rule: &RuleFields) -> Option<Remark> {
    let bound = |verb: &Verb| {
        let says_not = |field: &&Field| field.not_said_by.contains(verb);
        let mut fields = rule.described().iter().filter(says_not);
        fields.find(|field| rule.get(field.key).is_some())
    };
    let named = rule.get("verbs")?;
    let verbs = rule.verbs().into_iter();
    let mut named = verbs.filter(|verb| named.contains(verb.word()));
    let (verb, field) = named.find_map(|verb| Some((verb, bound(&verb)?)))?;
    let text = format!(
        "`{verb}` has no effect beside `{}`: only rules without it allow that verb",
        field.key
    );
    Some(warning("no-effect", text))
}

fn has_hook(family: &str, hook: &str) -> bool {
    match family {
        "arp" => ["input", "output"].contains(&hook),
        "netdev" => ["ingress", "egress"].contains(&hook),
        "inet" => hook != "egress",
        _ => !["ingress", "egress"].contains(&hook),
    }
}
