//! Makes records of the lines of a log: what an invocation's records share stands once, and the answer to what changes
//! something in a line of its own.
//!
//! Logs of before have whole records in single lines, with a denial's requirement and rule in its answer's words.

use std::collections::{HashMap, VecDeque};
use std::io;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};
use weir_grant::Closest;

use super::{Record, Take, Verdict};

/// So many invocations are under way at a time at most; one that has ended is not told from one that has not.
const MOST_INVOCATIONS: usize = 10_000;

/// No invocation lasts longer: what has no answer by then gets none.
const LONGEST: SignedDuration = SignedDuration::from_mins(10);

/// What is known of the invocations of a log.
#[derive(Default)]
pub struct Joiner {
    invocations: HashMap<String, Invocation>,
    /// The oldest first.
    order: VecDeque<String>,
    missing: u64,
}

#[derive(Default)]
struct Invocation {
    head: Head,
    /// The next record's number.
    next: u64,
    /// Records without an answer.
    waiting: Vec<Record>,
}

/// What an invocation's records share.
#[derive(Clone, Default, Deserialize)]
struct Head {
    #[serde(default)]
    node: String,
    command: String,
    #[serde(default)]
    container_id: String,
    #[serde(default)]
    ifname: String,
    network: String,
    definition: Option<String>,
    pod: Option<String>,
    plugin: String,
    digest: String,
}

#[derive(Deserialize)]
struct Entry {
    time: Timestamp,
    /// Lines of before have none, nor numbers.
    #[serde(default)]
    invocation: String,
    #[serde(default)]
    seq: u64,
    operation: String,
    #[serde(default)]
    arguments: Value,
    shortened_from: Option<u64>,
    arguments_sha256: Option<String>,
    verdict: Verdict,
    #[serde(default)]
    rules: Vec<String>,
    requirement: Option<String>,
    closest: Option<Closest>,
    answer: Option<String>,
    microseconds: Option<u64>,
    previous: Option<Value>,
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
    /// Gives the records to `take` that a line makes whole. False for a line that is none of weir's.
    pub fn line(&mut self, text: &str, take: Take<'_>) -> io::Result<bool> {
        let Ok(line) = serde_json::from_str::<Value>(text) else {
            return Ok(false);
        };
        let has = |key: &str| line.get(key).is_some();
        if has("answered") {
            self.answered(line, take)
        } else if has("plugin") && (has("seq") || has("namespaces")) {
            joined(line, take)
        } else if has("seq") {
            self.entry(line, take)
        } else if has("operation") {
            whole(line, take)
        } else {
            Ok(self.head(line))
        }
    }

    /// Records that there must be, by their numbers, and are not.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Gives the records to `take` that get no answer any more: all, or those that are so old at `now`.
    pub fn give_up(&mut self, now: Option<Timestamp>, take: Take<'_>) -> io::Result<()> {
        let is_over =
            |record: &Record| now.is_none_or(|now| now.duration_since(record.time) > LONGEST);
        for name in &self.order {
            let Some(invocation) = self.invocations.get_mut(name) else {
                continue;
            };
            for record in invocation.waiting.extract_if(.., |record| is_over(record)) {
                take(&record)?;
            }
        }
        Ok(())
    }

    fn head(&mut self, line: Value) -> bool {
        let Some(name) = line["invocation"].as_str().map(str::to_owned) else {
            return false;
        };
        let Ok(head) = serde_json::from_value(line) else {
            return false;
        };
        if !self.invocations.contains_key(&name) {
            self.order.push_back(name.clone());
        }
        self.invocations.entry(name).or_default().head = head;
        while self.order.len() > MOST_INVOCATIONS {
            let oldest = self.order.pop_front();
            oldest.map(|oldest| self.invocations.remove(&oldest));
        }
        true
    }

    fn entry(&mut self, line: Value, take: Take<'_>) -> io::Result<bool> {
        let Ok(entry) = serde_json::from_value::<Entry>(line) else {
            return Ok(false);
        };
        let Some(invocation) = self.invocations.get_mut(&entry.invocation) else {
            return Ok(false);
        };
        if entry.seq < invocation.next {
            // A kill between two steps left it twice in the log.
            return Ok(true);
        }
        self.missing += entry.seq - invocation.next;
        invocation.next = entry.seq + 1;
        let record = record(invocation.head.clone(), entry);
        match record.answer {
            Some(_) => take(&record)?,
            None => invocation.waiting.push(record),
        }
        Ok(true)
    }

