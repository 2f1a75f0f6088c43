//! The rule that allows what an operation did.

use std::collections::BTreeSet;

use super::Rule;
use super::fields::RuleFields;
use crate::field::{FieldType, Has, Seen};

/// A rule for one object, and the fields that the object says nothing about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Draft {
    pub rule: RuleFields,
    pub open: BTreeSet<&'static str>,
}

impl Draft {
    /// An empty rule of a capability.
    pub(crate) fn new<R: Rule>() -> Self {
        Self {
            rule: RuleFields::new(R::CAPABILITY),
            open: BTreeSet::new(),
        }
    }

    /// Sets a field to what an operation had for it.
    pub(crate) fn set<T: FieldType>(
        &mut self,
        key: &'static str,
        has: Has<T::Fact<'_>>,
        seen: &Seen<'_>,
    ) {
        let Some(field) = self
            .rule
            .field(key)
            .filter(|field| !field.is_never_suggested)
        else {
            return;
        };
        match has {
            Has::One(fact) => {
                self.rule
                    .fields
                    .insert(key.to_owned(), T::write(fact, seen));
            }
            Has::Nothing if !field.is_alternative => {
                self.open.insert(key);
            }
            // Only a rule without the field allows it.
            Has::Nothing | Has::Later | Has::Anything => {}
        }
    }
}
