//! The audit log: JSON Lines, one record for each operation, each written with one append.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::text;
use super::{Denied, shorten};
use crate::grant::Operation;

/// A record that is longer, in bytes, is shortened: what a plugin hands over may have megabytes, and is
/// no reason to fill the disk.
const LONGEST_RECORD: usize = 16 << 10;

/// So many bytes of a shortened record's answer stay.
const MOST_ANSWER: usize = 4 << 10;

/// Whose operations are recorded: the same for every record of an invocation.
#[derive(Clone, Debug, Serialize)]
pub struct Subject {
    /// `ADD`, `DEL`, `CHECK`, `STATUS` or `GC`.
    pub command: &'static str,
    pub container_id: String,
    pub ifname: String,
    pub network: String,
    /// The NetworkAttachmentDefinition that the network is of, where it is of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    pub plugin: String,
    pub digest: String,
}

impl Subject {
    /// What stands in every line that weir's log has of the invocation.
    pub fn for_log(&self) -> Value {
        let mut members = json!({
            "command": self.command,
            "containerId": self.container_id,
            "ifname": self.ifname,
            "network": self.network,
            "plugin": self.plugin,
        });
        if let Some(definition) = &self.definition {
            members["definition"] = definition.as_str().into();
        }
        members
    }
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
struct Record<'a, A: Serialize> {
    capability: &'static str,
    operation: &'static str,
    arguments: Arguments<'a, A>,
    /// Where the record is shortened.
    #[serde(flatten)]
    whole: Option<Whole>,
    verdict: &'static str,
    /// The rules that allowed it, or the one that came closest.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    rules: &'a [String],
    /// What was missing, where it was denied; otherwise the kernel's answer.
    answer: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    microseconds: Option<u64>,
}

/// What the arguments are in full, as JSON without white space.
#[derive(Serialize)]
struct Whole {
    /// Their bytes.
    shortened_from: usize,
    arguments_sha256: String,
}

/// An operation, or what of it is not too long.
#[derive(Serialize)]
#[serde(untagged)]
enum Arguments<'a, O> {
    Whole(&'a O),
    Shortened(Value),
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
        if O::VERB.is_read() && !self.reads && matches!(verdict, Verdict::Allowed(_)) {
            return;
        }
        let (word, rules, answer) = match verdict {
            Verdict::Allowed(rules) => ("allowed", &rules[..], Cow::Borrowed(answer)),
            Verdict::Undo => ("undo", &[][..], Cow::Borrowed(answer)),
            Verdict::Denied(denied) => (
                "denied",
                denied.closest.as_slice(),
                Cow::Owned(denied.to_string()),
            ),
        };
        self.append(O::NAME, operation, word, rules, &answer, took);
    }

    /// Writes a record, whatever it is of.
    pub(super) fn append(
        &mut self,
        name: &'static str,
        arguments: &impl Serialize,
        verdict: &'static str,
        rules: &[String],
        answer: &str,
        took: Option<Duration>,
    ) {
        if self.log.is_err() {
            return;
        }
        let shorter;
        let mut record = Record {
            capability: capability_of(name),
            operation: name,
            arguments: Arguments::Whole(arguments),
            whole: None,
            verdict,
            rules,
            answer,
            microseconds: took.map(|t| t.as_micros().try_into().unwrap_or(u64::MAX)),
        };
        let mut line = line(&self.members, &record);
        if line.as_ref().is_ok_and(|line| line.len() > LONGEST_RECORD) {
            shorter = shorten::text(answer, MOST_ANSWER);
            (record.arguments, record.whole) = shortened(arguments);
            record.answer = &shorter;
            line = self::line(&self.members, &record);
        }
        let written = self
            .log
            .as_ref()
            .map(|log| line.and_then(|line| (&**log).write_all(line.as_bytes())));
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

/// What of an operation is recorded when it is too long, and what it is in full.
fn shortened<O: Serialize>(operation: &O) -> (Arguments<'_, O>, Option<Whole>) {
    let whole = serde_json::to_vec(operation).ok().map(|bytes| Whole {
        shortened_from: bytes.len(),
        arguments_sha256: hexadecimal(&Sha256::digest(&bytes)),
    });
    let mut value = serde_json::to_value(operation).unwrap_or_default();
    shorten::arguments(&mut value);
    (Arguments::Shortened(value), whole)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A line for one write, so that those of several processes do not mix. The time is RFC 3339, UTC, with
/// microseconds.
fn line(subject: &str, record: &impl Serialize) -> io::Result<String> {
    let mut line = Vec::with_capacity(1024);
    let time = humantime::format_rfc3339_micros(SystemTime::now());
    write!(line, "{{\"time\":\"{time}\",{subject}")?;
    let rest = line.len();
    serde_json::to_writer(&mut line, record)?;
    // The record's members continue the line's object.
    line[rest] = b',';
    let line = String::from_utf8(line).map_err(io::Error::other)?;
    let mut line = text::escape(line);
    line.push('\n');
    Ok(line)
}

/// An object's members, without its braces.
fn members(object: &impl Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string(object)?;
    Ok(text[1..text.len() - 1].to_owned())
}
