//! Makes records of the lines of a log: an invocation's records share a line, and the answer to a change is in a later line.
//!
//! Older logs have whole records in single lines, with a denial's requirement and rule in the words of its answer.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::{io, mem};

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use weir_gate::SCHEMA;
use weir_grant::Closest;
use weir_grant::operation_names::recorded::namespaces;

use super::{Record, Take, Verdict};

/// The most concurrent invocations: the log does not say when one ends.
const MOST_INVOCATIONS: usize = 10_000;

/// No invocation lasts longer: a record without an answer by then gets none.
pub const LONGEST: SignedDuration = SignedDuration::from_mins(10);

/// What the line that an invocation's records share must have.
const SHARED: [&str; 4] = ["command", "network", "plugin", "digest"];

type Line = Map<String, Value>;

#[derive(Default)]
pub struct Joiner {
    invocations: HashMap<String, Invocation>,
    /// The oldest first.
    order: VecDeque<String>,
    missing: u64,
    finished: Finished,
}

/// Whole records that were not given out yet.
#[derive(Default)]
struct Finished {
    /// By time, and of the same time in the order in which they came.
    records: BTreeMap<(Timestamp, u64), Record>,
    /// How many came.
    count: u64,
    /// Whether a record waits for earlier ones that have no answer yet.
    in_order: bool,
    /// The times of those, and how many are of each.
    earlier: BTreeMap<Timestamp, usize>,
}

#[derive(Default)]
struct Invocation {
    /// The line that its records share.
    head: Line,
    /// The next record's number.
    next: u64,
    /// Records without an answer.
    waiting: Vec<Record>,
}

#[derive(Deserialize)]
struct Answered {
    answered: u64,
    through: Option<u64>,
    invocation: String,
    verdict: Option<Verdict>,
    answer: String,
    microseconds: Option<u64>,
    previous: Option<Value>,
}

impl Joiner {
    /// Gives records in the order of their times, as far as the log has them so: an operation that runs another plugin has
    /// its answer after that one's records. Each then waits for the answers to earlier ones.
    #[must_use]
    pub fn in_order(mut self) -> Self {
        self.finished.in_order = true;
        self
    }

    /// Gives the records that a line completes to `take`. False for a line that is not one of weir's.
    pub fn line(&mut self, text: &str, take: Take<'_>) -> io::Result<bool> {
        let line = serde_json::from_str::<Line>(text);
        let is_known = line.is_ok_and(|line| self.read(line));
        if let Some(now) = self.finished.overdue() {
            self.end_waiting(Some(now));
        }
        self.finished.give(take)?;
        Ok(is_known)
    }

    fn read(&mut self, line: Line) -> bool {
        let has = |key: &str| line.contains_key(key);
        if is_later(&line) {
            return false;
        }
        if has("answered") {
            return self.answered(line);
        }
        if has("chained") {
            // `weir audit verify` looks at these.
            return has("sha256");
        }
        let record = if has("plugin") && (has("seq") || has("namespaces")) {
            // As the tools print it.
            record(line)
        } else if has("seq") {
            return self.entry(line);
        } else if has("operation") {
            record(line).map(modernised)
        } else {
            return self.head(line);
        };
        record.map(|record| self.finished.add(record)).is_some()
    }

    /// Returns how many records are missing, by the numbers of the others.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Gives the records that will get no answer to `take`: all, or those that are too old at `now`.
    pub fn give_up(&mut self, now: Option<Timestamp>, take: Take<'_>) -> io::Result<()> {
        self.end_waiting(now);
        self.finished.give(take)
    }

    fn end_waiting(&mut self, now: Option<Timestamp>) {
        let is_over =
            |record: &Record| now.is_none_or(|now| now.duration_since(record.time) > LONGEST);
        for name in &self.order {
            let Some(invocation) = self.invocations.get_mut(name) else {
                continue;
            };
            for record in invocation.waiting.extract_if(.., |record| is_over(record)) {
                self.finished.no_longer_waits(&record);
                self.finished.add(record);
            }
        }
    }

    fn head(&mut self, line: Line) -> bool {
        let name = line.get("invocation").and_then(Value::as_str);
        let is_text = |key: &&str| line.get(*key).is_some_and(Value::is_string);
        let Some(name) = name.filter(|_| SHARED.iter().all(is_text)) else {
            return false;
        };
        let name = name.to_owned();
        if !self.invocations.contains_key(&name) {
            self.order.push_back(name.clone());
        }
        self.invocations.entry(name).or_default().head = line;
        while self.order.len() > MOST_INVOCATIONS {
            let oldest = self.order.pop_front();
            let invocation = oldest.and_then(|oldest| self.invocations.remove(&oldest));
            let lost = invocation
                .into_iter()
                .flat_map(|invocation| invocation.waiting);
            lost.for_each(|record| self.finished.no_longer_waits(&record));
        }
        true
    }

    fn entry(&mut self, line: Line) -> bool {
        let name = line.get("invocation").and_then(Value::as_str);
        let Some(invocation) = name.and_then(|name| self.invocations.get_mut(name)) else {
            return false;
        };
        let mut whole = invocation.head.clone();
        whole.extend(line);
        let record = record(whole).and_then(|record| Some((record.seq?, record)));
        let Some((seq, record)) = record else {
            return false;
        };
        if seq < invocation.next {
            // The invocation was killed between two steps, which left the record in the log twice.
            return true;
        }
        self.missing += seq - invocation.next;
        invocation.next = seq + 1;
        if record.answer.is_some() {
            self.finished.add(record);
        } else {
            self.finished.waits(&record);
            invocation.waiting.push(record);
        }
        true
    }

