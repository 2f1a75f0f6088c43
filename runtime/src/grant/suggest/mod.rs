//! The smallest grant that covers what was recorded.
//!
//! Each object of each operation becomes a rule of its own, with this invocation's values as
//! placeholders, generated names as globs, and addresses as the networks that they were given in. Then
//! rules are put together where that allows nothing more.
//!
//! | file | subject |
//! |---|---|
//! | `part` | the rule for one object |
//! | `spell` | names and keys as a grant would have them |
//! | `networks` | the networks of addresses, and few of them |

mod networks;
mod part;
mod spell;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use ipnet::IpNet;

use super::asked::{Asked, Need};
use super::document::Capabilities;
use super::operation::Invocation;
use super::outline::{Outline, capabilities, merge};
use networks::bound_networks;
use part::Part;

pub use networks::networks_given;

/// One operation that was recorded, and in which invocation.
pub struct Recorded {
    pub invocation: Invocation,
    pub operation: Box<dyn Asked>,
}

/// Capabilities that allow all of it. `networks` are those in which addresses were given to links.
///
/// Errors: an operation that no rule can allow, such as one on a name that no glob can spell.
pub fn suggest(recorded: &[Recorded], networks: &[IpNet]) -> Result<Capabilities, String> {
    let needs: Vec<(Need, &Invocation)> = recorded
        .iter()
        .flat_map(|r| r.operation.needs().into_iter().map(|n| (n, &r.invocation)))
        .collect();
    let part = |(need, invocation): &(Need, &Invocation)| Part::of(need, invocation, networks);
    let whole: BTreeSet<Part> = needs.iter().map(part).collect();
    let (closed, open): (Vec<Part>, Vec<Part>) = whole.into_iter().partition(|p| p.open.is_empty());
    let mut rules = merge(closed.into_iter().map(|p| p.rule).collect());
    rules.iter_mut().for_each(bound_networks);
    let mut others = Vec::new();
    for part in open {
        match rules.iter_mut().find(|rule| part.goes_with(rule)) {
            Some(rule) => part.join(rule),
            None => others.push(part),
        }
    }
    rules.extend(merge(not_met(others, &rules, &needs, networks)?));
    let mut suggested = merge(rules);
    suggested.sort_by_key(|rule| rule.capability);
    let suggested = capabilities(&suggested).map_err(|e| e.to_string())?;
    prove(&suggested, &needs)?;
    Ok(suggested)
}

/// The rules of the parts that no other rule meets.
fn not_met(
    parts: Vec<Part>,
    rules: &[Outline],
    needs: &[(Need, &Invocation)],
    networks: &[IpNet],
) -> Result<Vec<Outline>, String> {
    let so_far = capabilities(rules).map_err(|e| e.to_string())?;
    let missing: BTreeSet<Part> = needs
        .iter()
        .filter(|(need, invocation)| !need.is_met(&so_far, invocation))
        .map(|(need, invocation)| Part::of(need, invocation, networks))
        .collect();
    let missing = parts.into_iter().filter(|part| missing.contains(part));
    Ok(missing.map(|part| part.rule).collect())
}

fn prove(suggested: &Capabilities, needs: &[(Need, &Invocation)]) -> Result<(), String> {
    let missed = needs
        .iter()
        .find(|(need, invocation)| !need.is_met(suggested, invocation));
    match missed {
        None => Ok(()),
        Some((need, _)) => Err(format!("no rule can be written that allows to {need}")),
    }
}
