//! A line of the log as an entry of systemd's journal, by its
//! [native protocol](https://systemd.io/JOURNAL_NATIVE_PROTOCOL/).
//!
//! The entry says what `weir audit` works out of several lines: what an operation does in words, how far it reaches, and for
//! which attachment.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use weir_grant::operation_names::recorded::Recorded;
use weir_grant::{Invocation, Severity};

use crate::event::EVENT_CAPABILITIES;
use crate::subject::Subject;
use crate::text;

/// What every entry has.
const FIELDS: &[u8] =
    b"SYSLOG_IDENTIFIER=weir-audit\nMESSAGE_ID=ac3a7ff42291dd421552aafdc4408ecf\n";

/// Invocations whose records' attachments are remembered. A process rarely has two at a time.
const MOST_INVOCATIONS: usize = 1024;

/// `LOG_WARNING`, `LOG_NOTICE` and `LOG_INFO` of syslog(3).
const WARNING: u8 = 4;
const NOTICE: u8 = 5;
const INFO: u8 = 6;

/// One operation or event.
#[derive(Deserialize)]
struct Record {
    operation: String,
    #[serde(default)]
    arguments: Value,
    verdict: String,
    shortened_from: Option<u64>,
}

/// Makes entries of lines, in their order.
#[derive(Default)]
pub(super) struct Entries {
    /// What the records of an invocation share, by its name.
    shared: BTreeMap<String, Subject>,
}

impl Entries {
    /// The entry of a line.
    pub(super) fn entry(&mut self, line: &[u8]) -> Vec<u8> {
        let mut entry = Entry(FIELDS.to_vec());
        let mut priority = INFO;
        if let Ok(Value::Object(members)) = serde_json::from_slice(line)
            && let Some(invocation) = members.get("invocation").and_then(Value::as_str)
        {
            let invocation = invocation.to_owned();
            entry.add("WEIR_INVOCATION", &invocation);
            let line = Value::Object(members);
            if let Ok(shared) = Subject::deserialize(&line) {
                self.remember(&invocation, shared);
            }
            let shared = self.shared.get(&invocation).cloned().unwrap_or_default();
            entry.add_shared(&shared);
            if let Ok(record) = Record::deserialize(&line) {
                let severity = record.severity(&shared.invocation());
                entry.add_record(&record, severity);
                priority = record.priority(severity);
            }
        }
        entry.add("PRIORITY", &priority.to_string());
        entry.end(line)
    }

    fn remember(&mut self, invocation: &str, shared: Subject) {
        if self.shared.len() >= MOST_INVOCATIONS {
            self.shared.clear();
        }
        self.shared.insert(invocation.to_owned(), shared);
    }
}

impl Record {
    fn capability(&self) -> &str {
        self.operation.split('.').next().unwrap_or_default()
    }

    fn operation(&self) -> Recorded<'_> {
        Recorded {
            operation: &self.operation,
            arguments: &self.arguments,
            is_shortened: self.shortened_from.is_some(),
        }
    }

    /// How far it reaches; none for an event.
    fn severity(&self, invocation: &Invocation) -> Option<Severity> {
        let is_event = EVENT_CAPABILITIES.contains(&self.capability());
        (!is_event).then(|| self.operation().severity(invocation))
    }

    fn priority(&self, severity: Option<Severity>) -> u8 {
        match (self.verdict.as_str(), severity) {
            ("denied" | "refused", _) => WARNING,
            (_, Some(severity)) if severity >= Severity::DisablesProtection => WARNING,
            (_, Some(severity)) if severity < Severity::ChangesHost => INFO,
            (_, None) if self.operation == "forward.missed" => WARNING,
            _ => NOTICE,
        }
    }
}

/// An entry without its message.
struct Entry(Vec<u8>);

impl Entry {
    /// Adds a field. A value of several lines has its length before it.
    fn add(&mut self, name: &str, value: &str) {
        self.0.extend_from_slice(name.as_bytes());
        if value.contains('\n') {
            self.0.push(b'\n');
            self.0
                .extend_from_slice(&(value.len() as u64).to_le_bytes());
        } else {
            self.0.push(b'=');
        }
        self.0.extend_from_slice(value.as_bytes());
        self.0.push(b'\n');
    }