    fn answered(&mut self, line: Line) -> bool {
        let Ok(answered) = serde_json::from_value::<Answered>(line.into()) else {
            return false;
        };
        let Some(invocation) = self.invocations.get_mut(&answered.invocation) else {
            return false;
        };
        let numbers = answered.answered..=answered.through.unwrap_or(answered.answered);
        let is_meant = |record: &mut Record| record.seq.is_some_and(|seq| numbers.contains(&seq));
        for mut record in invocation.waiting.extract_if(.., is_meant) {
            record.verdict = answered.verdict.unwrap_or(record.verdict);
            record.answer = Some(answered.answer.clone());
            record.microseconds = answered.microseconds;
            record.previous.clone_from(&answered.previous);
            self.finished.no_longer_waits(&record);
            self.finished.add(record);
        }
        true
    }
}

impl Finished {
    fn add(&mut self, record: Record) {
        self.count += 1;
        self.records.insert((record.time, self.count), record);
    }

    /// Notes a record whose answer is to come.
    fn waits(&mut self, record: &Record) {
        *self.earlier.entry(record.time).or_default() += 1;
    }

    fn no_longer_waits(&mut self, record: &Record) {
        if let Some(count) = self.earlier.get_mut(&record.time) {
            *count -= 1;
            if *count == 0 {
                self.earlier.remove(&record.time);
            }
        }
    }

    /// The time of the last record, if another one will get no answer by then: no invocation lasts longer than [`LONGEST`].
    fn overdue(&self) -> Option<Timestamp> {
        let ((last, _), _) = self.records.last_key_value()?;
        let (earliest, _) = self.earlier.first_key_value()?;
        (last.duration_since(*earliest) > LONGEST).then_some(*last)
    }

    /// Gives out the records for which no earlier one can come.
    fn give(&mut self, take: Take<'_>) -> io::Result<()> {
        let earliest = self.earlier.first_key_value().map(|(time, _)| *time);
        while let Some(first) = self.records.first_entry() {
            let time = first.key().0;
            if self.in_order && earliest.is_some_and(|earliest| earliest < time) {
                break;
            }
            take(&first.remove())?;
        }
        Ok(())
    }
}

/// The record of a line that has what its invocation shares.
fn record(line: Line) -> Option<Record> {
    let mut record: Record = serde_json::from_value(line.into()).ok()?;
    record.node = record.node.filter(|node| !node.is_empty());
    let word = record.operation.split('.').next().unwrap_or_default();
    record.capability = word.to_owned();
    let namespaces = namespaces(&record.arguments).into_iter();
    record.namespaces = namespaces.map(str::to_owned).collect();
    Some(record)
}

/// Whether a line is of a later version of the schema, in which its members may mean something else. Older logs name none.
fn is_later(line: &Line) -> bool {
    let version = line.get("schema");
    version.is_some_and(|version| {
        version
            .as_u64()
            .is_none_or(|version| version > SCHEMA.into())
    })
}

/// A record of an older log as it would be now.
fn modernised(mut old: Record) -> Record {
    if old.verdict == Verdict::Denied {
        (old.requirement, old.closest) = denial(&mut old);
    }
    if let Value::Object(arguments) = &mut old.arguments {
        match old.operation.as_str() {
            "link.get" if !arguments.contains_key("link") => nest_link(arguments),
            "traffic.add-qdisc" => flatten_discipline(arguments),
            _ => {}
        }
    }
    Record {
        invocation: None,
        seq: None,
        ..old
    }
}

/// What was missing, and the closest rule, from the words of an old record. Takes the rule out of `rules`.
fn denial(old: &mut Record) -> (Option<String>, Option<Closest>) {
    let closest = old.rules.pop();
    // The plugin chose the text before it, which may contain the same words.
    let end = match &closest {
        Some(closest) => format!(" (closest rule: {closest})"),
        None => " (it has no rule for this capability)".to_owned(),
    };
    let answer = old.answer.as_deref().unwrap_or_default();
    let needed = answer.strip_prefix("the grant does not allow to "); // in older logs
    let requirement = needed.and_then(|needed| needed.strip_suffix(&end));
    let closest = closest.map(|closest| {
        let (rule, field) = closest.split_once(": ").unwrap_or((&closest, ""));
        Closest::new(rule, field)
    });
    (requirement.map(str::to_owned), closest)
}

/// The look-up of a link that did not exist had the link's members as its own.
fn nest_link(arguments: &mut Line) {
    let mut link = mem::take(arguments);
    link.insert("kind".to_owned(), json!(""));
    arguments.insert("link".to_owned(), link.into());
}

/// A discipline was its word, or an object of its word and its parameters.
fn flatten_discipline(arguments: &mut Line) {
    let discipline = arguments.get("discipline").and_then(Value::as_object);
    let Some((word, parameters)) = discipline.and_then(|all| all.iter().next()) else {
        return;
    };
    let (word, parameters) = (word.as_str().into(), parameters.as_object().cloned());
    arguments.extend(parameters.unwrap_or_default());
    arguments.insert("discipline".to_owned(), word);
}
