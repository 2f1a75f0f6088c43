//! The fields of rules. Each capability's file defines a field once, by its type and by the value that an operation has
//! for it: see `rule!`.
//!
//! | file | subject |
//! |---|---|
//! | `points` | single values that a glob, a network or a range of numbers matches |
//! | `types` | the types of fields: what their values match, and how two of them compare |
//! | `read` | how a document's verbs and networks are read |

mod points;
mod read;
pub mod types;

use std::any::TypeId;
use std::collections::BTreeSet;

use ipnet::IpNet;
use serde_json::Value;

use super::invocation::Invocation;
use super::pattern::{globs_meet, literal};
use super::verb::Verb;
pub use read::{Networks, Verbs};

/// The values of a field, as they are written in a document. A scalar is one of them.
pub type Texts = BTreeSet<String>;

/// A type of field.
///
/// The gate uses only `matches`; the rest is for the tools.
pub trait FieldType: 'static {
    /// The value in a rule: a list, or a single one.
    type Values: 'static;

    /// The value of an operation, to match against the rule's.
    type Fact<'r>: Copy;

    /// Whether a rule without the field matches any value of an operation; if not, it matches none.
    const LEFT_OUT_IS_ALL: bool = true;

    /// Whether a document has a list rather than a single value.
    const IS_LIST: bool = true;

    /// Whether a document has numbers rather than text.
    const IS_NUMBER: bool = false;

    /// Example values; all of them if they are few.
    const EXAMPLES: &'static [&'static str];

    /// Whether some value matches an operation's.
    fn matches(values: &Self::Values, fact: Self::Fact<'_>, invocation: &Invocation) -> bool;

    /// Writes an operation's value as text. Of several at once, each.
    fn text(fact: Self::Fact<'_>) -> Texts;

    /// Writes the values that allow an operation's, and the corresponding one in the next invocation.
    fn write(fact: Self::Fact<'_>, _seen: &Seen<'_>) -> Texts {
        Self::text(fact)
    }

    /// Whether one value matches everything that another matches.
    fn covers(wide: &str, narrow: &str) -> bool {
        wide == narrow
    }

    /// Whether a value matches something that a query's value matches, which may have wildcards.
    fn meets(value: &str, query: &str) -> bool {
        globs_meet(&literal(value), query)
    }

    /// A value that no example matches, unless the examples are all there are.
    const OTHER: Option<&'static str> = None;

    /// Single values that `value` matches: enough of them to show where it differs from `others`, and where it
    /// overlaps them.
    fn points(value: &str, _others: &Texts) -> Texts {
        Texts::from([value.to_owned()])
    }

    /// Merges values that one value can express.
    fn aggregate(values: &Texts) -> Texts {
        values.clone()
    }

    /// Says what a value matches that its text does not say.
    fn included(_value: &str) -> Option<String> {
        None
    }

    /// Finds values that nothing can match.
    fn flaws(_values: &Texts) -> Vec<Flaw> {
        Vec::new()
    }
}

/// Why nothing can match a value: a stable code, and a sentence.
pub type Flaw = (&'static str, String);

/// The value that an operation has for a field of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Has<F> {
    /// The field does not apply to the operation.
    Nothing,
    /// It applies to parts of the operation or to what follows it, each of which is matched for itself. Any rule
    /// matches; what it names bounds what may come.
    Later,
    /// Unspecified, so possibly anything: only a rule without the field matches.
    Anything,
    /// This.
    One(F),
}

impl<F> Has<F> {
    /// `One` if there is a value, and `Nothing` otherwise.
    pub fn if_any(fact: Option<F>) -> Self {
        fact.map_or(Self::Nothing, Self::One)
    }

    /// `One` if there is a value, and `Anything` otherwise.
    pub fn or_anything(fact: Option<F>) -> Self {
        fact.map_or(Self::Anything, Self::One)
    }
}

/// The context in which recorded operations are written as rules.
pub struct Seen<'a> {
    pub invocation: &'a Invocation,
    /// The networks in which addresses were given to links.
    pub networks: &'a [IpNet],
    /// Whether a rule gets every field that narrows it, also those that a suggestion leaves out.
    pub is_least: bool,
}

