//! The audit log, as all tools read it: its records, and the way through a log that a crash damaged.

mod log;
mod text;

use clap::ValueEnum;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::gate::EVENT_CAPABILITIES;
use crate::grant::Invocation;
use crate::grant::asked::Asked;
use crate::grant::named::recorded;
pub use log::{Log, Take, read};
pub use text::arguments;

/// What the gate decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// A rule of the grant allowed it.
    Allowed,
    /// No rule did, and it was not done.
    Denied,
    /// The host took back what a failed ADD had done.
    Undo,
}

impl Verdict {
    /// The word of the log.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Undo => "undo",
        }
    }
}

/// A record. What the log's lines have beyond it is passed over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    pub time: Timestamp,
    pub command: String,
    /// Empty where the command is about no container, as STATUS and GC are.
    #[serde(default)]
    pub container_id: String,
    #[serde(default)]
    pub ifname: String,
    pub network: String,
    /// The NetworkAttachmentDefinition that the network is of, where it is of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    pub plugin: String,
    pub digest: String,
    pub capability: String,
    pub operation: String,
    #[serde(default)]
    pub arguments: Value,
    /// How many bytes the arguments have in full, where only a part of them is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortened_from: Option<u64>,
    /// Of the arguments in full, where only a part of them is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_sha256: Option<String>,
    pub verdict: Verdict,
    /// The rules that allowed it, as `link[0]`; of a denial the one that came closest, and the field
    /// in which it missed, as `link[0]: names`.
    #[serde(default)]
    pub rules: Vec<String>,
    pub answer: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microseconds: Option<u64>,
}

impl Record {
    /// Whether it was carried out, and the kernel answered with an error.
    pub fn failed(&self) -> bool {
        self.verdict != Verdict::Denied && self.answer != "ok"
    }

    /// Whether it is not of an operation, but of a plugin that was not run, or that came or went, or of a grant that
    /// changed.
    pub fn is_event(&self) -> bool {
        EVENT_CAPABILITIES.contains(&self.capability.as_str())
    }

    /// What a denied operation would have needed: `create bridge `br0` in host`.
    pub fn requirement(&self) -> &str {
        let answer = self.answer.as_str();
        let needed = answer
            .strip_prefix("the grant does not allow to ")
            .unwrap_or(answer);
        // The plugin chose what stands in between, and may have written such an end itself.
        let end = match self.rules.first() {
            Some(closest) => format!(" (closest rule: {closest})"),
            None => " (it has no rule for this capability)".to_owned(),
        };
        needed.strip_suffix(&end).unwrap_or(needed)
    }

    /// What grants know the network by.
    pub fn granted_as(&self) -> &str {
        self.definition.as_deref().unwrap_or(&self.network)
    }

    /// What the placeholders of a grant stood for.
    pub fn invocation(&self) -> Invocation {
        Invocation {
            container_id: self.container_id.clone(),
            ifname: self.ifname.clone(),
            network: self.granted_as().to_owned(),
        }
    }

    /// The operation that was asked for.
    ///
    /// Errors: the arguments are shortened, so that what is there is not what was asked; or they are none
    /// of the operation's.
    pub fn asked(&self) -> Result<Box<dyn Asked>, String> {
        match self.shortened_from {
            Some(bytes) => Err(format!(
                "the arguments of `{}` are shortened from {bytes} bytes",
                self.operation
            )),
            None => recorded(&self.operation, &self.arguments),
        }
    }
}

/// What is said of lines that are no records, where there are any.
pub fn no_records(lines: u64) -> Option<String> {
    match lines {
        0 => None,
        1 => Some("1 line is no record: it was cut short, or weir did not write it".to_owned()),
        n => Some(format!(
            "{n} lines are no records: they were cut short, or weir did not write them"
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn denied(requirement: &str, rules: &[&str]) -> Record {
        let end = match rules.first() {
            Some(closest) => format!("closest rule: {closest}"),
            None => "it has no rule for this capability".to_owned(),
        };
        serde_json::from_value(json!({
            "time": "2026-03-01T10:00:00Z", "command": "ADD", "network": "n", "plugin": "p",
            "digest": "d", "capability": "link", "operation": "link.create", "verdict": "denied",
            "rules": rules, "answer": format!("the grant does not allow to {requirement} ({end})"),
        }))
        .expect("a record")
    }

    #[test]
    fn a_requirement_is_whole_whatever_the_plugin_wrote_into_it() {
        for requirement in [
            "create bridge `br0` in host",
            "create bridge `a (closest rule: link[0]: names)` in host",
            "create bridge `a (it has no rule for this capability)` in host",
            "write `x (closest rule: link[0]: kinds)",
        ] {
            for rules in [&["link[0]: kinds"][..], &[]] {
                let record = denied(requirement, rules);
                assert_eq!(record.requirement(), requirement, "{rules:?}");
            }
        }
    }

    #[test]
    fn a_shortened_record_is_no_operation() {
        let mut record = denied("delete everything", &[]);
        record.operation = "link.get".to_owned();
        record.arguments = json!({ "namespace": "host", "name": "eth0" });
        assert!(record.asked().is_ok(), "{:?}", record.asked().err());
        record.shortened_from = Some(99_999);
        let why = record.asked().err().expect("shortened");
        assert!(why.contains("99999 bytes"), "{why}");
    }
}
