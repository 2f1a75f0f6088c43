//! The audit log: JSON Lines, one record for each operation.
//!
//! What an invocation's records share stands once, before the first of them. What changes something is recorded before
//! it is done, and what came of it after: with the next record, or at the invocation's end. So a kill loses no act; of
//! the last one it may lose the answer.

mod line;
mod log;
mod shorten;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use weir_grant::Operation;

use crate::event::Event;
use crate::refusal::Denied;
use crate::subject::Subject;
use line::{Answer, Answered, Denial, Entry, Head, Time};
pub use log::Log;

/// So many denials of an invocation are recorded one by one; the others are counted.
const MOST_DENIALS: u64 = 100;

/// So many bytes of records may an invocation make before it is ended. What it takes to undo it is recorded beyond that.
pub const MOST_RECORDED: usize = 4 << 20;

/// The records of one invocation.
pub struct Audit {
    subject: Subject,
    log: Arc<Log>,
    reads: bool,
    /// Names the invocation in every line.
    invocation: String,
    /// The next record's number.
    next: u64,
    /// Lines that are to be written with the next: answers.
    waiting: Vec<u8>,
    /// The log has the invocation's head.
    has_head: bool,
    /// Bytes that were written.
    recorded: usize,
    denials: u64,
    /// Why what came before is kept for the log.
    kept: Option<String>,
    /// Why records are lost, or something was not done.
    failure: Option<String>,
}

/// Records that stand in the log, and whose answer is due.
#[must_use]
pub(crate) struct Pending {
    first: u64,
    last: u64,
}

impl Audit {
    /// `reads` records allowed reads as well.
    pub fn new(subject: Subject, log: Arc<Log>, reads: bool) -> Self {
        Self {
            subject,
            log,
            reads,
            invocation: name(),
            next: 0,
            waiting: Vec::new(),
            has_head: false,
            recorded: 0,
            denials: 0,
            kept: None,
            failure: None,
        }
    }

    /// Records nothing: for what does nothing, and for tests.
    pub fn nowhere(subject: Subject) -> Self {
        Self::new(subject, Arc::new(Log::nowhere()), false)
    }

    /// Why records are lost, or why something that was allowed was not done: the log could not be written.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Bytes of records that the invocation has made.
    pub fn recorded(&self) -> usize {
        self.recorded
    }

    /// Names the invocation in its records.
    pub fn invocation(&self) -> &str {
        &self.invocation
    }

    /// Whose operations are recorded.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Whether an operation is recorded where it is allowed.
    pub(super) fn is_recorded<O: Operation>(&self) -> bool {
        !O::VERB.is_read() || self.reads
    }

    /// Whether they are of an ADD.
    pub(super) fn is_add(&self) -> bool {
        self.subject.command == "ADD"
    }

    /// Records what is about to be done. Errors: why it cannot be, where it must not be done then.
    pub(super) fn intend<O: Operation>(
        &mut self,
        operations: &[(&O, &[String])],
        verdict: &'static str,
    ) -> Result<Pending, String> {
        // DEL and GC go on, as undoing does: what they left would be nobody's.
        let must = verdict == "allowed" && self.is_add();
        let first = self.next;
        let mut lines = Vec::with_capacity(512 * operations.len());
        for &(arguments, rules) in operations {
            let entry = Entry {
                operation: O::NAME,
                arguments,
                verdict,
                rules,
                denied: None,
                answer: None,
            };
            self.add(entry, &mut lines);
        }
        let pending = Pending {
            first,
            last: self.next - 1,
        };
        match self.write(&lines, must) {
            Err(why) if must => {
                self.next = first;
                Err(why)
            }
            _ => Ok(pending),
        }
    }

    /// Says what came of it. `refused` where weir itself refused it.
    pub(super) fn answer(
        &mut self,
        pending: &Pending,
        answer: &str,
        refused: bool,
        took: Duration,
        previous: Option<&Value>,
    ) {
        let answered = Answered {
            answered: pending.first,
            through: (pending.last > pending.first).then_some(pending.last),
            invocation: &self.invocation,
            verdict: refused.then_some("refused"),
            answer: Answer {
                answer,
                microseconds: Some(microseconds(took)),
                previous,
            },
        };
        // Texts are JSON.
        let _ = answered.write(&mut self.waiting);
    }

