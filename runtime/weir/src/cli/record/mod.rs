//! Reads the audit log, also one that a crash damaged.

mod act;
mod join;
mod log;
mod text;

use std::io;

use clap::ValueEnum;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use weir_gate::{Denied, EVENT_CAPABILITIES, Subject};
use weir_grant::Closest;
use weir_grant::operation_names::recorded;
use weir_grant::query::Query;

pub use join::{Joiner, LONGEST};
pub use log::{Log, parts, read};
pub use text::arguments;

const PARAMETER_WRITE: &str = "sysctl.write";

/// How an operation without effect is marked.
pub const AS_BEFORE: &str = "as it was before";

/// What the gate decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// A rule of the grant allowed it.
    Allowed,
    /// No rule allowed it, and it was not done.
    Denied,
    /// A rule allowed it, but weir itself refused it. The kernel was not asked.
    Refused,
    /// weir took back what a failed ADD had done.
    Undo,
}

impl Verdict {
    /// Returns the word of the log.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Refused => "refused",
            Self::Undo => "undo",
        }
    }
}

/// A record, with what all records of its invocation share. Unknown members of a line are ignored.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// When it was written: for a change, before it was made.
    pub time: Timestamp,
    /// The node's name.
    pub node: Option<String>,
    /// One call of one plugin; none in older logs.
    pub invocation: Option<String>,
    /// The record's number in its invocation, from 0.
    pub seq: Option<u64>,
    /// What all records of its invocation share.
    #[serde(flatten)]
    pub subject: Subject,
    /// The version of the schema; none in older logs.
    pub schema: Option<u32>,
    #[serde(default)]
    pub capability: String,
    pub operation: String,
    /// `host`, `container`, both or none: what the arguments are about.
    #[serde(default)]
    pub namespaces: Vec<String>,
    #[serde(default)]
    pub arguments: Value,
    /// The size of all arguments in bytes, if only a part is recorded.
    pub shortened_from: Option<u64>,
    /// The digest of all arguments, if only a part is recorded.
    pub arguments_sha256: Option<String>,
    pub verdict: Verdict,
    /// The rules that allowed it, as `link[0]`.
    #[serde(default)]
    pub rules: Vec<String>,
    /// What a denied operation would have done, and what it would have needed: `create bridge `br0` in host`.
    pub requirement: Option<String>,
    /// For a denial, the closest rule, and the field that did not match.
    pub closest: Option<Closest>,
    /// `ok`, the kernel's error, or the answer that the plugin got instead. None if the invocation was killed before.
    #[serialize_always]
    pub answer: Option<String>,
    pub microseconds: Option<u64>,
    /// Former values of what was changed, by the names of the arguments; of a kernel parameter, also if it was the same.
    pub previous: Option<Value>,
}

/// Called with each record.
pub type Take<'a> = &'a mut dyn FnMut(&Record) -> io::Result<()>;

impl Record {
    /// Whether the kernel was asked and answered with an error.
    pub fn failed(&self) -> bool {
        let is_done = matches!(self.verdict, Verdict::Allowed | Verdict::Undo);
        is_done && self.answer.as_deref().is_some_and(|answer| answer != "ok")
    }

    /// Why it was denied, or how it failed; none if it succeeded.
    pub fn remark(&self) -> Option<String> {
        let answer = match self.answer.as_deref() {
            Some("ok") => return None,
            None => return Some("no answer: the invocation was killed".to_owned()),
            Some(answer) => answer,
        };
        let Some(requirement) = &self.requirement else {
            return Some(answer.to_owned());
        };
        let denied = Denied {
            requirement: requirement.clone(),
            closest: self.closest.clone(),
        };
        Some(if denied.is_said_by(answer) {
            denied.to_string()
        } else {
            format!("{denied}; the plugin got: {answer}")
        })
    }

    /// Returns the value of the kernel parameter before it was written, as far as that is recorded.
    pub fn value_before(&self) -> Option<&str> {
        if self.operation != PARAMETER_WRITE {
            return None;
        }
        self.previous.as_ref()?.get("value")?.as_str()
    }

