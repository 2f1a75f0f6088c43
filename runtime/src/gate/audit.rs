//! The audit log: JSON Lines, one record for each operation, each written with one append.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::Denied;
use crate::grant::Operation;

/// Whose operations are recorded: the same for every record of an invocation.
#[derive(Clone, Debug, Serialize)]
pub struct Subject {
    /// `ADD`, `DEL`, `CHECK`, `STATUS` or `GC`.
    pub command: &'static str,
    pub container_id: String,
    pub ifname: String,
    pub network: String,
    pub plugin: String,
    pub digest: String,
}

/// What was decided.
pub enum Verdict<'a> {
    /// By these rules of the grant.
    Allowed(Vec<String>),
    Denied(&'a Denied),
    /// The host undoes what the invocation did.
    Undo,
}

/// What a line of the log has after its time and its subject.
#[derive(Serialize)]
struct Record<'a, O: Serialize> {
    capability: &'static str,
    operation: &'static str,
    arguments: &'a O,
    verdict: &'static str,
    /// The rules that allowed it, or the one that came closest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rules: Vec<String>,
    /// What was missing, where it was denied; otherwise the kernel's answer.
    answer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    microseconds: Option<u64>,
}

/// The log, opened for appending, and what is recorded in it.
pub struct Audit {
    subject: Subject,
    /// The subject's members as JSON, the same in every line.
    members: String,
    log: Result<Arc<File>, String>,
    reads: bool,
}

impl Audit {
    /// `log` must be open for appending, or the reason why it is not; `reads` records allowed
    /// reads as well.
    pub fn new(subject: Subject, log: Result<Arc<File>, String>, reads: bool) -> Self {
        Self {
            members: members(&subject).expect("texts are JSON"),
            subject,
            log,
            reads,
        }
    }

    /// Why records are missing: the log could not be opened, or not be written.
    pub fn failure(&self) -> Option<&str> {
        self.log.as_ref().err().map(String::as_str)
    }

    /// Whose operations are recorded.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    pub(super) fn record<O: Operation>(
        &mut self,
        operation: &O,
        verdict: &Verdict<'_>,
        answer: &str,
        took: Option<Duration>,
    ) {
        let quiet = O::VERB.is_read() && !self.reads && matches!(verdict, Verdict::Allowed(_));
        if quiet || self.log.is_err() {
            return;
        }
        let (word, rules, answer) = match verdict {
            Verdict::Allowed(rules) => ("allowed", rules.clone(), answer.to_owned()),
            Verdict::Undo => ("undo", Vec::new(), answer.to_owned()),
            Verdict::Denied(denied) => (
                "denied",
                denied.closest.iter().cloned().collect(),
                denied.to_string(),
            ),
        };
        let record = Record {
            capability: capability_of(O::NAME),
            operation: O::NAME,
            arguments: operation,
            verdict: word,
            rules,
            answer,
            microseconds: took.map(|t| t.as_micros().try_into().unwrap_or(u64::MAX)),
        };
        let written = self
            .log
            .as_ref()
            .map(|log| write_line(log, &self.members, &record));
        if let Ok(Err(error)) = written {
            self.log = Err(error.to_string());
        }
    }
}

fn capability_of(operation: &'static str) -> &'static str {
    operation
        .split_once('.')
        .map_or(operation, |(word, _)| word)
}

/// One write, so that lines of several processes do not mix. The time is RFC 3339, UTC, with
/// microseconds.
fn write_line(mut log: &File, subject: &str, record: &impl Serialize) -> io::Result<()> {
    let mut line = Vec::with_capacity(1024);
    let time = humantime::format_rfc3339_micros(SystemTime::now());
    write!(line, "{{\"time\":\"{time}\",{subject}")?;
    let rest = line.len();
    serde_json::to_writer(&mut line, record)?;
    // The record's members continue the line's object.
    line[rest] = b',';
    line.push(b'\n');
    log.write_all(&line)
}

/// An object's members, without its braces.
fn members(object: &impl Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string(object)?;
    Ok(text[1..text.len() - 1].to_owned())
}