    /// Records what was not done, and what the plugin is told. Of many denials some are counted alone.
    pub(super) fn not_done<O: Operation>(
        &mut self,
        operation: &O,
        verdict: &'static str,
        rules: &[String],
        denied: Option<&Denied>,
        told: &str,
    ) {
        if denied.is_some() {
            self.denials += 1;
            if self.denials > MOST_DENIALS {
                return;
            }
        }
        let entry = Entry {
            operation: O::NAME,
            arguments: operation,
            verdict,
            rules,
            denied: denied.map(|denied| Denial {
                requirement: &denied.requirement,
                closest: denied.closest.as_ref(),
            }),
            answer: Some(told_at_once(told)),
        };
        // Where it is lost, `failure` says so.
        let _ = self.one(entry);
    }

    /// Records an event, and what came of it: `ok`, or why not.
    ///
    /// Errors: why it is lost.
    pub fn tell(&mut self, event: &Event<'_>, answer: &str) -> Result<(), String> {
        self.one(Entry {
            operation: event.name(),
            arguments: event,
            verdict: event.verdict(),
            rules: &[],
            denied: None,
            answer: Some(told_at_once(answer)),
        })
    }

    /// Writes what is due: the last answers, and how many denials were not recorded one by one.
    pub fn finish(&mut self) {
        let further = self.denials.saturating_sub(MOST_DENIALS);
        if further > 0 {
            self.denials = 0;
            let event = Event::Further { count: further };
            let _ = self.tell(&event, "not recorded one by one");
        }
        if !self.waiting.is_empty() {
            let _ = self.write(&[], false);
        }
    }

    fn one(&mut self, entry: Entry<'_, impl Serialize>) -> Result<(), String> {
        let mut lines = Vec::with_capacity(512);
        self.add(entry, &mut lines);
        self.write(&lines, false)
    }

    fn add(&mut self, entry: Entry<'_, impl Serialize>, lines: &mut Vec<u8>) {
        let written = entry.write(&self.invocation, self.next, lines);
        self.next += 1;
        if let Err(error) = written {
            self.failure.get_or_insert(error.to_string());
        }
    }

    /// Writes lines behind what waits for them, in one append. What the log does not take is kept for it, unless it
    /// `must` be in the log.
    ///
    /// Errors: why it is lost, or not in the log.
    fn write(&mut self, lines: &[u8], must: bool) -> Result<(), String> {
        let mut all = Vec::with_capacity(lines.len() + self.waiting.len() + 512);
        if !self.has_head {
            self.head(&mut all);
        }
        all.extend_from_slice(&self.waiting);
        all.extend_from_slice(lines);
        self.recorded += all.len();
        let appended = match &self.kept {
            None => self.log.append(&all),
            // In its order, behind what came before.
            Some(why) => Err(why.clone()),
        };
        let Err(why) = appended else {
            self.has_head = true;
            self.waiting.clear();
            return Ok(());
        };
        if must {
            self.failure.get_or_insert(why.clone());
            return Err(why);
        }
        self.keep(all, why)
    }

    /// Keeps lines for the log. They may get into another file than what came before, so that they have a head.
    fn keep(&mut self, mut lines: Vec<u8>, why: String) -> Result<(), String> {
        if self.has_head {
            let mut head = Vec::new();
            self.head(&mut head);
            lines.splice(0..0, head);
        }
        self.waiting.clear();
        let kept = self.log.keep(&lines, &why);
        self.kept = Some(why);
        kept.inspect_err(|lost| {
            self.failure.get_or_insert(lost.clone());
        })
    }

    fn head(&self, into: &mut Vec<u8>) {
        let head = Head {
            time: Time::now(),
            invocation: &self.invocation,
            node: self.log.node(),
            subject: &self.subject,
        };
        // Texts are JSON.
        let _ = line::write(&head, into);
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        self.finish();
    }
}

/// The answer to what is not done, or was done before it is recorded.
fn told_at_once(answer: &str) -> Answer<'_> {
    Answer {
        answer,
        microseconds: None,
        previous: None,
    }
}

fn microseconds(took: Duration) -> u64 {
    took.as_micros().try_into().unwrap_or(u64::MAX)
}

/// 64 random bits.
fn name() -> String {
    let bits = getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()));
    format!("{bits:016x}")
}