    /// Adds a field if it has a value.
    fn add_if_any(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.add(name, value);
        }
    }

    fn add_shared(&mut self, shared: &Subject) {
        self.add_if_any("WEIR_PLUGIN", &shared.plugin);
        self.add_if_any("WEIR_NETWORK", shared.granted_as());
        self.add_if_any("WEIR_CONTAINER_ID", &shared.container_id);
        self.add_if_any("WEIR_IFNAME", &shared.ifname);
        self.add_if_any("WEIR_POD", shared.pod.as_deref().unwrap_or_default());
    }

    fn add_record(&mut self, record: &Record, severity: Option<Severity>) {
        self.add("WEIR_CAPABILITY", record.capability());
        self.add("WEIR_OPERATION", &record.operation);
        self.add("WEIR_VERDICT", &record.verdict);
        if let Some(severity) = severity {
            self.add("WEIR_SEVERITY", severity.word());
            let act = record.operation().act().map(text::escape);
            self.add_if_any("WEIR_ACT", &act.unwrap_or_default());
        }
    }

    fn end(mut self, line: &[u8]) -> Vec<u8> {
        self.0.extend_from_slice(b"MESSAGE=");
        self.0.extend_from_slice(line);
        self.0.push(b'\n');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = r#"{"time":"2026-03-01T10:00:00Z","invocation":"i","node":"n1","command":"ADD","container_id":"c","ifname":"eth0","network":"n","definition":"shop/n","pod":"shop/web","plugin":"p","digest":"d"}"#;

    /// A line after the head of its invocation, as the fields of its entry.
    fn fields(line: &str) -> BTreeMap<String, String> {
        let mut entries = Entries::default();
        entries.entry(HEAD.as_bytes());
        let entry = String::from_utf8(entries.entry(line.as_bytes())).expect("text");
        let fields = entry.lines().map(|field| {
            let (name, value) = field.split_once('=').expect("a field of one line");
            (name.to_owned(), value.to_owned())
        });
        fields.collect()
    }

    fn record(operation: &str, arguments: &str, verdict: &str) -> BTreeMap<String, String> {
        fields(&format!(
            r#"{{"time":"2026-03-01T10:00:00Z","invocation":"i","seq":0,"operation":"{operation}","arguments":{arguments},"verdict":"{verdict}","rules":[]}}"#
        ))
    }

    const MOVE: &str = r#"{"link":{"namespace":"container","index":2,"name":"eth0","kind":"veth"},"to":"host","name":"eth0"}"#;

    #[test]
    fn a_record_has_its_act_and_its_attachment() {
        let moved = record("link.move", MOVE, "allowed");
        for (name, value) in [
            ("PRIORITY", "4"),
            ("WEIR_INVOCATION", "i"),
            ("WEIR_PLUGIN", "p"),
            ("WEIR_NETWORK", "shop/n"),
            ("WEIR_CONTAINER_ID", "c"),
            ("WEIR_IFNAME", "eth0"),
            ("WEIR_POD", "shop/web"),
            ("WEIR_CAPABILITY", "link"),
            ("WEIR_OPERATION", "link.move"),
            ("WEIR_VERDICT", "allowed"),
            ("WEIR_SEVERITY", "leaves-container"),
            ("WEIR_ACT", "move veth `eth0` from container to host"),
        ] {
            assert_eq!(moved.get(name).map(String::as_str), Some(value), "{name}");
        }
    }

    #[test]
    fn the_priority_is_that_of_the_verdict_and_the_severity() {
        let write = |namespace: &str| {
            format!(r#"{{"namespace":"{namespace}","key":"net.ipv4.ip_forward","value":"1"}}"#)
        };
        let priority = |operation: &str, arguments: &str, verdict: &str| {
            record(operation, arguments, verdict)["PRIORITY"].clone()
        };
        assert_eq!(
            priority("sysctl.write", &write("container"), "allowed"),
            "6"
        );
        assert_eq!(priority("sysctl.write", &write("container"), "denied"), "4");
        assert_eq!(priority("sysctl.write", &write("host"), "allowed"), "5");
        assert_eq!(priority("plugin.add", "{}", "allowed"), "5");
        assert_eq!(priority("plugin.run", r#"{"code":200}"#, "denied"), "4");
        assert_eq!(priority("forward.missed", r#"{"count":1}"#, "allowed"), "4");
        // What a later weir may do to the host is not less than a change of it.
        let unknown = r#"{"namespace":"host"}"#;
        assert_eq!(priority("link.bend", unknown, "allowed"), "5");
    }

    #[test]
    fn other_lines_are_sent_as_they_are() {
        let chain = fields(r#"{"chained":1,"sha256":"00"}"#);
        assert_eq!(chain["PRIORITY"], "6");
        assert!(!chain.contains_key("WEIR_INVOCATION"), "{chain:?}");
        let broken = fields("not JSON");
        assert_eq!(broken["MESSAGE"], "not JSON");
        let answer = fields(r#"{"answered":0,"invocation":"i","answer":"ok"}"#);
        assert_eq!(answer["WEIR_PLUGIN"], "p");
        assert!(!answer.contains_key("WEIR_OPERATION"), "{answer:?}");
    }

    #[test]
    fn no_value_adds_a_field() {
        let mut entry = Entry(Vec::new());
        entry.add("WEIR_ACT", "a\nPRIORITY=0");
        let length = 12_u64.to_le_bytes();
        let expected = [b"WEIR_ACT\n", &length[..], b"a\nPRIORITY=0\n"].concat();
        assert_eq!(entry.0, expected);
    }

    #[test]
    fn few_invocations_are_remembered() {
        let mut entries = Entries::default();
        for number in 0..3 * MOST_INVOCATIONS {
            let head = HEAD.replace(r#""i""#, &format!(r#""{number}""#));
            entries.entry(head.as_bytes());
            assert!(entries.shared.len() <= MOST_INVOCATIONS);
        }
    }
}
