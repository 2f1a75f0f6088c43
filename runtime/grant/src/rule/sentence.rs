//! A rule in words. Each capability describes its own; a field that it does not mention is added as it is, so none is
//! hidden.

use super::fields::{Bounds, RuleFields};
use super::possible::Facts;
use crate::Capability;
use crate::field::{Field, Texts};
use crate::host_interfaces::{HOST_INTERFACES, LISTED};
use crate::namespace::Namespace;
use crate::pattern::is_every;
use crate::phrase::{OWN, joined};
use crate::verb::Verb;

/// Returns what a rule allows: "create and change interfaces of kind bridge, on the host".
pub fn sentence(rule: &RuleFields) -> String {
    described(rule, &|_| true, listed_of)
}

/// Returns what an operation asks for, in the same words, without what it has nothing of.
pub fn facts_in_words(facts: &Facts) -> String {
    let itself = |_: Option<&Field>, values: &Texts, last: &str| listed(values, last);
    described(&facts.as_rule(), &|key| facts.applies(key), itself)
}

fn described(rule: &RuleFields, applies: &dyn Fn(&str) -> bool, list: List) -> String {
    let Some(description) = rule.capability.description() else {
        return String::new();
    };
    let mut sentence = Sentence {
        rule,
        mentioned: vec!["verbs", "namespace"],
        applies,
        list,
    };
    let what = (description.sentence)(&mut sentence);
    let bounds = sentence.bounds();
    let others = sentence.others();
    format!("{what}{others}{}{bounds}", sentence.place())
}

/// Bounds on what a rule of a capability allows: "of kind bridge or veth, where weir made it for this network".
pub fn bounds_in_words(capability: Capability, bounds: &Bounds) -> String {
    let description = capability.description();
    let in_words = |(key, values): (&String, &Texts)| {
        let own = description.and_then(|d| (d.bound)(key, values));
        if let Some(own) = own {
            return own;
        }
        let field = description.and_then(|d| d.field(key));
        let one_of = listed_of(field, values, "or");
        match key.as_str() {
            "attributes" => format!("nothing but {}", listed(values, "and")),
            "owners" => made_for(values),
            "overlaps" => overlapping(values),
            "names" | "links" if is_own(values) => {
                "named as the attachment's interface is".to_owned()
            }
            "names" | "links" if are_host_interfaces(values) => LISTED.to_owned(),
            "names" | "links" => format!("named {one_of}"),
            "kinds" => format!("of kind {one_of}"),
            "destinations" | "values" => format!("to {one_of}"),
            "addresses" | "sources" => format!("within {one_of}"),
            "directories" => format!("below {one_of}"),
            "tables" => format!("in routing table {one_of}"),
            key => format!("with {key} {one_of}"),
        }
    };
    let words: Vec<String> = bounds.iter().map(in_words).collect();
    words.join(", ")
}

/// The sentence about a rule, under construction.
pub struct Sentence<'a> {
    rule: &'a RuleFields,
    /// The fields that it has mentioned.
    mentioned: Vec<&'static str>,
    /// Whether a field applies to what is described.
    applies: &'a dyn Fn(&str) -> bool,
    list: List,
}

/// How the values of a field are listed: those of a rule with what they include, those of an operation as they are.
type List = fn(Option<&Field>, &Texts, &str) -> String;

