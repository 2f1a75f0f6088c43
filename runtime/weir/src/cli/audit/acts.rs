//! What a plugin did beyond the containers of its attachments, the gravest first.
//!
//! The same act for many attachments is one, whatever the names, addresses and numbers in it, so that what was done once
//! stands out.

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::BuildHasher;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Serialize, Serializer};
use weir_grant::Severity;

use super::count::Use;
use crate::cli::record::{Record, Verdict};

/// The most different acts of a plugin; the gravest are kept.
const MOST_ACTS: usize = 100;
/// The most bytes of an act in words.
const MOST_WORDS: usize = 512;
/// The most networks and rules of an act that are named.
const MOST_NAMES: usize = 8;

/// Whether it is known to have changed nothing, the severity, and the form.
type Key = (bool, Reverse<Severity>, String);

/// The acts of a plugin: what changed something first, then by their severity and form.
#[derive(Default)]
pub struct Acts {
    acts: BTreeMap<Key, Act>,
    /// Acts beyond the maximum.
    pub further: u64,
    hasher: RandomState,
}

/// An act, and how often it was done.
#[derive(Serialize)]
pub struct Act {
    pub severity: Severity,
    pub operation: String,
    /// In words, the first time.
    pub act: String,
    /// It is known to have changed nothing: a parameter got the value that it had.
    pub unchanged: bool,
    /// What was so before, the first time: "was 1", or "as it was before".
    #[serde(skip)]
    pub before: Option<String>,
    /// The value of the parameter before, the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// How many different acts of this form there were.
    #[serde(serialize_with = "count")]
    pub different: HashSet<u64>,
    #[serde(flatten)]
    pub seen: Use,
    pub networks: BTreeSet<String>,
    pub rules: BTreeSet<String>,
}

impl Acts {
    /// Adds a record of something that was done beyond a container.
    pub fn add(&mut self, record: &Record) {
        let is_done = record.verdict == Verdict::Allowed && !record.failed();
        let severity = record
            .severity()
            .filter(|severity| *severity >= Severity::ChangesHost);
        let (true, Some(severity)) = (is_done, severity) else {
            return;
        };
        let words = record
            .act()
            .unwrap_or_else(|| format!("perform {}", record.operation));
        let hash = self.hasher.hash_one(&words);
        let unchanged = record.is_without_effect();
        let key = (unchanged, Reverse(severity), form(&words));
        let act = match self.acts.entry(key) {
            Entry::Occupied(act) => act.into_mut(),
            Entry::Vacant(place) => place.insert(Act {
                severity,
                operation: record.operation.clone(),
                act: beginning(&words),
                unchanged,
                before: record.before().as_deref().map(beginning),
                previous: record.value_before().map(beginning),
                different: HashSet::new(),
                seen: Use::default(),
                networks: BTreeSet::new(),
                rules: BTreeSet::new(),
            }),
        };
        act.different.insert(hash);
        act.seen.add(record.time);
        name(&mut act.networks, record.subject.granted_as());
        record
            .rules
            .iter()
            .for_each(|rule| name(&mut act.rules, rule));
        if self.acts.len() > MOST_ACTS {
            let least = self.acts.pop_last();
            self.further += least.map_or(0, |(_, act)| act.seen.count);
        }
    }

    /// Returns the gravest first, and of the equally grave those that were done least often; at last what changed
    /// nothing.
    pub fn gravest(&self) -> Vec<&Act> {
        let mut acts: Vec<&Act> = self.acts.values().collect();
        acts.sort_by_key(|act| (act.unchanged, Reverse(act.severity), act.seen.count));
        acts
    }
}

impl Serialize for Acts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.gravest())
    }
}

fn count<S: Serializer>(hashes: &HashSet<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(hashes.len() as u64)
}

fn name(names: &mut BTreeSet<String>, name: &str) {
    if names.len() < MOST_NAMES {
        names.insert(name.to_owned());
    }
}

fn beginning(words: &str) -> String {
    match words.char_indices().find(|(at, _)| *at >= MOST_WORDS) {
        Some((at, _)) => format!("{}…", &words[..at]),
        None => words.to_owned(),
    }
}

