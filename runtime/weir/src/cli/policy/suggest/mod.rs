//! The smallest grant that covers what was recorded.
//!
//! Each object of each operation becomes a rule, with the invocation's values as placeholders, generated names as globs, and
//! addresses as their networks. Then rules are merged if that allows nothing more.
//!
//! | file | subject |
//! |---|---|
//! | `networks` | few networks |

mod networks;
pub mod reads;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use ipnet::IpNet;
use networks::bound_networks;
use serde::Serialize;
use weir_grant::field::Seen;
use weir_grant::query::{Need, Query};
use weir_grant::rule::{Draft, RuleFields, capabilities, merge};
use weir_grant::{Capabilities, Invocation};

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
/// suggestion. `networks` are those in which links got addresses.
///
/// Errors: rules that are valid one by one, but not together.
pub fn suggest(recorded: &[Recorded], networks: &[IpNet]) -> Result<Suggested, String> {
    let needs: Vec<(Need, &Invocation)> = recorded
        .iter()
        .flat_map(|r| r.operation.needs().into_iter().map(|n| (n, &r.invocation)))
        .collect();
    suggest_for(&needs, networks)
}

/// Returns the same for what must be allowed, each with its invocation.
pub fn suggest_for(needs: &[(Need, &Invocation)], networks: &[IpNet]) -> Result<Suggested, String> {
    let mut without_rule = BTreeSet::new();
    let parts = parts(needs, networks, &mut without_rule);
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
    let mut suggested = merge(rules);
    suggested.sort_by_key(|rule| rule.capability);
    let capabilities = capabilities(&suggested).map_err(|e| e.to_string())?;
    without_rule.extend(still_not_met(&capabilities, needs, &without_rule));
    Ok(Suggested {
        capabilities,
        without_rule: without_rule.into_iter().collect(),
    })
}

/// The rule for each object; those without one are added to `without_rule`.
fn parts(
    needs: &[(Need, &Invocation)],
    networks: &[IpNet],
    without_rule: &mut BTreeSet<WithoutRule>,
) -> BTreeSet<Draft> {
    let mut parts = BTreeSet::new();
    for (need, invocation) in needs {
        let part = draft(need, invocation, networks);
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

fn draft(need: &Need, invocation: &Invocation, networks: &[IpNet]) -> Draft {
    need.draft(&Seen {
        invocation,
        networks,
    })
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
    let missing: BTreeSet<Draft> = needs
        .iter()
        .filter(|(need, invocation)| !need.is_met(&so_far, invocation))
        .map(|(need, invocation)| draft(need, invocation, networks))
        .collect();
    let missing = parts.into_iter().filter(|part| missing.contains(part));
    Ok(missing.map(|part| part.rule).collect())
}

/// What the gate would deny under these rules, beyond what is known.
fn still_not_met(
    suggested: &Capabilities,
    needs: &[(Need, &Invocation)],
    told: &BTreeSet<WithoutRule>,
) -> Vec<WithoutRule> {
    let told: BTreeSet<&str> = told.iter().map(|one| one.need.as_str()).collect();
    let not_met = needs
        .iter()
        .filter(|(need, invocation)| !need.is_met(suggested, invocation))
        .map(|(need, _)| WithoutRule {
            need: need.to_string(),
            because: "the rule that was written for it does not allow it".to_owned(),
        });
    not_met
        .filter(|one| !told.contains(one.need.as_str()))
        .collect()
}
