//! An operation, what it requires of a grant, and the decision about it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Capabilities;
use super::act::Act;
use super::facts::{LinkFacts, flaw_of_name};
use super::host_interfaces::{HOST_INTERFACES, ToList};
use super::invocation::Invocation;
use super::phrase::joined;
use super::rule::{Listed, Miss, Rule, rules_of};
use super::section::Section;
use super::verb::Verb;

/// One request of a plugin to a capability, as plain data.
///
/// An operation carries facts, not claims: a link is the index, name and kind that the kernel
/// reported, read by the host just before.
pub trait Operation: Act + Clone + Serialize {
    /// The rule for this capability in a grant.
    type Rule: Rule;

    /// `link.create`: the capability's word and what is done.
    const NAME: &'static str;

    /// What it does to its object; decides whether it is audited by default.
    const VERB: Verb;

    /// Everything that must be allowed for the operation to be allowed. An operation that touches several objects,
    /// such as a veth with an end in each namespace, has several requirements.
    fn requirements(&self) -> Vec<<Self::Rule as Rule>::Requirement>;

    /// Says why weir refuses the operation whatever the grant allows; none if the kernel decides.
    fn flaw(&self) -> Option<String> {
        None
    }

    /// The fields of a rule that bound parts of it which the host looks up only if a rule has the field, and did not.
    fn unseen(&self) -> &'static [&'static str] {
        &[]
    }

    /// The links that it names.
    fn links(&self) -> Vec<&LinkFacts> {
        Vec::new()
    }

    /// The same links, to be replaced in a copy.
    fn links_mut(&mut self) -> Vec<&mut LinkFacts> {
        Vec::new()
    }
}

/// Implements [`Operation`] for operations with one requirement each; `about` names the field of the operation's link,
/// and `flaw` says why weir refuses one.
macro_rules! operations {
    (
        $rule:ty;
        $($operation:ty: $name:literal, $verb:ident, $(about($link:ident),)? $(flaw($flaw:expr),)?
            |$o:ident| $needed:expr;)+
    ) => {
        $(impl $crate::Operation for $operation {
            type Rule = $rule;
            const NAME: &'static str = $name;
            const VERB: $crate::Verb = $crate::Verb::$verb;

            fn requirements(&self) -> Vec<<$rule as $crate::Rule>::Requirement> {
                let needed = |$o: &Self| $needed;
                vec![needed(self)]
            }

            $(fn flaw(&self) -> Option<String> {
                let flaw: fn(&Self) -> Option<String> = $flaw;
                flaw(self)
            })?

            $($crate::operation::names_links!($link);)?
        })+
    };
}
pub(crate) use operations;

/// Implements [`Operation::links`] and [`Operation::links_mut`] for an operation whose link is this field.
macro_rules! names_links {
    ($field:ident) => {
        fn links(&self) -> Vec<&$crate::facts::LinkFacts> {
            vec![&self.$field]
        }

        fn links_mut(&mut self) -> Vec<&mut $crate::facts::LinkFacts> {
            vec![&mut self.$field]
        }
    };
}
pub(crate) use names_links;

/// What an operation requires, in the words of a grant: says all about one that only reads.
pub(crate) fn required(operation: &impl Operation) -> String {
    let required = operation.requirements();
    joined(required.iter().map(ToString::to_string).collect(), "and")
}

/// Implements [`Act`] for operations that only read.
macro_rules! reads {
    ($($operation:ty),+ $(,)?) => {$(
        impl $crate::act::Act for $operation {
            fn act(&self) -> String {
                $crate::operation::required(self)
            }

            fn severity(&self, _: &$crate::Invocation) -> $crate::Severity {
                const { assert!(<$operation as $crate::Operation>::VERB.is_read()) }
                $crate::Severity::Reads
            }
        }
    )+};
}
pub(crate) use reads;