/// The words without names, addresses and numbers.
fn form(words: &str) -> String {
    let outside = words.split('`').step_by(2);
    let outside: Vec<String> = outside
        .map(|part| {
            part.split(' ')
                .map(form_of_word)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    beginning(&outside.join("`"))
}

fn form_of_word(word: &str) -> String {
    let bare = word.trim_matches(|c: char| ",()".contains(c));
    let is_value = bare.parse::<u64>().is_ok()
        || bare.parse::<IpAddr>().is_ok()
        || bare.parse::<IpNet>().is_ok();
    if is_value {
        return word.replace(bare, "#");
    }
    form_of_key(word).unwrap_or_else(|| word.to_owned())
}

/// The key of a parameter of one link, whatever the link.
fn form_of_key(word: &str) -> Option<String> {
    let mut parts: Vec<&str> = word.split('.').collect();
    let is_of_links = parts.len() > 4 && parts[0] == "net" && matches!(parts[2], "conf" | "neigh");
    if !is_of_links || matches!(parts[3], "all" | "default") {
        return None;
    }
    parts[3] = "#";
    Some(parts.join("."))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn record(operation: &str, arguments: Value) -> Record {
        let record = json!({
            "time": "2026-03-01T10:00:00Z", "command": "ADD", "network": "n", "plugin": "p", "digest": "d",
            "container_id": "c", "ifname": "eth0", "operation": operation, "namespaces": ["host"],
            "arguments": arguments, "verdict": "allowed", "rules": ["x[0]"], "answer": "ok",
        });
        serde_json::from_value(record).expect("a record")
    }

    fn write(key: &str, value: &str) -> Record {
        record(
            "sysctl.write",
            json!({ "namespace": "host", "key": key, "value": value }),
        )
    }

    fn address(n: u8) -> Record {
        let link = json!({ "namespace": "host", "index": 3, "name": format!("v{n}"), "kind": "veth", "owner": "n c eth0" });
        record(
            "address.add",
            json!({
                "link": link, "address": format!("10.0.{n}.1/24"), "no_duplicate_detection": false, "no_prefix_route": false,
            }),
        )
    }

    #[test]
    fn what_was_done_once_stands_before_what_is_done_for_every_container() {
        let mut acts = Acts::default();
        (0..200).for_each(|n| acts.add(&address(n)));
        acts.add(&write("net.ipv4.conf.all.rp_filter", "0"));
        let found = acts.gravest();
        let [first, second] = found.as_slice() else {
            panic!("{}", found.len());
        };
        assert_eq!(first.severity, Severity::DisablesProtection);
        assert!(first.act.contains("rp_filter to 0"), "{}", first.act);
        assert_eq!((second.seen.count, second.different.len()), (200, 200));
        assert_eq!(second.act, "add address 10.0.0.1/24 to veth `v0` in host");
    }

    /// A plugin cannot push the grave act out of the list with many others.
    #[test]
    fn the_gravest_are_kept_however_many_there_are() {
        let mut acts = Acts::default();
        acts.add(&write("net.ipv4.conf.all.rp_filter", "0"));
        (0..1000).for_each(|n| acts.add(&write(&format!("net.core.x{n}"), "1")));
        acts.add(&write("net.ipv4.conf.all.accept_source_route", "1"));
        let found = acts.gravest();
        assert_eq!(found.len(), MOST_ACTS);
        let grave = found
            .iter()
            .filter(|act| act.severity == Severity::DisablesProtection);
        assert_eq!(grave.count(), 2);
        assert_eq!(acts.further, 1002 - MOST_ACTS as u64);
    }

    /// And a plugin cannot push what it changed out of the list with what it did not.
    #[test]
    fn what_changed_nothing_is_after_what_did() {
        let forged = |n: usize, previous: &str| Record {
            previous: Some(json!({ "value": previous })),
            ..write(&format!("net.x{n}.rp_filter"), "0")
        };
        let mut acts = Acts::default();
        (0..1000).for_each(|n| acts.add(&forged(n, "0")));
        acts.add(&write("net.core.x", "1"));
        acts.add(&forged(7, "1"));
        let found = acts.gravest();
        let told = |at: usize| (found[at].unchanged, found[at].before.as_deref());
        assert_eq!(told(0), (false, Some("was 1")));
        assert_eq!(told(1), (false, None));
        assert_eq!(told(2), (true, Some("as it was before")));
        assert_eq!(found.len(), MOST_ACTS);
    }

    #[test]
    fn what_was_not_done_is_no_act() {
        let mut acts = Acts::default();
        for (verdict, answer) in [
            (Verdict::Denied, "no"),
            (Verdict::Undo, "ok"),
            (Verdict::Allowed, "EPERM"),
        ] {
            acts.add(&Record {
                verdict,
                answer: Some(answer.to_owned()),
                ..write("net.core.x", "1")
            });
        }
        assert!(acts.gravest().is_empty());
    }

    #[test]
    fn words_are_bounded() {
        let mut acts = Acts::default();
        acts.add(&write("net.core.x", &"ü".repeat(10_000)));
        assert!(acts.gravest()[0].act.len() < MOST_WORDS + 8);
    }

    #[test]
    fn the_form_is_the_act_without_names() {
        for (words, expected) in [
            (
                "move veth `a` from container to host as `b`",
                "move veth ` from container to host as `",
            ),
            (
                "add the route to 10.1.0.2/32 over veth `x` in host",
                "add the route to # over veth ` in host",
            ),
            (
                "set net.ipv4.conf.v1.rp_filter to 0 in host",
                "set net.ipv4.conf.#.rp_filter to # in host",
            ),
            (
                "set net.ipv4.conf.all.rp_filter to 0 in host",
                "set net.ipv4.conf.all.rp_filter to # in host",
            ),
        ] {
            assert_eq!(form(words), expected);
        }
    }
}
