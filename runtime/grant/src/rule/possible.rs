//! What a rule allows of a query that leaves something open: the facts that the query gives, and the bounds under
//! which the rule allows it.

use std::collections::BTreeMap;

use super::fields::{Bounds, RuleFields};
use crate::field::types::{Keys, Owners};
use crate::field::{Field, FieldType, Has, Texts};
use crate::{Capability, Rule, Verb};

/// The value that one object of an operation has for each field of its capability's rules. It may have wildcards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    pub capability: Capability,
    fields: BTreeMap<&'static str, Has<Texts>>,
}

impl Facts {
    pub(crate) fn new<R: Rule>() -> Self {
        Self {
            capability: R::CAPABILITY,
            fields: BTreeMap::new(),
        }
    }

    pub(crate) fn set<T: FieldType>(&mut self, key: &'static str, has: Has<T::Fact<'_>>) {
        let has = match has {
            Has::Nothing => Has::Nothing,
            Has::Later => Has::Later,
            Has::Anything => Has::Anything,
            Has::One(fact) => Has::One(T::text(fact)),
        };
        self.fields.insert(key, has);
    }

    /// The values for a field; none if it does not apply, or may be anything.
    pub(crate) fn texts(&self, key: &str) -> Option<&Texts> {
        match self.fields.get(key) {
            Some(Has::One(texts)) => Some(texts),
            _ => None,
        }
    }

    /// Settles what this leaves for later and another object of the operation has.
    pub(crate) fn settle(&mut self, others: &[Self]) {
        let has = |other: &Self, key: &str| {
            let has = other.fields.get(key);
            other.capability == self.capability && matches!(has, Some(Has::One(_) | Has::Anything))
        };
        let is_settled = |key: &str| others.iter().any(|other| has(other, key));
        for (key, own) in &mut self.fields {
            if *own == Has::Later && is_settled(key) {
                *own = Has::Nothing;
            }
        }
    }

    /// Returns the same, where what differs in another may be anything.
    #[must_use]
    pub fn common(mut self, other: &Self) -> Self {
        for (key, has) in &mut self.fields {
            if other.fields.get(key) != Some(has) {
                *has = Has::Anything;
            }
        }
        self
    }

    /// Whether the operation has something for a field, or may have.
    pub(crate) fn applies(&self, key: &str) -> bool {
        !matches!(self.fields.get(key), Some(Has::Nothing | Has::Later))
    }

    /// Returns the facts as a rule that allows them and nothing else, to describe them.
    pub fn as_rule(&self) -> RuleFields {
        let mut rule = RuleFields::new(self.capability);
        for field in rule.described() {
            // A mark says whose something is, and a rule only whether it is this network's.
            let is_mark = field.is_of::<Owners>();
            if let Some(Has::One(texts)) = self.fields.get(field.key).filter(|_| !is_mark) {
                rule = rule.with(field.key, texts.iter().filter(|text| *text != "*"));
            }
        }
        rule.fields.retain(|_, values| !values.is_empty());
        rule
    }

    /// What is done; none for a capability whose rules are names.
    fn verb(&self) -> Option<Verb> {
        let Some(Has::One(words)) = self.fields.get("verbs") else {
            return None;
        };
        let verbs = self.capability.description()?.verbs.iter();
        verbs.copied().find(|verb| words.contains(verb.word()))
    }
}

impl RuleFields {
    /// Returns the bounds under which the rule may allow something with these facts; none if it never does.
    ///
    /// Whatever the gate allows is among it, whatever the placeholders stand for. Fields that hold in any case are not
    /// among the bounds.
    pub fn bounds_for(&self, facts: &Facts) -> Option<Bounds> {
        if self.capability != facts.capability {
            return None;
        }
        let mut bounds = Bounds::new();
        for field in self.described() {
            let has = facts.fields.get(field.key);
            let Some(values) = self.get(field.key) else {
                if !field.left_out_is_all && matches!(has, Some(Has::One(_))) {
                    return None;
                }
                continue;
            };
            let meeting = match has {
                None => continue,
                Some(Has::Nothing) if !field.is_absent_from_queries => continue,
                Some(Has::Nothing | Has::Later | Has::Anything) => values.clone(),
                Some(Has::One(query)) if is_covered(field, values, query, facts.verb()) => continue,
                // A change of nothing in particular may be one of anything.
                Some(Has::One(query)) if query.is_empty() => values.clone(),
                Some(Has::One(query)) => meeting(field, values, query),
            };
            // An empty list allows what has nothing for its field.
            let may_have_nothing = matches!(has, Some(Has::Nothing | Has::Later));
            if meeting.is_empty() && !may_have_nothing {
                return None;
            }
            bounds.insert(field.key.to_owned(), meeting);
        }
        Some(bounds)
    }
}

/// Whether the values match everything that the query's values match. Whose a mark is depends on the invocation.
fn is_covered(field: &Field, values: &Texts, query: &Texts, verb: Option<Verb>) -> bool {
    if query.is_empty() {
        return verb.is_some_and(|verb| !field.is_for(verb));
    }
    let is_open = |key: &String| field.is_of::<Keys>() && spans_segments(key);
    !field.is_of::<Owners>() && !query.iter().any(is_open) && are_among(query, values, field.covers)
}

/// Whether a `*` of a question's key may stand for several segments, which no rule's does. Below `conf` and `neigh` it is an
/// interface, which is one.
fn spans_segments(key: &str) -> bool {
    let segments: Vec<&str> = key.split('.').collect();
    let is_interface = |at: usize| {
        let before = at.checked_sub(1).map(|before| segments[before]);
        matches!(before, Some("conf" | "neigh")) && at + 1 < segments.len()
    };
    let mut segments = segments.iter().enumerate();
    segments.any(|(at, segment)| segment.contains('*') && !is_interface(at))
}

/// The values that can match something that the query's values match; none if no value can match some part of it.
fn meeting(field: &Field, values: &Texts, query: &Texts) -> Texts {
    if !are_among(query, values, field.meets) {
        return Texts::new();
    }
    let meets = |value: &&String| query.iter().any(|one| (field.meets)(value, one));
    values.iter().filter(meets).cloned().collect()
}

/// Whether something holds for each text of the query and one of the values.
fn are_among(query: &Texts, values: &Texts, holds: fn(&str, &str) -> bool) -> bool {
    let is_among = |one: &String| values.iter().any(|value| holds(value, one));
    query.iter().all(is_among)
}
