//! What a rule of a grant is, whatever its capability.
//!
//! | file | subject |
//! |---|---|
//! | `declare` | the macro that declares a rule and the table of its fields together |
//! | `matching` | how a rule's fields are matched, and which came closest |
//! | `fields` | a rule as its fields: what the tools compare and put together |
//! | `draft` | the rule that allows what an operation did |
//! | `points` | rules for a single object each, to distinguish two grants |
//! | `possible` | what a rule allows of a question that leaves something open |
//! | `sentence` | a rule in words |

pub(crate) mod declare;
mod draft;
mod fields;
mod matching;
mod points;
mod possible;
mod sentence;

use std::fmt;

use super::Capabilities;
use super::field::{Field, Seen, Texts};
use super::invocation::Invocation;
use super::verb::{Verb, VerbSet};
pub use draft::{Draft, bound_parts};
pub use fields::{Bounds, RuleFields, capabilities, merge, rules_of};
pub use matching::{Matched, Miss};
pub use possible::Facts;
pub use sentence::{Sentence, bounds_in_words, facts_in_words, sentence};
pub(crate) use sentence::{listed, listed_of, owned};

/// A type of rule that a grant has a list of.
pub trait Listed: Sized {
    /// This capability's rules of a grant.
    fn of(capabilities: &Capabilities) -> &[Self];
}

/// One rule of a grant. `rule!` implements it.
pub trait Rule: VerbSet + Listed {
    /// One object that an operation touches, and how.
    type Requirement: fmt::Display + Clone;

    /// The verbs' words in a sentence.
    const DONE: &'static [&'static str];

    /// The fields that a rule may have.
    const FIELDS: &'static [Field];

    /// Whether a rule is only a name, not a mapping.
    const IS_NAME: bool = false;

    /// The same, for the tools.
    const DESCRIPTION: Description = Description::of::<Self>();

    /// Expands a requirement under a grant's rules: usually itself. One that is not specific must be
    /// allowed in each way in which it can come about; one rule must meet each of these.
    fn spread(_rules: &[Self], requirement: Self::Requirement) -> Vec<Self::Requirement> {
        vec![requirement]
    }

    /// The first field of the rule that does not match, or none when the rule allows it.
    fn miss(&self, requirement: &Self::Requirement, invocation: &Invocation) -> Option<Miss>;

    /// Drafts the rule that allows a requirement.
    fn draft(requirement: &Self::Requirement, seen: &Seen<'_>) -> Draft;

    /// The values that a requirement has for the fields.
    fn facts(requirement: &Self::Requirement) -> Facts;

    /// Says in words what a rule allows. Fields that it does not mention are added as they are.
    fn sentence(rule: &mut Sentence<'_>) -> String;

    /// Says in words what a field bounds, where a word for all capabilities does not.
    fn bound(_key: &str, _values: &Texts) -> Option<String> {
        None
    }

    /// Splits a rule that allows several kinds of operations, each with its own fields, into one for each kind.
    fn split(rule: RuleFields) -> Vec<RuleFields> {
        vec![rule]
    }

    /// Says what the rules of a grant allow only together, a sentence for each, where that can grow although each rule
    /// allows less.
    fn together(_rules: &[Self]) -> Vec<String> {
        Vec::new()
    }

    /// Joins the parts that `split` made.
    fn gather(parts: Vec<RuleFields>) -> Vec<RuleFields> {
        parts
    }
}

/// Describes the rules of a capability, for the tools.
pub struct Description {
    pub verbs: &'static [Verb],
    /// The verbs' words in a sentence.
    pub(crate) done: &'static [&'static str],
    pub fields: &'static [Field],
    /// Whether a rule is only a name.
    pub is_name: bool,
    pub(crate) sentence: fn(&mut Sentence<'_>) -> String,
    pub(crate) bound: fn(&str, &Texts) -> Option<String>,
    /// What the rules of a grant allow only together.
    pub together: fn(&Capabilities) -> Vec<String>,
    pub(crate) split: fn(RuleFields) -> Vec<RuleFields>,
    pub(crate) gather: fn(Vec<RuleFields>) -> Vec<RuleFields>,
}

impl Description {
    /// Describes a capability's rules.
    pub(crate) const fn of<R: Rule>() -> Self {
        Self {
            verbs: R::VERBS,
            done: R::DONE,
            fields: R::FIELDS,
            is_name: R::IS_NAME,
            sentence: R::sentence,
            bound: R::bound,
            together: |capabilities| R::together(R::of(capabilities)),
            split: R::split,
            gather: R::gather,
        }
    }

    /// Returns the field of a key.
    pub fn field(&self, key: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.key == key)
    }
}