/// A field of a capability's rules, for the tools.
pub struct Field {
    /// The key in a document.
    pub key: &'static str,
    pub left_out_is_all: bool,
    pub is_list: bool,
    pub examples: &'static [&'static str],
    pub covers: fn(&str, &str) -> bool,
    pub(crate) meets: fn(&str, &str) -> bool,
    pub other: Option<&'static str>,
    pub points: fn(&str, &Texts) -> Texts,
    pub aggregate: fn(&Texts) -> Texts,
    pub flaws: fn(&Texts) -> Vec<Flaw>,
    /// What a value matches that its text does not say, for people.
    pub(crate) included: fn(&str) -> Option<String>,
    of_type: fn() -> TypeId,
    is_number: bool,
    verbs: Option<&'static [Verb]>,
    /// Verbs whose operations do not specify it, so only rules without it allow them.
    pub not_said_by: &'static [Verb],
    /// Whether it applies only to some of the operations of its verbs.
    pub is_alternative: bool,
    /// Whether a suggestion leaves it out.
    pub is_never_suggested: bool,
    /// Whether no query can give it, since weir finds it out while it carries the operation out.
    pub(crate) is_absent_from_queries: bool,
    /// Why a rule for the host should not leave it out.
    pub left_out: Option<LeftOut>,
}

/// Why a rule should not leave a field out.
#[derive(Clone, Copy)]
pub struct LeftOut {
    /// A stable code for it.
    pub code: &'static str,
    /// What the rule allows then: "it may give and take any address".
    pub allows: &'static str,
    /// Whether many plugins need it.
    pub is_usual: bool,
    /// Whether it is worth a remark for rules of the container as well.
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
            meets: T::meets,
            other: T::OTHER,
            points: T::points,
            aggregate: T::aggregate,
            flaws: T::flaws,
            included: T::included,
            verbs: None,
            not_said_by: &[],
            is_alternative: !T::LEFT_OUT_IS_ALL,
            is_never_suggested: false,
            is_absent_from_queries: false,
            left_out: None,
        }
    }

    /// Limits it to the operations of these verbs.
    pub(crate) const fn only_for(mut self, verbs: &'static [Verb]) -> Self {
        self.verbs = Some(verbs);
        self
    }

    /// Names the verbs whose operations do not specify it, so only rules without it allow them.
    pub(crate) const fn not_said_by(mut self, verbs: &'static [Verb]) -> Self {
        self.not_said_by = verbs;
        self
    }

    /// Marks a field that applies only to some operations, so that an empty list has a meaning too.
    pub(crate) const fn alternative(mut self) -> Self {
        self.is_alternative = true;
        self
    }

    /// Leaves it out of suggestions: one operation's value is not what the plugin needs in general.
    pub(crate) const fn never_suggested(mut self) -> Self {
        self.is_never_suggested = true;
        self
    }

    /// Marks what weir finds out only while it carries the operation out, so that no query gives it.
    pub(crate) const fn absent_from_queries(mut self) -> Self {
        self.is_absent_from_queries = true;
        self
    }

    /// Says what a value matches that its text does not say, in this capability's words.
    pub(crate) const fn including(mut self, included: fn(&str) -> Option<String>) -> Self {
        self.included = included;
        self
    }

    /// Says what a rule for the host allows without it that a plugin should not have.
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

    /// Marks it as worth a remark for rules of the container as well.
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

    /// Whether it applies to operations of a verb.
    pub fn is_for(&self, verb: Verb) -> bool {
        self.verbs.is_none_or(|verbs| verbs.contains(&verb))
    }

    /// Returns a value as JSON: a number if documents have numbers here.
    pub fn to_json(&self, text: &str) -> Value {
        match text.parse::<u64>() {
            Ok(number) if self.is_number => number.into(),
            _ => text.into(),
        }
    }
}