    fn answered(&mut self, line: Value, take: Take<'_>) -> io::Result<bool> {
        let Ok(answered) = serde_json::from_value::<Answered>(line) else {
            return Ok(false);
        };
        let Some(invocation) = self.invocations.get_mut(&answered.invocation) else {
            return Ok(false);
        };
        let numbers = answered.answered..=answered.through.unwrap_or(answered.answered);
        let is_meant = |record: &mut Record| record.seq.is_some_and(|seq| numbers.contains(&seq));
        for mut record in invocation.waiting.extract_if(.., is_meant) {
            record.verdict = answered.verdict.unwrap_or(record.verdict);
            record.answer = Some(answered.answer.clone());
            record.microseconds = answered.microseconds;
            record.previous.clone_from(&answered.previous);
            take(&record)?;
        }
        Ok(true)
    }
}

fn record(head: Head, entry: Entry) -> Record {
    Record {
        time: entry.time,
        node: Some(head.node).filter(|node| !node.is_empty()),
        invocation: Some(entry.invocation),
        seq: Some(entry.seq),
        command: head.command,
        container_id: head.container_id,
        ifname: head.ifname,
        network: head.network,
        definition: head.definition,
        pod: head.pod,
        plugin: head.plugin,
        digest: head.digest,
        capability: capability_of(&entry.operation),
        operation: entry.operation,
        namespaces: namespaces(&entry.arguments),
        arguments: entry.arguments,
        shortened_from: entry.shortened_from,
        arguments_sha256: entry.arguments_sha256,
        verdict: entry.verdict,
        rules: entry.rules,
        requirement: entry.requirement,
        closest: entry.closest,
        answer: entry.answer,
        microseconds: entry.microseconds,
        previous: entry.previous,
    }
}

/// A record as the tools print it.
fn joined(line: Value, take: Take<'_>) -> io::Result<bool> {
    match serde_json::from_value(line) {
        Ok(record) => take(&record).map(|()| true),
        Err(_) => Ok(false),
    }
}

/// A line of before.
fn whole(line: Value, take: Take<'_>) -> io::Result<bool> {
    let (head, old) = (
        serde_json::from_value(line.clone()),
        serde_json::from_value(line),
    );
    let (Ok(head), Ok::<Entry, _>(mut old)) = (head, old) else {
        return Ok(false);
    };
    if old.verdict == Verdict::Denied {
        (old.requirement, old.closest) = denial(&mut old);
    }
    if old.operation == "link.get" && old.arguments.get("link").is_none() {
        old.arguments = looked_up(&old.arguments);
    }
    if old.operation == "traffic.add-qdisc" {
        flatten_discipline(&mut old.arguments);
    }
    let record = Record {
        invocation: None,
        seq: None,
        ..record(head, old)
    };
    take(&record)?;
    Ok(true)
}

/// What was missing, and the closest rule, as the words of an old record say it. Takes the rule out of `rules`.
fn denial(old: &mut Entry) -> (Option<String>, Option<Closest>) {
    let closest = old.rules.pop();
    // The plugin chose what stands in between, and may have written such an end itself.
    let end = match &closest {
        Some(closest) => format!(" (closest rule: {closest})"),
        None => " (it has no rule for this capability)".to_owned(),
    };
    let answer = old.answer.as_deref().unwrap_or_default();
    let needed = answer.strip_prefix("the grant does not allow to ");
    let requirement = needed.and_then(|needed| needed.strip_suffix(&end));
    let closest = closest.map(|closest| {
        let (rule, field) = closest.split_once(": ").unwrap_or((&closest, ""));
        Closest {
            rule: rule.to_owned(),
            field: field.to_owned(),
        }
    });
    (requirement.map(str::to_owned), closest)
}

/// A look for a link that was not there had a record of its own form.
fn looked_up(arguments: &Value) -> Value {
    let mut link = arguments.clone();
    link["kind"] = json!("");
    json!({ "link": link })
}

/// A discipline was its word alone, or an object of its word and its parameters.
fn flatten_discipline(arguments: &mut Value) {
    let discipline = arguments["discipline"].as_object().cloned();
    let Some((word, parameters)) = discipline.and_then(|all| all.into_iter().next()) else {
        return;
    };
    if let (Value::Object(own), Value::Object(parameters)) = (&mut *arguments, parameters) {
        own.extend(parameters);
    }
    arguments["discipline"] = word.into();
}

fn capability_of(operation: &str) -> String {
    let word = operation
        .split_once('.')
        .map_or(operation, |(word, _)| word);
    word.to_owned()
}

/// The namespaces that an operation is about, wherever its arguments have them.
fn namespaces(arguments: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(arguments, &mut found);
    found.sort();
    found.dedup();
    found
}

fn collect(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            let own = members.get("namespace").and_then(Value::as_str);
            into.extend(own.map(str::to_owned));
            members.values().for_each(|member| collect(member, into));
        }
        Value::Array(list) => list.iter().for_each(|element| collect(element, into)),
        _ => {}
    }
}
