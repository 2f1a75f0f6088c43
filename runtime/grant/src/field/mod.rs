//! The fields of rules. What a field means is said once, in its capability's file, by its type and by what an operation has
//! for it: see [`rule!`](crate::rule::declare).
//!
//! | file | subject |
//! |---|---|
//! | `types` | the types of fields: what their values match, and how two of them compare |
//! | `read` | how a document's verbs and networks are read |

mod read;
pub mod types;

use std::any::TypeId;
use std::collections::BTreeSet;

use ipnet::IpNet;
use serde_json::Value;

use super::invocation::Invocation;
use super::verb::Verb;
pub use read::{Networks, Verbs};

/// The values of a field, as they are written in a document. A scalar is one of them.
pub type Texts = BTreeSet<String>;

/// A type of field.
///
/// The gate uses `matches` alone; the rest is for the tools.
pub trait FieldType: 'static {
    /// What a rule holds: a list, or one value.
    type Values: 'static;

    /// What an operation has, to be matched with the values.
    type Fact<'r>: Copy;

    /// Whether a rule that leaves the field out matches whatever an operation has; nothing of the sort otherwise.
    const LEFT_OUT_IS_ALL: bool = true;

    /// Whether a document has a list, and not one value.
    const IS_LIST: bool = true;

    /// Whether a document has numbers as numbers.
    const IS_NUMBER: bool = false;

    /// Values that documents have: all of them, where they are few.
    const EXAMPLES: &'static [&'static str];

    /// Whether some value matches what an operation has.
    fn matches(values: &Self::Values, fact: Self::Fact<'_>, invocation: &Invocation) -> bool;

    /// Writes the values that allow what an operation had, and its like in the next invocation.
    fn write(fact: Self::Fact<'_>, seen: &Seen<'_>) -> Texts;

    /// Whether one value matches all that another does.
    fn covers(wide: &str, narrow: &str) -> bool {
        wide == narrow
    }

    /// Puts values together that match the same as one.
    fn aggregate(values: &Texts) -> Texts {
        values.clone()
    }

    /// Finds values that nothing can match.
    fn flaws(_values: &Texts) -> Vec<Flaw> {
        Vec::new()
    }
}

/// A value that nothing can match: a word for why, which stays the same, and a sentence.
pub type Flaw = (&'static str, String);

/// What an operation has for a field of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Has<F> {
    /// Nothing that the field speaks of: the field does not count.
    Nothing,
    /// Everything, or something that it does not say: only a rule without the field matches.
    Anything,
    /// This.
    One(F),
}

impl<F> Has<F> {
    /// What an operation has, if it has something for the field to match.
    pub fn if_any(fact: Option<F>) -> Self {
        fact.map_or(Self::Nothing, Self::One)
    }

    /// What an operation says; it may be anything, where it says nothing.
    pub fn or_anything(fact: Option<F>) -> Self {
        fact.map_or(Self::Anything, Self::One)
    }
}

/// What recorded operations are compared with, to be written as rules.
pub struct Seen<'a> {
    pub invocation: &'a Invocation,
    /// The networks in which addresses were given to links.
    pub networks: &'a [IpNet],
}

/// A field of a capability's rules, for the tools.
pub struct Field {
    /// The key in a document.
    pub key: &'static str,
    pub left_out_is_all: bool,
    pub is_list: bool,
    pub examples: &'static [&'static str],
    pub covers: fn(&str, &str) -> bool,
    pub aggregate: fn(&Texts) -> Texts,
    pub flaws: fn(&Texts) -> Vec<Flaw>,
    of_type: fn() -> TypeId,
    is_number: bool,
    verbs: Option<&'static [Verb]>,
    /// Verbs whose operations say nothing of it, so that only rules without it allow them.
    pub not_said_by: &'static [Verb],
    /// Whether only some of the operations of its verbs have something for it.
    pub is_alternative: bool,
    /// Whether a suggestion leaves it out.
    pub is_never_suggested: bool,
    /// What is too wide about a rule of the host that leaves it out.
    pub left_out: Option<LeftOut>,
}

/// What is too wide about a rule that leaves a field out.
#[derive(Clone, Copy)]
pub struct LeftOut {
    /// A word for it, which stays the same.
    pub code: &'static str,
    /// What the rule allows then: "it may give and take any address".
    pub allows: &'static str,
    /// Whether many plugins need it.
    pub is_usual: bool,
    /// Whether it is worth a note of rules of the container, too.
    pub in_container: bool,
}

impl Field {
    /// Describes a field of a type.
    pub(crate) const fn new<T: FieldType>(key: &'static str) -> Self {
        Self {
            key,
            left_out_is_all: T::LEFT_OUT_IS_ALL,
            is_list: T::IS_LIST,
            of_type: TypeId::of::<T>,
            is_number: T::IS_NUMBER,
            examples: T::EXAMPLES,
            covers: T::covers,
            aggregate: T::aggregate,
            flaws: T::flaws,
            verbs: None,
            not_said_by: &[],
            is_alternative: !T::LEFT_OUT_IS_ALL,
            is_never_suggested: false,
            left_out: None,
        }
    }

    /// Says which verbs' operations are matched with it; all, when not said.
    pub(crate) const fn only_for(mut self, verbs: &'static [Verb]) -> Self {
        self.verbs = Some(verbs);
        self
    }

    /// Says which verbs' operations say nothing of it, so that only rules without it allow them.
    pub(crate) const fn not_said_by(mut self, verbs: &'static [Verb]) -> Self {
        self.not_said_by = verbs;
        self
    }

    /// Says that only some operations have something for it, so that an empty list means something as well.
    pub(crate) const fn alternative(mut self) -> Self {
        self.is_alternative = true;
        self
    }

    /// Says that no suggestion has it: what one operation had is not what the plugin needs.
    pub(crate) const fn never_suggested(mut self) -> Self {
        self.is_never_suggested = true;
        self
    }

    /// Says what a rule of the host allows that leaves it out, and a plugin should not have.
    pub(crate) const fn left_out(mut self, code: &'static str, allows: &'static str) -> Self {
        self.left_out = Some(LeftOut {
            code,
            allows,
            is_usual: false,
            in_container: false,
        });
        self
    }

    /// Says that many plugins need it so.
    pub(crate) const fn usually_left_out(mut self) -> Self {
        if let Some(left_out) = &mut self.left_out {
            left_out.is_usual = true;
        }
        self
    }

    /// Says that it is worth a note of rules of the container, too.
    pub(crate) const fn also_in_container(mut self) -> Self {
        if let Some(left_out) = &mut self.left_out {
            left_out.in_container = true;
        }
        self
    }

    /// Whether it is of a type.
    pub fn is_of<T: FieldType>(&self) -> bool {
        (self.of_type)() == TypeId::of::<T>()
    }

    /// Whether operations of a verb are matched with it.
    pub fn is_for(&self, verb: Verb) -> bool {
        self.verbs.is_none_or(|verbs| verbs.contains(&verb))
    }

    /// A value as JSON: numbers as numbers where a document has them so.
    pub fn to_json(&self, text: &str) -> Value {
        match text.parse::<u64>() {
            Ok(number) if self.is_number => number.into(),
            _ => text.into(),
        }
    }
}