    /// Whether it is known that nothing was changed: a kernel parameter got the value that it had. What is not recorded
    /// counts as a change.
    pub fn is_without_effect(&self) -> bool {
        let written = self.arguments.get("value").and_then(Value::as_str);
        let (Some(before), Some(written)) = (self.value_before(), written) else {
            return false;
        };
        // The kernel separates several numbers with tabs, whatever was written.
        let is_same = before
            .split_ascii_whitespace()
            .eq(written.split_ascii_whitespace());
        is_same && self.shortened_from.is_none()
    }

    /// Returns what was so before: "was 1", or "as it was before". None if that is not recorded.
    pub fn before(&self) -> Option<String> {
        let before = self.value_before()?;
        Some(if self.is_without_effect() {
            AS_BEFORE.to_owned()
        } else {
            format!("was {before}")
        })
    }

    /// Whether it is about a plugin that was not run, was added or removed, or about a grant that changed, and not about an
    /// operation.
    pub fn is_event(&self) -> bool {
        EVENT_CAPABILITIES.contains(&self.capability.as_str())
    }

    /// Whether it is a change that somebody made: a plugin added or removed, a grant changed. No rule allowed it.
    pub fn is_change_by_people(&self) -> bool {
        self.is_event() && self.verdict == Verdict::Allowed
    }

    /// Returns what a denied operation would have needed, or else its answer.
    pub fn requirement(&self) -> &str {
        let answer = self.answer.as_deref().unwrap_or_default();
        self.requirement.as_deref().unwrap_or(answer)
    }

    /// Returns the requested operation. Errors: the arguments are shortened, or are not those of the operation.
    pub fn query(&self) -> Result<Box<dyn Query>, String> {
        match self.shortened_from {
            Some(bytes) => Err(format!(
                "the arguments of `{}` are shortened from {bytes} bytes",
                self.operation
            )),
            None => recorded(&self.operation, &self.arguments),
        }
    }
}

