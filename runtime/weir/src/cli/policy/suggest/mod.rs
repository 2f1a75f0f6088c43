//! The smallest grant that covers what was recorded.
//!
//! Each object of each operation becomes a rule, with the invocation's values as placeholders, generated names as globs, and
//! addresses as their networks. Then rules are merged if that allows nothing more.
//!
//! | file | subject |
//! |---|---|
//! | `bounds` | the bounds of the grants under which something was recorded |
//! | `listed` | the links that a plugin finds in a list |
//! | `networks` | few networks |

mod bounds;
mod listed;
mod networks;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use bounds::bounded;
use ipnet::IpNet;
use listed::seen_in_lists;
use networks::bound_networks;
use serde::Serialize;
use weir_grant::field::Seen;
use weir_grant::query::{Need, Query};
use weir_grant::rule::{Draft, RuleFields, bound_parts, capabilities, merge, rules_of};
use weir_grant::{Capabilities, Capability, Invocation};

pub use networks::networks_given;

/// A recorded operation and its invocation.
pub struct Recorded {
    pub invocation: Invocation,
    pub operation: Box<dyn Query>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Suggested {
    pub capabilities: Capabilities,
    /// What no rule can allow.
    pub without_rule: Vec<WithoutRule>,
}

/// A recorded request that no rule can allow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct WithoutRule {
    /// ``write the store in `/a/../b` ``.
    pub need: String,
    pub because: String,
}

/// Capabilities that allow everything that rules can allow. A plugin may have requested the rest on purpose, to prevent a
/// suggestion. `networks` are those in which links got addresses, and `within` the grants that allowed what was recorded.
///
/// Errors: rules that are valid one by one, but not together.
pub fn suggest(
    recorded: &[Recorded],
    networks: &[IpNet],
    within: &[&Capabilities],
) -> Result<Suggested, String> {
    let listed = seen_in_lists(recorded);
    let needs: Vec<(Need, &Invocation)> = recorded
        .iter()
        .chain(&listed)
        .flat_map(|r| r.operation.needs().into_iter().map(|n| (n, &r.invocation)))
        .collect();
    let needs = needs.as_slice();
    let mut without_rule = BTreeSet::new();
    let parts = parts(needs, networks, false, &mut without_rule);
    let (closed, open): (Vec<Draft>, Vec<Draft>) =
        parts.into_iter().partition(|p| p.open.is_empty());
    let mut rules = merge(closed.into_iter().map(|p| p.rule).collect());
    rules.iter_mut().for_each(bound_networks);
    let mut others = Vec::new();
    for part in open {
        match rules.iter_mut().find(|rule| goes_with(&part, rule)) {
            Some(rule) => join(&part, rule),
            None => others.push(part),
        }
    }
    rules.extend(merge(not_met(others, &rules, needs, networks)?));
    let suggested = merge(rules);
    let mut all = in_order(bounded(&suggested, within))?;
    if !still_not_met(&all, needs, &without_rule).is_empty() {
        all = in_order(suggested)?;
    }
    without_rule.extend(still_not_met(&all, needs, &without_rule));
    Ok(Suggested {
        capabilities: all,
        without_rule: without_rule.into_iter().collect(),
    })
}

/// Capabilities of these rules, in the contract's order.
fn in_order(mut rules: Vec<RuleFields>) -> Result<Capabilities, String> {
    rules.sort_by_key(|rule| rule.capability);
    capabilities(&rules).map_err(|e| e.to_string())
}

/// Returns the least rules that these capabilities lack for one operation.
///
/// Errors: as of [`suggest`].
pub fn least(
    given: &Capabilities,
    operation: &dyn Query,
    invocation: &Invocation,
) -> Result<Suggested, String> {
    let networks = networks_given(operation);
    let needs = operation.needs().into_iter();
    let needs: Vec<(Need, &Invocation)> = needs.map(|need| (need, invocation)).collect();
    let (mut without_rule, mut drafts) = (BTreeSet::new(), BTreeSet::new());
    let (mut rules, mut all) = (Vec::new(), given.clone());
    // The second time, for what must also be allowed on the hooks that the new rules add.
    for _ in 0..2 {
        let lacking = lacking(&needs, &all);
        drafts.extend(parts(&lacking, &networks, true, &mut without_rule));
        let mut bounded: Vec<Draft> = drafts.iter().cloned().collect();
        bound_parts(&mut bounded, operation.unseen());
        rules = merge(bounded.into_iter().map(|part| part.rule).collect());
        all = widened(given, &rules)?;
    }
    without_rule.extend(still_not_met(&all, &needs, &without_rule));
    Ok(Suggested {
        capabilities: widened(&Capabilities::default(), &rules)?,
        without_rule: without_rule.into_iter().collect(),
    })
}

