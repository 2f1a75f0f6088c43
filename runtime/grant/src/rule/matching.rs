//! How a rule's fields are matched, in order.

use crate::field::{FieldType, Has};
use crate::invocation::Invocation;

/// The field in which a rule missed. Later fields in a rule are closer misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Miss {
    /// How many fields of the rule matched before this one.
    pub matched: usize,
    /// The field's key in the document.
    pub field: &'static str,
}

/// Matches a rule's fields in order.
#[derive(Default)]
pub struct Matched {
    count: usize,
    miss: Option<Miss>,
}

impl Matched {
    /// Matches a field with what an operation has for it.
    pub(crate) fn field<T: FieldType>(
        self,
        key: &'static str,
        values: Option<&T::Values>,
        has: Has<T::Fact<'_>>,
        invocation: &Invocation,
    ) -> Self {
        match (values, has) {
            (_, Has::Nothing) => self.and(key, true),
            // A rule that lists others is closer than one that has no list.
            (None, Has::One(_)) if !T::LEFT_OUT_IS_ALL => self.and(key, false),
            (None, _) => self.and(key, true),
            (Some(_), Has::Anything) => self.and(key, false),
            (Some(values), Has::One(fact)) => {
                let listed = match T::LEFT_OUT_IS_ALL {
                    true => self,
                    false => self.and(key, true),
                };
                listed.and(key, T::matches(values, fact, invocation))
            }
        }
    }

    /// Notes a field, and whether it matches.
    pub(crate) fn and(mut self, field: &'static str, matches: bool) -> Self {
        if self.miss.is_none() {
            if matches {
                self.count += 1;
            } else {
                self.miss = Some(Miss {
                    matched: self.count,
                    field,
                });
            }
        }
        self
    }

    /// The first field that did not match.
    pub fn miss(self) -> Option<Miss> {
        self.miss
    }
}