/// Returns the warning about lines that are not records, if there are any.
pub fn not_records(lines: u64) -> Option<String> {
    match lines {
        0 => None,
        1 => Some(
            "1 line is not a record: cut short, or not written by this version of weir".to_owned(),
        ),
        n => Some(format!(
            "{n} lines are not records: cut short, or not written by this version of weir"
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::join::Joiner;
    use super::*;

    const HEAD: &str = r#"{"time":"2026-03-01T10:00:00Z","invocation":"i","node":"n1","command":"ADD",
        "container_id":"c","ifname":"eth0","network":"n","pod":"ns/p","plugin":"p","digest":"d"}"#;

    /// The records of these lines, and how many are missing.
    fn joined(lines: &[String]) -> (Vec<Record>, u64) {
        joined_by(Joiner::default(), lines)
    }

    fn joined_by(mut joiner: Joiner, lines: &[String]) -> (Vec<Record>, u64) {
        let mut records = Vec::new();
        let mut take = |record: &Record| {
            records.push(record.clone());
            Ok(())
        };
        for line in lines {
            let is_line = joiner.line(&line.replace('\n', " "), &mut take).unwrap();
            assert!(is_line, "{line}");
        }
        joiner.give_up(None, &mut take).unwrap();
        (records, joiner.missing())
    }

    fn entry(seq: u64, rest: &str) -> String {
        format!(
            r#"{{"time":"2026-03-01T10:00:00Z","invocation":"i","seq":{seq},"operation":"link.create",
                "arguments":{{"namespace":"container","peer":{{"namespace":"host"}}}},"verdict":"allowed",
                "rules":["link[0]"]{rest}}}"#
        )
    }

    fn answer(first: u64, last: u64, rest: &str) -> String {
        format!(
            r#"{{"answered":{first},"through":{last},"invocation":"i","answer":"ok","microseconds":5{rest}}}"#
        )
    }

    fn old(requirement: &str, rules: &[&str]) -> Record {
        let end = match rules.first() {
            Some(closest) => format!("closest rule: {closest}"),
            None => "it has no rule for this capability".to_owned(),
        };
        let line = json!({
            "time": "2026-03-01T10:00:00Z", "command": "ADD", "network": "n", "plugin": "p",
            "digest": "d", "capability": "link", "operation": "link.create", "verdict": "denied",
            "rules": rules, "answer": format!("the grant does not allow to {requirement} ({end})"), // in older logs
        });
        joined(&[line.to_string()]).0.remove(0)
    }

    #[test]
    fn a_record_has_what_its_invocation_shares_and_its_answer() {
        let lines = [
            HEAD.to_owned(),
            entry(0, ""),
            answer(0, 0, r#","previous":{"mtu":1}"#),
        ];
        let (records, missing) = joined(&lines);
        let [record] = records.as_slice() else {
            panic!("{records:?}");
        };
        assert_eq!(
            (record.subject.plugin.as_str(), record.seq, missing),
            ("p", Some(0), 0)
        );
        assert_eq!(record.capability, "link");
        assert_eq!(record.namespaces, ["container", "host"]);
        assert_eq!(record.subject.pod.as_deref(), Some("ns/p"));
        assert_eq!(record.answer.as_deref(), Some("ok"));
        assert_eq!(record.previous, Some(json!({ "mtu": 1 })));
        // What a tool prints, a tool reads.
        let printed = serde_json::to_string(record).unwrap();
        let again = joined(std::slice::from_ref(&printed)).0.remove(0);
        assert_eq!(serde_json::to_string(&again).unwrap(), printed);
    }

    #[test]
    fn one_answer_is_of_several_and_another_verdict() {
        let lines = [
            HEAD.to_owned(),
            entry(0, ""),
            entry(1, ""),
            entry(2, ""),
            answer(0, 1, ""),
            answer(2, 2, r#","verdict":"refused""#),
        ];
        let (records, _) = joined(&lines);
        let verdicts: Vec<_> = records.iter().map(|record| record.verdict).collect();
        assert_eq!(
            verdicts,
            [Verdict::Allowed, Verdict::Allowed, Verdict::Refused]
        );
    }

    /// `ipam.run` is answered after the records of the plugin that it ran.
    #[test]
    fn records_come_in_order_of_time_if_that_is_asked() {
        let at = |line: &str, second: u32, invocation: &str| {
            let time = format!("10:00:{second:02}Z");
            let line = line.replace("10:00:00Z", &time);
            line.replace(
                r#""invocation":"i""#,
                &format!(r#""invocation":"{invocation}""#),
            )
        };
        let done = entry(0, r#","answer":"ok""#);
        let killed = [at(HEAD, 0, "k"), at(&entry(0, ""), 0, "k")];
        let ran = [
            at(HEAD, 1, "i"),
            at(&entry(0, ""), 1, "i"),
            at(HEAD, 2, "j"),
            at(&done, 2, "j"),
            at(&done, 3, "j").replace(r#""seq":0"#, r#""seq":1"#),
            at(&answer(0, 0, ""), 4, "i"),
        ];
        let of = |joiner: Joiner, lines: &[String]| -> Vec<String> {
            let (records, _) = joined_by(joiner, lines);
            let seconds = records.iter().map(|record| record.time.strftime("%M:%S"));
            seconds.map(|second| second.to_string()).collect()
        };
        assert_eq!(of(Joiner::default(), &ran), ["00:02", "00:03", "00:01"]);
        let in_order = || Joiner::default().in_order();
        assert_eq!(of(in_order(), &ran), ["00:01", "00:02", "00:03"]);
        // What has no answer keeps nothing back for longer than an invocation may last.
        let later = ran.map(|line| line.replace("10:00:", "10:11:"));
        let lines = [&killed[..], &later[..]].concat();
        let mut joiner = in_order();
        let mut count = 0;
        for line in &lines {
            let mut take = |_: &Record| {
                count += 1;
                Ok(())
            };
            joiner.line(&line.replace('\n', " "), &mut take).unwrap();
        }
        assert_eq!(count, 4);
        assert_eq!(of(in_order(), &lines), ["00:00", "11:01", "11:02", "11:03"]);
    }

    #[test]
    fn records_of_a_later_schema_are_not_read_as_if_they_were_of_this_one() {
        let head =
            |version: &str| HEAD.replace("{\"time\"", &format!("{{\"schema\":{version},\"time\""));
        let done = r#","answer":"ok""#;
        let (records, _) = joined(&[head("1"), entry(0, done)]);
        assert_eq!(records[0].schema, Some(1));
        for version in ["2", "\"1.1\"", "-1"] {
            let mut joiner = Joiner::default();
            for line in [head(version), entry(0, done)] {
                let mut take = |record: &Record| panic!("{record:?}");
                let is_line = joiner.line(&line.replace('\n', " "), &mut take);
                assert!(!is_line.unwrap(), "{line}");
            }
        }
    }

    #[test]
    fn what_a_kill_left_without_an_answer_is_a_record() {
        let (records, missing) = joined(&[HEAD.to_owned(), entry(0, "")]);
        assert_eq!((records.len(), missing), (1, 0));
        assert_eq!(records[0].answer, None);
        assert!(!records[0].failed());
        assert!(
            records[0]
                .remark()
                .is_some_and(|remark| remark.contains("killed"))
        );
    }

    #[test]
    fn a_record_that_is_twice_in_the_log_counts_once_and_one_that_is_not_is_missed() {
        let done = r#","answer":"ok""#;
        let lines = [
            HEAD.to_owned(),
            entry(0, done),
            HEAD.to_owned(),
            entry(0, done),
            entry(3, done),
        ];
        let (records, missing) = joined(&lines);
        assert_eq!((records.len(), missing), (2, 2));
    }

    #[test]
    fn an_old_denial_is_whole_whatever_the_plugin_wrote_into_it() {
        for requirement in [
            "create bridge `br0` in host",
            "create bridge `a (closest rule: link[0]: names)` in host",
            "create bridge `a (it has no rule for this capability)` in host",
            "write `x (closest rule: link[0]: kinds)",
        ] {
            for rules in [&["link[0]: kinds"][..], &[]] {
                let record = old(requirement, rules);
                assert_eq!(record.requirement(), requirement, "{rules:?}");
                assert!(record.rules.is_empty());
                let closest = record.closest.map(|closest| closest.to_string());
                assert_eq!(closest.as_deref(), rules.first().copied());
            }
        }
    }

    #[test]
    fn only_a_value_that_is_known_to_be_the_same_is_no_change() {
        for (previous, expected) in [
            (json!({ "value": "1\t2" }), Some(AS_BEFORE)),
            (json!({ "value": "1 3" }), Some("was 1 3")),
            (Value::Null, None),
            (json!({ "mtu": 1 }), None),
        ] {
            let mut record = old("set it", &[]);
            record.operation = PARAMETER_WRITE.to_owned();
            record.arguments =
                json!({ "namespace": "host", "key": "net.ipv4.ping_group_range", "value": "1 2" });
            record.previous = Some(previous);
            assert_eq!(record.before().as_deref(), expected);
            assert_eq!(record.is_without_effect(), expected == Some(AS_BEFORE));
            record.operation = "link.update".to_owned();
            assert_eq!(record.before(), None);
        }
    }

    #[test]
    fn a_shortened_record_is_no_operation() {
        let mut record = old("delete everything", &[]);
        record.operation = "link.list".to_owned();
        record.arguments = json!({ "namespace": "host" });
        assert!(record.query().is_ok(), "{:?}", record.query().err());
        record.shortened_from = Some(99_999);
        let why = record.query().err().expect("shortened");
        assert!(why.contains("99999 bytes"), "{why}");
    }
}
