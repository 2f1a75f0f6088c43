//! Random rules and operations, from their descriptions: what property tests and fuzz targets try.

use super::Capability;
use super::chance::{Chance, one_of};
use super::field::Field;
use super::query::Query;
use super::rule::RuleFields;

pub use super::operation_names::examples::operation;

/// Up to three rules of a capability.
pub fn rules(chance: &mut dyn Chance, capability: Capability) -> Vec<RuleFields> {
    let count = chance.below(4);
    (0..count).map(|_| rule(chance, capability)).collect()
}

fn rule(chance: &mut dyn Chance, capability: Capability) -> RuleFields {
    let mut rule = RuleFields::new(capability);
    let is_name = capability.description().is_some_and(|d| d.is_name);
    for field in rule.described() {
        if is_name || chance.below(2) == 0 {
            rule = rule.with(field.key, values(chance, field));
        }
    }
    rule
}

fn values(chance: &mut dyn Chance, field: &Field) -> Vec<&'static str> {
    let count = if field.is_list { chance.below(4) } else { 1 };
    (0..count).map(|_| one_of(chance, field.examples)).collect()
}

/// Operations of a capability, as many as are asked for.
pub fn operations(
    chance: &mut dyn Chance,
    capability: Capability,
    count: usize,
) -> Vec<Box<dyn Query>> {
    (0..count)
        .filter_map(|_| operation(chance, capability))
        .collect()
}
