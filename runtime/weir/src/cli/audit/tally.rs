//! Counts of all records, for the summary and the page.
//!
//! Their size depends on the number of plugins, rules, networks and attachments, not of records.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashSet};
use std::hash::BuildHasher;

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use weir_gate::{EVENTS, GRANT_CHANGE};
use weir_grant::{Closest, Severity};

use super::acts::Acts;
use super::changes::Changes;
use super::count::{Count, Use};
use super::timeline::Timeline;
use crate::cli::record::{Record, Verdict};

/// The most different denials of a plugin.
const MOST_DENIALS: usize = 100;

/// The most digests, networks and rules of a plugin. No node has as many.
const MOST_KEYS: usize = 1000;

/// All records that passed the filters.
#[derive(Default, Serialize)]
pub struct Tally {
    /// Lines, or beginnings of lines, that are not records.
    pub unreadable: u64,
    #[serde(flatten)]
    pub count: Count,
    pub attachments: Attachments,
    pub plugins: BTreeMap<String, PluginTally>,
    pub changes: Changes,
    #[serde(skip)]
    pub timeline: Timeline,
}

#[derive(Default, Serialize)]
pub struct PluginTally {
    #[serde(flatten)]
    pub count: Count,
    pub attachments: Attachments,
    /// The components that ran under the plugin's name.
    pub digests: BTreeMap<String, Use>,
    pub capabilities: BTreeMap<String, Count>,
    /// Network → rule → how often it allowed something since a grant of the plugin was last changed: a rule's number may be
    /// another one's after a change.
    pub rules: BTreeMap<String, BTreeMap<String, Use>>,
    /// When the log noticed that change, if it has one.
    pub grant_changed: Option<Timestamp>,
    /// What it did beyond the containers of its attachments.
    pub acts: Acts,
    pub denials: Vec<Denial>,
    /// Denials beyond the maximum.
    pub further_denials: u64,
}

/// Denials for the same reason.
#[derive(Serialize)]
pub struct Denial {
    pub operation: String,
    /// What the plugin wanted to do.
    pub requirement: String,
    /// The closest rule, and the field in which it did not match; none if the grant has no rule for the capability, or did
    /// not deny it.
    pub closest: Option<Closest>,
    /// weir itself refused it: `requirement` says why.
    pub refused: bool,
    /// How far the gravest of them would have reached; none if it is not about an operation.
    pub severity: Option<Severity>,
    #[serde(flatten)]
    pub seen: Use,
}

impl Denial {
    fn rank(&self) -> (Option<Severity>, u64) {
        (self.severity, self.seen.count)
    }

    /// Why there is no closest rule.
    pub fn without_closest(&self) -> &'static str {
        if self.refused {
            "weir itself refused it"
        } else if EVENTS.contains(&self.operation.as_str()) {
            "the plugin was not run"
        } else {
            "no rule for this capability"
        }
    }
}

impl Tally {
    pub fn add(&mut self, record: &Record) {
        self.count.add(record);
        self.attachments.add(record);
        if !record.is_change_by_people() {
            self.timeline.add(record.time, record.verdict);
        }
        self.changes.add(record);
        let plugin = self.plugins.entry(record.subject.plugin.clone());
        plugin.or_default().add(record);
    }
}

impl PluginTally {
    fn add(&mut self, record: &Record) {
        self.count.add(record);
        self.attachments.add(record);
        self.acts.add(record);
        // Empty if the component is unknown.
        let digest = Some(&record.subject.digest).filter(|digest| !digest.is_empty());
        if let Some(seen) = digest.and_then(|digest| entry(&mut self.digests, digest)) {
            seen.add(record.time);
        }
        if let Some(count) = entry(&mut self.capabilities, &record.capability) {
            count.add(record);
        }
        if record.operation == GRANT_CHANGE {
            self.rules.clear();
            self.grant_changed = Some(record.time);
            return;
        }
        match record.verdict {
            Verdict::Allowed => self.add_rules(record),
            Verdict::Denied | Verdict::Refused => self.add_denial(record),
            Verdict::Undo => {}
        }
    }

    fn add_rules(&mut self, record: &Record) {
        if record.rules.is_empty() {
            return;
        }
        let Some(network) = entry(&mut self.rules, record.subject.granted_as()) else {
            return;
        };
        for rule in &record.rules {
            if let Some(seen) = entry(network, rule) {
                seen.add(record.time);
            }
        }
    }

