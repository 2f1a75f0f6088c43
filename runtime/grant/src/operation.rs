//! An operation, what it requires of a grant, and the decision about it.

use std::fmt;

use serde::{Deserialize, Serialize};

pub use super::capability::Capability;
use super::capability::{Capabilities, Listed};
use super::facts::LinkFacts;
use super::field::words::words;
use super::field::{Field, FieldType, Has, Seen};
use super::rule_fields::{Description, Draft, RuleFields};
use super::section::Section;
use super::sentence::Sentence;

words! {
    /// What an operation does to its object.
    pub enum Verb {
        Create = "create",
        Read = "read",
        Update = "update",
        Delete = "delete",
        Write = "write",
        Announce = "announce",
        Open = "open",
        Run = "run",
    }
}

impl Verb {
    /// Whether the verb leaves everything as it was. Reads are audited on request only.
    pub fn is_read(self) -> bool {
        self == Self::Read
    }
}

/// This invocation's values for the placeholders of a grant: `{ifname}`, `{network}`,
/// `{containerid}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    pub container_id: String,
    pub ifname: String,
    pub network: String,
}

/// One request of a plugin to a capability, as plain data.
///
/// An operation carries facts, not claims: a link is the index, name and kind that the kernel
/// reported, read by the host just before.
pub trait Operation: Clone + Serialize {
    /// The rule that speaks of this capability in a grant.
    type Rule: Rule;

    /// `link.create`: the capability's word and what is done.
    const NAME: &'static str;

    /// What it does to its object; decides whether it is audited by default.
    const VERB: Verb;

    /// What must be allowed for the operation to be. An operation that touches several objects,
    /// as a veth with an end in each namespace, has several requirements.
    fn requirements(&self) -> Vec<<Self::Rule as Rule>::Requirement>;

    /// Why weir refuses it whatever a grant allows; none where the kernel is asked.
    fn flaw(&self) -> Option<String> {
        None
    }

    /// The links that it names.
    fn links(&self) -> Vec<&LinkFacts> {
        Vec::new()
    }

    /// The same, to be replaced.
    fn links_mut(&mut self) -> Vec<&mut LinkFacts> {
        Vec::new()
    }
}

/// One rule of a grant. [`rule!`](super::field::declare) implements it.
pub trait Rule: Listed + 'static {
    /// One object that an operation touches, and how.
    type Requirement: fmt::Display + Clone;

    const CAPABILITY: Capability;

    /// What the capability's operations do: the verbs that a rule may name.
    const VERBS: &'static [Verb];

    /// The verbs' words in a document.
    const VERB_WORDS: &'static [&'static str];

    /// The verbs' words in a sentence.
    const DONE: &'static [&'static str];

    /// The fields that a rule may have.
    const FIELDS: &'static [Field];

    /// Whether a rule is a name alone, and no mapping.
    const IS_NAME: bool = false;

    /// The same, for the tools.
    const DESCRIPTION: Description = Description::of::<Self>();

    /// What a requirement comes to under a grant's rules: itself, unless one that says less must be
    /// allowed in each way in which it can come about. Each of these is met by one rule.
    fn spread(_rules: &[Self], requirement: Self::Requirement) -> Vec<Self::Requirement> {
        vec![requirement]
    }

    /// The first field of the rule that does not match, or none when the rule allows it.
    fn miss(&self, requirement: &Self::Requirement, invocation: &Invocation) -> Option<Miss>;

    /// Drafts the rule that allows a requirement.
    fn draft(requirement: &Self::Requirement, seen: &Seen<'_>) -> Draft;

    /// Says in words what a rule allows. Fields that are not told are added as they stand.
    fn sentence(rule: &mut Sentence<'_>) -> String;

    /// Splits a rule that allows several sorts of operations, each with fields of its own, into one for each sort.
    fn split(rule: RuleFields) -> Vec<RuleFields> {
        vec![rule]
    }

    /// Puts what `split` has made together again.
    fn gather(parts: Vec<RuleFields>) -> Vec<RuleFields> {
        parts
    }
}

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

/// The verdict on an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The rules that allow it, as `link[2]`, one for each requirement.
    Allowed { rules: Vec<String> },
    /// The requirement that no rule meets, and the rule that came closest.
    Denied {
        requirement: String,
        closest: Option<Closest>,
    },
}

/// The rule that came closest to allowing an operation, and the field in which it missed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closest {
    /// `link[0]`.
    pub rule: String,
    /// The field's key in the document.
    pub field: String,
}

impl Closest {
    /// The same, with the rule called as that of a section.
    #[must_use]
    pub fn of(self, section: Section) -> Self {
        Self {
            rule: section.rule(&self.rule),
            ..self
        }
    }
}

/// As it is printed.
#[cfg(test)]
impl From<&str> for Closest {
    fn from(text: &str) -> Self {
        let (rule, field) = text.split_once(": ").expect("a rule and a field");
        Self {
            rule: rule.to_owned(),
            field: field.to_owned(),
        }
    }
}

impl fmt::Display for Closest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.field)
    }
}

/// Decides an operation. Default deny: without a matching rule for every requirement, no.
pub fn decide<O: Operation>(
    capabilities: &Capabilities,
    invocation: &Invocation,
    operation: &O,
) -> Decision {
    let rules = O::Rule::of(capabilities);
    let mut allowing = Vec::new();
    let needed = operation.requirements().into_iter();
    for requirement in needed.flat_map(|r| O::Rule::spread(rules, r)) {
        match decide_one(rules, invocation, &requirement) {
            Ok(index) => {
                let rule = format!("{}[{index}]", O::Rule::CAPABILITY);
                if !allowing.contains(&rule) {
                    allowing.push(rule);
                }
            }
            Err(closest) => {
                return Decision::Denied {
                    requirement: requirement.to_string(),
                    closest,
                };
            }
        }
    }
    Decision::Allowed { rules: allowing }
}

fn decide_one<R: Rule>(
    rules: &[R],
    invocation: &Invocation,
    requirement: &R::Requirement,
) -> Result<usize, Option<Closest>> {
    let mut closest: Option<(Miss, usize)> = None;
    for (index, rule) in rules.iter().enumerate() {
        match rule.miss(requirement, invocation) {
            None => return Ok(index),
            Some(miss) if closest.is_none_or(|(best, _)| miss > best) => {
                closest = Some((miss, index));
            }
            Some(_) => {}
        }
    }
    Err(closest.map(|(miss, index)| Closest {
        rule: format!("{}[{index}]", R::CAPABILITY),
        field: miss.field.to_owned(),
    }))
}
