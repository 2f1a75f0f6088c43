//! The rules of grants, and how often each was used.

use std::collections::BTreeMap;
use std::fs;

use jiff::Timestamp;
use weir_grant::flow::flow;
use weir_grant::rule::{RuleFields, rules_of, sentence};
use weir_grant::{Capabilities, Capability, Document, Section};
use weir_sandbox::Origin;

use super::count::Use;
use super::tally::PluginTally;
use crate::cli::grants::grant_state::{Grant, applying};

pub struct Rule {
    /// Its name in the log: `link[0]`.
    pub name: String,
    /// Its text in a document: `{ namespace: host, kinds: [bridge], verbs: [read] }`.
    pub text: String,
    /// What it allows, in words.
    pub sentence: String,
    /// Whether it allows only reading, which is recorded only on request.
    pub reads_only: bool,
}

pub fn rules(document: &Document) -> Vec<Rule> {
    let sections = document.spec.sections();
    sections
        .flat_map(|(section, capabilities)| of_section(section, capabilities))
        .collect()
}

fn of_section(section: Section, capabilities: &Capabilities) -> Vec<Rule> {
    let mut rules = Vec::new();
    for capability in Capability::ALL {
        for (index, rule) in rules_of(capabilities, capability).iter().enumerate() {
            rules.push(Rule {
                name: section.rule(&format!("{capability}[{index}]")),
                text: flow(&rule.to_json()),
                sentence: sentence(rule),
                reads_only: reads_only(rule),
            });
        }
    }
    rules
}

/// Whether a rule allows only reading.
fn reads_only(rule: &RuleFields) -> bool {
    let verbs = rule.verbs();
    !verbs.is_empty() && verbs.iter().all(|verb| verb.is_read())
}

/// What a document grants of a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    Nothing,
    /// Only reading, which is recorded only on request.
    Reading,
    Changing,
}

/// Returns what a document grants of a capability.
pub fn extent(document: &Document, capability: Capability) -> Extent {
    let rules = document
        .spec
        .sections()
        .flat_map(|(_, capabilities)| rules_of(capabilities, capability));
    let of_rule = |rule: RuleFields| {
        if reads_only(&rule) {
            Extent::Reading
        } else {
            Extent::Changing
        }
    };
    rules.map(of_rule).max().unwrap_or(Extent::Nothing)
}

/// Returns the networks of a document, as it has them: `["*"]`.
pub fn networks(document: &Document) -> String {
    flow(&serde_json::to_value(&document.spec.networks).unwrap_or_default())
}

/// Returns how often each rule of a document was used, on the networks to which the document applies.
pub fn used(own: &Grant, all: &[Grant], tally: &PluginTally) -> BTreeMap<String, Use> {
    let mut used: BTreeMap<String, Use> = BTreeMap::new();
    for (network, rules) in &tally.rules {
        let its = applying(all, own.plugin(), Some(network));
        if its.is_ok_and(|its| std::ptr::eq(its, own)) {
            for (rule, seen) in rules {
                used.entry(rule.clone()).or_default().join(seen);
            }
        }
    }
    used
}

/// When an administrator's document was last changed.
pub fn changed(origin: &Origin) -> Option<Timestamp> {
    let Origin::File(path) = origin else {
        return None;
    };
    Timestamp::try_from(fs::metadata(path).ok()?.modified().ok()?).ok()
}