/// The verdict on an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The rules that allow it, as `link[2]`, one for each requirement.
    Allowed { rules: Vec<String> },
    /// What it does, with the requirement that no rule meets, and the rule that came closest.
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
    /// The interface of the host that `hostInterfaces` of weir's configuration would have to list, where the field asks
    /// for one that it lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlisted: Option<String>,
}

impl Closest {
    /// Names a rule, and the field in which it missed.
    pub fn new(rule: impl Into<String>, field: impl Into<String>) -> Self {
        Self {
            rule: rule.into(),
            field: field.into(),
            unlisted: None,
        }
    }

    /// Says what would let networks use the interface that is not listed; none if that is not what is missing.
    pub fn to_list(&self) -> Option<String> {
        let unlisted = self.unlisted.as_deref()?;
        Some(ToList(unlisted).to_string())
    }

    /// Names the rule as one of a section.
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
        Self::new(rule, field)
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
    match allowing_rules(capabilities, invocation, operation) {
        Ok(rules) => Decision::Allowed {
            rules: rules.into_iter().map(rule_name::<O::Rule>).collect(),
        },
        Err(Unmet {
            requirement,
            closest,
        }) => Decision::Denied {
            requirement,
            closest,
        },
    }
}

/// What an operation does, with the requirement that no rule meets, and the rule that came closest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// What it does, and the requirement, if it has several.
    pub requirement: String,
    pub closest: Option<Closest>,
}

/// Decides an operation. Returns the indices of the rules that allow it in the rules of its capability, one for each requirement.
///
/// Errors: the first requirement that no rule meets.
pub fn allowing_rules<O: Operation>(
    capabilities: &Capabilities,
    invocation: &Invocation,
    operation: &O,
) -> Result<Vec<usize>, Unmet> {
    let rules = O::Rule::of(capabilities);
    let mut allowing = Vec::new();
    let needed = operation.requirements();
    let is_one = needed.len() == 1;
    let needed = needed.into_iter();
    for requirement in needed.flat_map(|r| O::Rule::spread(rules, r)) {
        match decide_one::<O::Rule>(capabilities, invocation, &requirement) {
            Ok(index) if allowing.contains(&index) => {}
            Ok(index) => allowing.push(index),
            Err(closest) => {
                return Err(Unmet {
                    requirement: unmet(operation, &requirement, is_one),
                    closest,
                });
            }
        }
    }
    Ok(allowing)
}

/// Names the rule of that index: `link[0]`.
pub fn rule_name<R: Rule>(index: usize) -> String {
    [R::CAPABILITY.word(), "[", &index.to_string(), "]"].concat()
}

/// Says what an operation does, and which of its requirements no rule meets, if it has several.
fn unmet<O: Operation>(
    operation: &O,
    requirement: &<O::Rule as Rule>::Requirement,
    is_one: bool,
) -> String {
    let (act, requirement) = (operation.act(), requirement.to_string());
    if is_one || act.starts_with(&requirement) {
        return act;
    }
    format!("{act}, which needs a rule to {requirement}")
}

fn decide_one<R: Rule>(
    capabilities: &Capabilities,
    invocation: &Invocation,
    requirement: &R::Requirement,
) -> Result<usize, Option<Closest>> {
    let rules = R::of(capabilities);
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
        unlisted: unlisted::<R>(capabilities, index, miss.field, requirement),
        ..Closest::new(rule_name::<R>(index), miss.field)
    }))
}

/// The interface of the host that `hostInterfaces` does not list, if that is why a rule missed in a field.
fn unlisted<R: Rule>(
    capabilities: &Capabilities,
    index: usize,
    field: &str,
    requirement: &R::Requirement,
) -> Option<String> {
    let rules = rules_of(capabilities, R::CAPABILITY);
    let asks = rules.get(index)?.names(field, HOST_INTERFACES);
    let facts = R::facts(requirement);
    let mut names = facts.texts(field).filter(|_| asks)?.iter();
    names.find(|name| flaw_of_name(name).is_none()).cloned()
}