/// What the rules do not meet, in each way in which it can come about under them.
fn lacking<'a>(
    needs: &[(Need, &'a Invocation)],
    given: &Capabilities,
) -> Vec<(Need, &'a Invocation)> {
    let ways = needs.iter().flat_map(|(need, of)| {
        let ways = need.ways(given).into_iter().chain([need.clone()]);
        ways.map(|way| (way, *of))
    });
    ways.filter(|(need, of)| !need.is_met(given, of)).collect()
}

/// The rules, and more of them.
fn widened(given: &Capabilities, more: &[RuleFields]) -> Result<Capabilities, String> {
    let given = Capability::ALL.into_iter().flat_map(|c| rules_of(given, c));
    let all: Vec<RuleFields> = given.chain(more.iter().cloned()).collect();
    capabilities(&all).map_err(|e| e.to_string())
}

/// The rule for each object; those without one are added to `without_rule`.
fn parts(
    needs: &[(Need, &Invocation)],
    networks: &[IpNet],
    is_least: bool,
    without_rule: &mut BTreeSet<WithoutRule>,
) -> BTreeSet<Draft> {
    let mut parts = BTreeSet::new();
    for (need, invocation) in needs {
        let part = need.draft(&Seen {
            invocation,
            networks,
            is_least,
        });
        if parts.contains(&part) {
            continue;
        }
        if let Err(error) = capabilities(std::slice::from_ref(&part.rule)) {
            without_rule.insert(WithoutRule {
                need: need.to_string(),
                because: error.to_string(),
            });
        } else {
            parts.insert(part);
        }
    }
    parts
}

/// Whether a rule differs from a draft only in the draft's open fields and the verbs.
fn goes_with(draft: &Draft, rule: &RuleFields) -> bool {
    let is_compared = |field: &str| field != "verbs" && !draft.open.contains(field);
    let compared = |rule: &RuleFields| -> Vec<_> {
        let fields = rule.fields.clone().into_iter();
        fields.filter(|(field, _)| is_compared(field)).collect()
    };
    rule.capability == draft.rule.capability && compared(rule) == compared(&draft.rule)
}

/// Adds the verbs of a draft to a rule.
fn join(draft: &Draft, rule: &mut RuleFields) {
    if let Some(verbs) = draft.rule.get("verbs") {
        let own = rule.fields.entry("verbs".to_owned()).or_default();
        own.extend(verbs.iter().cloned());
    }
}

/// The rules of the parts that no other rule covers.
fn not_met(
    parts: Vec<Draft>,
    rules: &[RuleFields],
    needs: &[(Need, &Invocation)],
    networks: &[IpNet],
) -> Result<Vec<RuleFields>, String> {
    let so_far = capabilities(rules).map_err(|e| e.to_string())?;
    let is_missing = |(need, of): &&(Need, &Invocation)| !need.is_met(&so_far, of);
    let missing: Vec<(Need, &Invocation)> = needs.iter().filter(is_missing).cloned().collect();
    let missing = self::parts(&missing, networks, false, &mut BTreeSet::new());
    let missing = parts.into_iter().filter(|part| missing.contains(part));
    Ok(missing.map(|part| part.rule).collect())
}

/// What the gate would deny under these rules, beyond what is known.
fn still_not_met(
    suggested: &Capabilities,
    needs: &[(Need, &Invocation)],
    known: &BTreeSet<WithoutRule>,
) -> Vec<WithoutRule> {
    let known: BTreeSet<&str> = known.iter().map(|one| one.need.as_str()).collect();
    let not_met = needs
        .iter()
        .filter(|(need, invocation)| !need.is_met(suggested, invocation))
        .map(|(need, _)| WithoutRule {
            need: need.to_string(),
            because: "the rule that was written for it does not allow it".to_owned(),
        });
    not_met
        .filter(|one| !known.contains(one.need.as_str()))
        .collect()
}
