//! The lines of the audit log: the head of an invocation, a record, an answer.
//!
//! The record of a change is written before the change is made, and the kernel's answer in a separate line.

use std::io;
use std::time::SystemTime;

use bitcoin_hashes::sha256;
use serde::Serialize;
use serde_json::Value;
use serde_with::skip_serializing_none;
use weir_grant::Closest;

use super::shorten;
use crate::text::{self, hexadecimal};

/// Longer records, in bytes, are shortened: a plugin may pass megabytes, which must not fill the disk.
const LONGEST: usize = 16 << 10;

/// The bytes that a shortened record keeps of its answer.
const MOST_ANSWER: usize = 4 << 10;

/// The version of the log's schema, `docs/audit.schema.json`. It is increased when a member is removed or means something
/// else; a new member does not increase it.
pub const SCHEMA: u32 = 1;

/// The line before the first record of an invocation.
#[derive(Serialize)]
pub(super) struct Head<'a, S: Serialize> {
    pub time: Time,
    pub schema: u32,
    pub invocation: &'a str,
    pub node: &'a str,
    #[serde(flatten)]
    pub subject: &'a S,
}

/// One operation, or one event.
#[derive(Serialize)]
pub(super) struct Record<'a, A: Serialize> {
    time: Time,
    invocation: &'a str,
    seq: u64,
    operation: &'static str,
    arguments: Arguments<'a, A>,
    /// Only if the record is shortened.
    #[serde(flatten)]
    whole: Option<Whole>,
    verdict: &'static str,
    /// The rules that allowed it.
    rules: &'a [String],
    #[serde(flatten)]
    denied: Option<Denial<'a>>,
    #[serde(flatten)]
    answer: Option<Answer<'a>>,
}

/// The part of a record about a denial.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Denial<'a> {
    /// The requirement that no rule meets.
    pub requirement: &'a str,
    pub closest: Option<&'a Closest>,
}

/// The outcome.
#[skip_serializing_none]
#[derive(Clone, Serialize)]
pub(super) struct Answer<'a> {
    pub answer: &'a str,
    pub microseconds: Option<u64>,
    /// The previous value of what was changed.
    pub previous: Option<&'a Value>,
}

/// The outcome of operations whose records are in the log already.
#[skip_serializing_none]
#[derive(Serialize)]
pub(super) struct Answered<'a> {
    /// The first of the records.
    pub answered: u64,
    /// The last, if one answer is for several.
    pub through: Option<u64>,
    pub invocation: &'a str,
    /// `refused`, if weir refused what the grant allowed.
    pub verdict: Option<&'static str>,
    #[serde(flatten)]
    pub answer: Answer<'a>,
}

/// The full arguments, as JSON without white space.
#[derive(Serialize)]
struct Whole {
    /// Their size in bytes.
    shortened_from: usize,
    arguments_sha256: String,
}

/// The arguments of an operation, in full or shortened.
#[derive(Serialize)]
#[serde(untagged)]
enum Arguments<'a, O> {
    Whole(&'a O),
    Shortened(Value),
}

/// The time at which a line is written: RFC 3339, UTC, with microseconds.
pub(super) struct Time(SystemTime);

impl Time {
    pub(super) fn now() -> Self {
        Self(SystemTime::now())
    }
}

impl Serialize for Time {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_rfc3339_micros(self.0))
    }
}

/// The content of a record.
pub(super) struct Entry<'a, A: Serialize> {
    pub operation: &'static str,
    pub arguments: &'a A,
    pub verdict: &'static str,
    pub rules: &'a [String],
    pub denied: Option<Denial<'a>>,
    pub answer: Option<Answer<'a>>,
}

impl<A: Serialize> Entry<'_, A> {
    /// Appends its line, shortened if it is too long.
    pub(super) fn write(self, invocation: &str, seq: u64, into: &mut Vec<u8>) -> io::Result<()> {
        let (answer, requirement);
        let mut record = Record {
            time: Time::now(),
            invocation,
            seq,
            operation: self.operation,
            arguments: Arguments::Whole(self.arguments),
            whole: None,
            verdict: self.verdict,
            rules: self.rules,
            denied: self.denied,
            answer: self.answer,
        };
        let start = into.len();
        write(&record, into)?;
        if into.len() - start <= LONGEST {
            return Ok(());
        }
        into.truncate(start);
        (record.arguments, record.whole) = shortened(self.arguments);
        if let Some(given) = &mut record.answer {
            answer = shorten::text(given.answer, MOST_ANSWER / 2);
            given.answer = &answer;
        }
        if let Some(denied) = &mut record.denied {
            requirement = shorten::text(denied.requirement, MOST_ANSWER / 2);
            denied.requirement = &requirement;
        }
        write(&record, into)
    }
}

impl Answered<'_> {
    /// Appends its line, shortened if it is too long.
    pub(super) fn write(self, into: &mut Vec<u8>) -> io::Result<()> {
        let text = shorten::text(self.answer.answer, MOST_ANSWER);
        let mut previous = self.answer.previous.cloned();
        if let Some(previous) = &mut previous {
            shorten::arguments(previous);
        }
        let answer = Answer {
            answer: &text,
            microseconds: self.answer.microseconds,
            previous: previous.as_ref(),
        };
        write(&Answered { answer, ..self }, into)
    }
}

/// Appends a line.
pub(super) fn write(line: &impl Serialize, into: &mut Vec<u8>) -> io::Result<()> {
    let start = into.len();
    if let Err(error) = serde_json::to_writer(&mut *into, line) {
        into.truncate(start);
        return Err(error.into());
    }
    if !text::is_printable(&into[start..]) {
        let json = String::from_utf8(into.split_off(start)).map_err(io::Error::other)?;
        into.extend_from_slice(text::escape(json).as_bytes());
    }
    into.push(b'\n');
    Ok(())
}

/// The shortened arguments of an operation, and the size and digest of the full ones.
fn shortened<O: Serialize>(operation: &O) -> (Arguments<'_, O>, Option<Whole>) {
    let whole = serde_json::to_vec(operation).ok().map(|bytes| Whole {
        shortened_from: bytes.len(),
        arguments_sha256: hexadecimal(sha256::Hash::hash(&bytes).as_byte_array()),
    });
    let mut value = serde_json::to_value(operation).unwrap_or_default();
    shorten::arguments(&mut value);
    (Arguments::Shortened(value), whole)
}
