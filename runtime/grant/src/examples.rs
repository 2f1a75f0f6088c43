//! Rules and operations by chance, from their descriptions: what property tests and fuzz targets try.

use super::capability::Capability;
use super::field::Field;
use super::query::Query;
use super::rule_fields::RuleFields;

pub use super::operation_names::examples::operation;

/// Chooses a number below the one that is given.
pub trait Chance {
    /// The number; 0 where nothing else is below.
    fn below(&mut self, count: usize) -> usize;
}

impl<F: FnMut(usize) -> usize> Chance for F {
    fn below(&mut self, count: usize) -> usize {
        self(count)
    }
}

/// Numbers that are the same for the same seed.
pub struct Seeded(u64);

impl Seeded {
    /// Starts with a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
}

impl Chance for Seeded {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % count.max(1)
    }
}

/// One of some words.
pub(crate) fn one_of<'w>(chance: &mut dyn Chance, words: &[&'w str]) -> &'w str {
    words
        .get(chance.below(words.len()))
        .copied()
        .unwrap_or_default()
}

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
    let count = match field.is_list {
        true => chance.below(4),
        false => 1,
    };
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