    fn add_denial(&mut self, record: &Record) {
        let (requirement, closest) = (record.requirement(), &record.closest);
        let refused = record.verdict == Verdict::Refused;
        let severity = record.severity();
        let same = |denial: &&mut Denial| {
            denial.operation == record.operation
                && denial.requirement == requirement
                && denial.closest == *closest
                && denial.refused == refused
        };
        if let Some(denial) = self.denials.iter_mut().find(same) {
            denial.seen.add(record.time);
            denial.severity = denial.severity.max(severity);
        } else if self.has_room_for_denial(severity) {
            let mut seen = Use::default();
            seen.add(record.time);
            self.denials.push(Denial {
                operation: record.operation.clone(),
                requirement: requirement.to_owned(),
                closest: closest.clone(),
                refused,
                severity,
                seen,
            });
        } else {
            self.further_denials += 1;
        }
    }

    /// Whether there is room for one more; the least grave one makes room for a graver one, so that a plugin cannot hide what
    /// it tried behind many harmless denials.
    fn has_room_for_denial(&mut self, severity: Option<Severity>) -> bool {
        if self.denials.len() < MOST_DENIALS {
            return true;
        }
        let of = |(_, denial): &(usize, &Denial)| denial.rank();
        let Some((at, least)) = self.denials.iter().enumerate().min_by_key(of) else {
            return false;
        };
        if least.severity >= severity {
            return false;
        }
        self.further_denials += least.seen.count;
        self.denials.remove(at);
        true
    }

    /// Returns the gravest first, and of the equally grave the most frequent.
    pub fn gravest_denials(&self) -> Vec<&Denial> {
        let mut denials: Vec<&Denial> = self.denials.iter().collect();
        denials.sort_by_key(|denial| std::cmp::Reverse(denial.rank()));
        denials
    }
}

/// A key's value, added if it is missing and there is room.
fn entry<'a, V: Default>(map: &'a mut BTreeMap<String, V>, key: &str) -> Option<&'a mut V> {
    if !map.contains_key(key) && map.len() < MOST_KEYS {
        map.insert(key.to_owned(), V::default());
    }
    map.get_mut(key)
}

/// The number of attachments. Only their hashes are kept, since there may be very many.
#[derive(Default)]
pub struct Attachments {
    hasher: RandomState,
    hashes: HashSet<u64>,
}

impl Attachments {
    fn add(&mut self, record: &Record) {
        // STATUS and GC have none.
        if !record.subject.container_id.is_empty() {
            let attachment = (
                &record.subject.network,
                &record.subject.container_id,
                &record.subject.ifname,
            );
            self.hashes.insert(self.hasher.hash_one(attachment));
        }
    }

    pub fn count(&self) -> u64 {
        self.hashes.len() as u64
    }
}

impl Serialize for Attachments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.count())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn record(minute: u8, operation: &str, rules: &[&str]) -> Record {
        let (capability, _) = operation.split_once('.').expect("a capability");
        let record: Value = json!({
            "time": format!("2026-03-01T10:{minute:02}:00Z"), "command": "ADD", "network": "pods", "plugin": "p", "digest": "d",
            "capability": capability, "operation": operation, "verdict": "allowed", "rules": rules, "answer": "ok",
        });
        serde_json::from_value(record).expect("a record")
    }

    #[test]
    fn rules_are_counted_since_their_grant_was_changed() {
        let mut tally = PluginTally::default();
        tally.add(&record(0, "route.add", &["route[0]"]));
        // A rule is put before it.
        tally.add(&record(1, GRANT_CHANGE, &[]));
        tally.add(&record(2, "route.add", &["route[1]"]));
        let used: Vec<&String> = tally.rules["pods"].keys().collect();
        assert_eq!(used, ["route[1]"]);
        let changed = tally.grant_changed.map(|time| time.to_string());
        assert_eq!(changed.as_deref(), Some("2026-03-01T10:01:00Z"));
        // What needed no rule shows no network.
        let mut other = record(3, "link.list", &[]);
        other.subject.network = "other".to_owned();
        tally.add(&other);
        assert_eq!(tally.rules.len(), 1);
    }
}
