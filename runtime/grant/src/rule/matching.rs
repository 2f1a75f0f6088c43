//! How a rule's fields are matched, in order.

use crate::field::{FieldType, Has};
use crate::invocation::Invocation;

/// The field in which a rule did not match. A later field is a closer miss.
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
    /// Matches a field against an operation's value.
    pub(crate) fn field<T: FieldType>(
        self,
        key: &'static str,
        values: Option<&T::Values>,
        has: Has<T::Fact<'_>>,
        invocation: &Invocation,
    ) -> Self {
        match (values, has) {
            (_, Has::Nothing | Has::Later) => self.and(key, true),
            // A rule that lists other values is closer than one without a list.
            (None, Has::One(_)) if !T::LEFT_OUT_IS_ALL => self.and(key, false),
            (None, _) => self.and(key, true),
            (Some(_), Has::Anything) => self.and(key, false),
            (Some(values), Has::One(fact)) => {
                let listed = if T::LEFT_OUT_IS_ALL {
                    self
                } else {
                    self.and(key, true)
                };
                listed.and(key, T::matches(values, fact, invocation))
            }
        }
    }

    /// Notes whether a field matches.
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

    /// Returns the first field that did not match.
    pub fn miss(self) -> Option<Miss> {
        self.miss
    }
}
