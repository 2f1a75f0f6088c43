//! Capability `policy-rule`: rules, which no look-up uses.

use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::address::Family;
use weir_grant::policy_rule::{Add, Delete, List, PolicyRule};
use weir_kernel::{Answer, Changes, Perform, Result, checks};

use super::error::refused;
use super::kernel::Model;

/// The kernel's own: for the tables `local`, `main` and, with IPv4, `default`.
pub(crate) fn of_every_namespace() -> Vec<PolicyRule> {
    let rule = |family, priority, table| PolicyRule {
        priority: Some(priority),
        ..PolicyRule::new(family, table)
    };
    vec![
        rule(Family::Ipv4, 0, 255),
        rule(Family::Ipv4, 32766, 254),
        rule(Family::Ipv4, 32767, 253),
        rule(Family::Ipv6, 0, 255),
        rule(Family::Ipv6, 32766, 254),
    ]
}

impl Perform<Add> for Model {
    fn perform(&mut self, permit: &Permit<Add>, changes: &mut Changes<'_>) -> Result<()> {
        let Add { namespace, rule } = permit.operation();
        let made = self.change(|machine| {
            let rules = &mut machine.state.of(*namespace)?.policy_rules;
            checks::policy_rule(rule)?;
            add(rules, rule).ok_or_else(|| {
                let doing = format!("add the {}", rule.words(*namespace));
                refused(Errno::EEXIST, doing)
            })
        })?;
        changes.undo_with(Delete {
            namespace: *namespace,
            rule: made,
        });
        Ok(())
    }
}

/// The rule with its priority; none where it exists.
fn add(rules: &mut Vec<PolicyRule>, wanted: &PolicyRule) -> Option<PolicyRule> {
    let wanted = PolicyRule {
        priority: wanted
            .priority
            .or_else(|| Some(chosen(rules, wanted.family))),
        ..normal(wanted)
    };
    if rules.iter().any(|rule| is_like(rule, &wanted)) {
        return None;
    }
    let place = |rule: &PolicyRule| (rule.family == Family::Ipv6, rule.priority);
    let at = rules.iter().position(|rule| place(rule) > place(&wanted));
    rules.insert(at.unwrap_or(rules.len()), wanted.clone());
    Some(wanted)
}

/// The priority that the kernel gives to a rule without one: before the second of its family.
fn chosen(rules: &[PolicyRule], family: Family) -> u32 {
    let second = rules.iter().filter(|rule| rule.family == family).nth(1);
    let priority = second.and_then(|rule| rule.priority);
    priority.unwrap_or(0).saturating_sub(1)
}

/// As the kernel shows it: what restricts nothing is left out, and a mask is there where a mark is.
fn normal(rule: &PolicyRule) -> PolicyRule {
    let mask = rule.mark.map(|_| rule.mark_mask.unwrap_or(u32::MAX));
    let is_marked = (rule.mark, mask) != (Some(0), Some(0));
    PolicyRule {
        source: rule.source.filter(|source| source.prefix_len() > 0),
        destination: rule.destination.filter(|to| to.prefix_len() > 0),
        mark: rule.mark.filter(|_| is_marked),
        mark_mask: mask.filter(|_| is_marked),
        ..rule.clone()
    }
}

/// Whether the kernel refuses `wanted` beside this one: networks that it leaves out match any.
fn is_like(there: &PolicyRule, wanted: &PolicyRule) -> bool {
    let same = (there.family, there.table, there.priority)
        == (wanted.family, wanted.table, wanted.priority)
        && (there.mark, there.mark_mask) == (wanted.mark, wanted.mark_mask);
    same && (&there.input_link, &there.output_link) == (&wanted.input_link, &wanted.output_link)
        && may_be(there.source, wanted.source)
        && may_be(there.destination, wanted.destination)
}

/// What is wanted, or anything if nothing is.
fn may_be<T: PartialEq>(there: Option<T>, wanted: Option<T>) -> bool {
    wanted.is_none() || there == wanted
}

impl Answer<Delete> for Model {
    fn answer(&mut self, permit: &Permit<Delete>) -> Result<()> {
        let Delete { namespace, rule } = permit.operation();
        self.change(|machine| {
            let rules = &mut machine.state.of(*namespace)?.policy_rules;
            checks::policy_rule(rule)?;
            let wanted = normal(rule);
            let at = rules.iter().position(|rule| is_meant(rule, &wanted));
            let doing = format!("remove the {}", rule.words(*namespace));
            rules.remove(at.ok_or_else(|| refused(Errno::ENOENT, doing))?);
            Ok(())
        })
    }
}

/// Whether a rule is one to remove: what is left out matches any, and so does a mark or a mask of 0.
fn is_meant(there: &PolicyRule, wanted: &PolicyRule) -> bool {
    let number = |number: Option<u32>| number.filter(|number| *number != 0);
    (there.family, there.table) == (wanted.family, wanted.table)
        && may_be(there.priority, wanted.priority)
        && may_be(there.source, wanted.source)
        && may_be(there.destination, wanted.destination)
        && may_be(there.input_link.as_ref(), wanted.input_link.as_ref())
        && may_be(there.output_link.as_ref(), wanted.output_link.as_ref())
        && may_be(number(there.mark), number(wanted.mark))
        && may_be(number(there.mark_mask), number(wanted.mark_mask))
}

impl Answer<List, Vec<PolicyRule>> for Model {
    fn answer(&mut self, permit: &Permit<List>) -> Result<Vec<PolicyRule>> {
        let List { namespace, family } = permit.operation();
        self.look(|state| {
            let rules = state.of(*namespace)?.policy_rules.iter();
            let wanted = rules.filter(|rule| family.is_none_or(|family| family == rule.family));
            Ok(wanted.cloned().collect())
        })
    }
}
