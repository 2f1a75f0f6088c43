//! The rule that allows what an operation did.

use std::collections::BTreeSet;

use super::Rule;
use super::fields::RuleFields;
use crate::field::{Field, FieldType, Has, Seen, Texts};

/// A rule for one object, and the fields that the object says nothing about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Draft {
    pub rule: RuleFields,
    pub open: BTreeSet<&'static str>,
    /// The fields that a rule must not have to allow the object.
    pub free: BTreeSet<&'static str>,
}

impl Draft {
    /// An empty rule of a capability.
    pub(crate) fn new<R: Rule>() -> Self {
        Self {
            rule: RuleFields::new(R::CAPABILITY),
            open: BTreeSet::new(),
            free: BTreeSet::new(),
        }
    }

    /// Sets a field to what an operation had for it.
    pub(crate) fn set<T: FieldType>(
        &mut self,
        key: &'static str,
        has: Has<T::Fact<'_>>,
        seen: &Seen<'_>,
    ) {
        let Some(field) = self.rule.field(key) else {
            return;
        };
        if field.is_never_suggested && !(seen.is_least && self.applies(field)) {
            return;
        }
        match has {
            Has::One(fact) => {
                let values = T::write(fact, seen);
                if field.is_never_suggested && values.is_empty() {
                    // It has no owner, or is nothing in particular.
                    self.free.insert(key);
                } else {
                    self.rule.fields.insert(key.to_owned(), values);
                }
            }
            Has::Nothing if !field.is_alternative => {
                self.open.insert(key);
            }
            Has::Nothing | Has::Later => {}
            Has::Anything => {
                self.free.insert(key);
            }
        }
    }

    /// Whether a field applies to operations of the rule's verb.
    fn applies(&self, field: &Field) -> bool {
        self.rule.verbs().iter().any(|verb| field.is_for(*verb))
    }
}

/// Gives the rules of several objects of one operation the same bounds on its parts, such as the ports of a transaction on
/// packet filters: what any of them needs, and nothing if none needs any. Fields on `unseen` parts stay away.
pub fn bound_parts(drafts: &mut [Draft], unseen: &[&str]) {
    for at in 0..drafts.len() {
        let draft = &drafts[at];
        let is_of_parts = |field: &&Field| {
            let is_narrowing = field.is_never_suggested && field.is_alternative;
            is_narrowing && draft.applies(field) && !unseen.contains(&field.key)
        };
        let fields = draft.rule.described().iter().filter(is_of_parts);
        let needed = fields.filter_map(|field| {
            let values = needed(drafts, &draft.rule, field.key)?;
            Some((field.key.to_owned(), values))
        });
        let needed: Vec<(String, Texts)> = needed.collect();
        drafts[at].rule.fields.extend(needed);
    }
}

/// The values of a field that objects with the same verbs need; none if one of them needs a rule without the field.
fn needed(drafts: &[Draft], rule: &RuleFields, key: &str) -> Option<Texts> {
    let is_alike = |other: &&Draft| {
        other.rule.capability == rule.capability && other.rule.verbs() == rule.verbs()
    };
    let alike = drafts.iter().filter(is_alike);
    let mut values = Texts::new();
    for draft in alike {
        if draft.free.contains(key) {
            return None;
        }
        values.extend(draft.rule.get(key).into_iter().flatten().cloned());
    }
    Some(values)
}
