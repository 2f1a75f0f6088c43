//! Capability `policy-rule`: rules that plugins add. No look-up of a route uses them.

use ipnet::IpNet;

use super::Call;
use super::error::{EEXIST, ENOENT, Result, invalid};
use super::state::{check_name, network as read_network};
use crate::bindings::weir::cni::policy_rule::Rule;
use crate::bindings::weir::cni::types::{IpFamily, IpNetwork, Namespace};

/// Adds a rule. Errors: `exists`, `invalid`.
pub fn add(namespace: Namespace, rule: &Rule) -> Result<()> {
    changing("policy-rule.add", namespace, rule).run(|machine| {
        let rules = &mut machine.network(namespace)?.policy_rules;
        let mut new = resolved(rule)?;
        new.priority = new
            .priority
            .or_else(|| Some(free_priority(rules, new.family)));
        if rules.iter().any(|there| is_refused_beside(&new, there)) {
            return Err(EEXIST.into());
        }
        let behind = |there: &&Rule| is_behind(there, &new);
        let at = rules.len() - rules.iter().rev().take_while(behind).count();
        rules.insert(at, new);
        Ok(())
    })
}

/// Removes the first rule that has these selectors; what is absent matches any. Errors: `not-found`.
pub fn delete(namespace: Namespace, rule: &Rule) -> Result<()> {
    changing("policy-rule.delete", namespace, rule).run(|machine| {
        let rules = &mut machine.network(namespace)?.policy_rules;
        let wanted = resolved(rule)?;
        let at = rules.iter().position(|there| is_meant(there, &wanted));
        rules.remove(at.ok_or(ENOENT)?);
        Ok(())
    })
}

/// Returns the rules of one family or of both.
pub fn list(namespace: Namespace, family: Option<IpFamily>) -> Result<Vec<Rule>> {
    let call = Call::of("policy-rule.list").within(namespace);
    call.run(|machine| {
        let mut rules = machine.look(namespace)?.policy_rules.clone();
        rules.retain(|rule| family.is_none_or(|wanted| rule.family == wanted));
        Ok(rules)
    })
}

fn changing<'a>(function: &'static str, namespace: Namespace, rule: &Rule) -> Call<'a> {
    let call = Call::of(function).within(namespace);
    call.with(rule.to_string().trim_start_matches("rule "))
}

/// A rule as the kernel keeps it. Errors: `invalid`.
fn resolved(rule: &Rule) -> Result<Rule> {
    for name in rule.input_link.iter().chain(&rule.output_link) {
        check_name(name)?;
    }
    if rule.table == 0 {
        return Err(invalid("table 0 is not a table"));
    }
    let mut kept = rule.clone();
    kept.source = restricting(rule, rule.source)?;
    kept.destination = restricting(rule, rule.destination)?;
    (kept.mark, kept.mark_mask) = match (rule.mark, rule.mark_mask) {
        (None, Some(_)) => return Err(invalid("a mask is of no use without a mark")),
        (None, None) | (Some(0), Some(0)) => (None, None),
        (Some(mark), mask) => (Some(mark), mask.or(Some(u32::MAX))),
    };
    Ok(kept)
}

/// A selector; none if every address is in the network. Errors: `invalid`.
fn restricting(rule: &Rule, selector: Option<IpNetwork>) -> Result<Option<IpNetwork>> {
    let Some(network) = selector else {
        return Ok(None);
    };
    let read: IpNet = read_network(network)?;
    if IpFamily::of(read.addr()) != rule.family || read != read.trunc() {
        let why = "is of the other family, or has bits behind its prefix";
        return Err(invalid(format!("{read} {why}")));
    }
    Ok(selector.filter(|network| network.prefix_length != 0))
}

/// Before the second rule of the family.
fn free_priority(rules: &[Rule], family: IpFamily) -> u32 {
    let mut own = rules.iter().filter(|rule| rule.family == family);
    match own.nth(1) {
        Some(Rule {
            priority: Some(second),
            ..
        }) if *second > 0 => second - 1,
        _ => 0,
    }
}

/// Whether the kernel looks at a rule later than at a new one.
fn is_behind(there: &Rule, new: &Rule) -> bool {
    match (there.family, new.family) {
        (IpFamily::Ipv6, IpFamily::Ipv4) => true,
        (IpFamily::Ipv4, IpFamily::Ipv6) => false,
        _ => there.priority > new.priority,
    }
}

/// Whether the kernel takes a new rule for one that is there. It does not look at networks that the new one leaves out.
fn is_refused_beside(new: &Rule, there: &Rule) -> bool {
    let blind = Rule {
        source: new.source.and(there.source),
        destination: new.destination.and(there.destination),
        ..there.clone()
    };
    blind == *new
}

/// Whether a rule is one to remove. A mark and a mask of 0 match any, too.
fn is_meant(there: &Rule, wanted: &Rule) -> bool {
    let restricts = |number: &u32| *number != 0;
    let found = Rule {
        priority: wanted.priority.and(there.priority),
        source: wanted.source.and(there.source),
        destination: wanted.destination.and(there.destination),
        input_link: wanted.input_link.as_ref().and(there.input_link.clone()),
        output_link: wanted.output_link.as_ref().and(there.output_link.clone()),
        mark: wanted.mark.filter(restricts).and(there.mark),
        mark_mask: wanted.mark_mask.filter(restricts).and(there.mark_mask),
        ..there.clone()
    };
    let sought = Rule {
        mark: wanted.mark.filter(restricts),
        mark_mask: wanted.mark_mask.filter(restricts),
        ..wanted.clone()
    };
    found == sought
}