impl<'a> Sentence<'a> {
    /// Takes a field's values, and marks the field as mentioned.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<&'a Texts> {
        self.mentioned.push(key);
        self.rule.get(key)
    }

    /// Takes the values of a field that was not mentioned.
    fn unmentioned(&mut self, key: &'static str) -> Option<&'a Texts> {
        if self.mentioned.contains(&key) {
            return None;
        }
        self.take(key)
    }

    /// Whether a field applies to what is described; of a rule, each does.
    pub(crate) fn is_about(&self, key: &str) -> bool {
        (self.applies)(key)
    }

    /// Whether the rule has a field.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.rule.get(key).is_some()
    }

    /// Whether the rule has a verb.
    pub(crate) fn may(&self, verb: Verb) -> bool {
        self.rule.verbs().contains(&verb)
    }

    /// "create and look at".
    pub(crate) fn verbs(&self) -> String {
        self.words_of(&self.rule.verbs())
    }

    /// The same, of these verbs.
    pub(crate) fn words_of(&self, verbs: &[Verb]) -> String {
        if verbs.is_empty() {
            return "do nothing with".to_owned();
        }
        let all = self.rule.capability.description().into_iter();
        let all = all.flat_map(|d| d.verbs.iter().zip(d.done));
        let named = all.filter(|(verb, _)| verbs.contains(verb));
        joined(named.map(|(_, word)| (*word).to_owned()).collect(), "and")
    }

    /// The values after some words; empty if the field is left out.
    pub(crate) fn with(&mut self, key: &'static str, before: &str) -> String {
        self.one_of(key, before, "")
    }

    /// One of the values after some words, or the words for a field that is left out. Empty if it does not apply.
    pub(crate) fn one_of(&mut self, key: &'static str, before: &str, left_out: &str) -> String {
        match self.take(key) {
            Some(values) => format!("{before}{}", self.listed(key, values, "or")),
            None if !self.is_about(key) => String::new(),
            None => left_out.to_owned(),
        }
    }

    /// All of the values, or the words for a field that is left out.
    pub(crate) fn all_of(&mut self, key: &'static str, left_out: &str) -> String {
        let values = self.values(key, "and");
        values.unwrap_or_else(|| left_out.to_owned())
    }

    /// The values, if the rule has the field.
    pub(crate) fn values(&mut self, key: &'static str, last: &str) -> Option<String> {
        let values = self.take(key)?;
        Some(self.listed(key, values, last))
    }

    fn listed(&self, key: &str, values: &Texts, last: &str) -> String {
        let description = self.rule.capability.description();
        (self.list)(description.and_then(|d| d.field(key)), values, last)
    }

    /// The interfaces of some names and kinds.
    pub(crate) fn interfaces(&mut self, names_key: &'static str) -> String {
        let kinds = self.take("kinds").map(|kinds| listed(kinds, "or"));
        match (self.take(names_key), kinds) {
            (Some(names), None) if is_own(names) => OWN.to_owned(),
            (Some(names), Some(kinds)) if is_own(names) => {
                format!("{OWN}, if it is of kind {kinds}")
            }
            (names, kinds) => {
                let kinds = match kinds {
                    Some(kinds) => format!("kind {kinds}"),
                    None => "every kind, hardware included".to_owned(),
                };
                let named = names.filter(|names| !have_every(names));
                let names = named.map(|named| {
                    if are_host_interfaces(named) {
                        format!(", {LISTED}")
                    } else {
                        format!(", named {}", self.listed(names_key, named, "or"))
                    }
                });
                format!("interfaces of {kinds}{}", names.unwrap_or_default())
            }
        }
    }

    /// An interface of some names, whatever its kind.
    pub(crate) fn an_interface(&mut self, key: &'static str) -> String {
        match self.take(key) {
            Some(names) if is_own(names) => OWN.to_owned(),
            Some(names) if are_host_interfaces(names) => format!("an interface {LISTED}"),
            Some(names) if !have_every(names) => {
                format!("an interface named {}", self.listed(key, names, "or"))
            }
            _ => "every interface".to_owned(),
        }
    }

    /// Over which interfaces, if the rule bounds that.
    pub(crate) fn over_interface(&mut self, names: &'static str) -> String {
        match self.rule.get(names) {
            Some(_) => format!(" over {}", self.an_interface(names)),
            None => String::new(),
        }
    }

    /// ", on the host and in the container".
    pub(crate) fn place(&self) -> String {
        let word = |namespace: &&str| {
            if *namespace == Namespace::Host.word() {
                "on the host".to_owned()
            } else {
                "in the container".to_owned()
            }
        };
        let places: Vec<String> = self.rule.namespaces().iter().map(word).collect();
        if places.is_empty() {
            return String::new();
        }
        format!(", {}", joined(places, "and"))
    }

    /// The bounds on owners, attributes and overlaps.
    fn bounds(&mut self) -> String {
        let mut text = String::new();
        if let Some(attributes) = self.unmentioned("attributes") {
            text += &format!(", nothing but {}", listed(attributes, "and"));
        }
        if let Some(owners) = self.unmentioned("owners") {
            text += &format!(", {}", made_for(owners));
        }
        if let Some(owners) = self.unmentioned("overlaps") {
            text += &format!(", {}", overlapping(owners));
        }
        text
    }

    /// The fields that were not mentioned.
    fn others(&self) -> String {
        let fields = self.rule.fields.iter();
        let others = fields.filter(|(key, _)| !self.mentioned.contains(&key.as_str()));
        let others: Vec<String> = others
            .map(|(key, values)| format!("{key} {}", self.listed(key, values, "or")))
            .collect();
        if others.is_empty() {
            return String::new();
        }
        format!(" with {}", joined(others, "and"))
    }
}

fn is_own(names: &Texts) -> bool {
    names.iter().eq(["{ifname}"])
}

fn have_every(names: &Texts) -> bool {
    names.iter().any(|name| is_every(name))
}

fn are_host_interfaces(names: &Texts) -> bool {
    names.iter().eq([HOST_INTERFACES])
}

fn made_for(owners: &Texts) -> String {
    format!("where weir made it for {}", owned(owners))
}

fn overlapping(owners: &Texts) -> String {
    let none = "where it overlaps no route of the host";
    if owners.is_empty() {
        return none.to_owned();
    }
    format!("{none} but those of {}", owned(owners))
}

/// "this attachment or this network".
pub(crate) fn owned(owners: &Texts) -> String {
    let word = |owner: &String| match owner.as_str() {
        "attachment" => "this attachment".to_owned(),
        _ => "this network".to_owned(),
    };
    if owners.is_empty() {
        return "nobody".to_owned();
    }
    joined(owners.iter().map(word).collect(), "or")
}

/// The values of a field, each with what it includes: `net.ipv4.conf.*.rp_filter (every interface, …)`.
pub(crate) fn listed_of(field: Option<&Field>, values: &Texts, last: &str) -> String {
    let in_words = |value: &String| match field.and_then(|field| (field.included)(value)) {
        Some(included) => format!("{value} ({included})"),
        None => value.clone(),
    };
    listed(&values.iter().map(in_words).collect(), last)
}

/// `a, b and c`, of a field's values.
pub(crate) fn listed(values: &Texts, last: &str) -> String {
    if values.is_empty() {
        return "nothing".to_owned();
    }
    joined(values.iter().cloned().collect(), last)
}
