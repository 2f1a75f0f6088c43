//! The audit log: JSON Lines, one record for each operation.
//!
//! What all records of an invocation share is written once, before the first of them. A change of the host or of a file is
//! recorded before it is made. Its outcome is written with the next record, or at the end of the invocation. A change that
//! stays in the container may be written with the next record as well. So a kill loses no act on the host, at most the
//! answer to the last one, and at most the last acts in the container.
//!
//! The next record may be another invocation's: running an IPAM plugin is recorded with the plugin's first record, and the
//! plugin's last answers with the next record of the plugin that runs it.

mod chained;
mod forward;
mod journal;
mod line;
mod log;
mod shorten;
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use weir_grant::Operation;

use crate::event::Event;
use crate::refusal::Denied;
use crate::subject::Subject;
pub use forward::{AuditSettings, Receiver};
pub use line::SCHEMA;
use line::{Answer, Answered, Denial, Entry, Head, Time};
pub use log::{Log, RunsAnother};

/// The denials of an invocation that are recorded one by one; further ones are only counted.
const MOST_DENIALS: u64 = 100;

/// The bytes of records after which an invocation is ended. Undoing it is recorded beyond that.
pub const MOST_RECORDED: usize = 4 << 20;

/// When the intent of an operation is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// Before it is carried out.
    Before,
    /// With the next record, at the latest at the end of the invocation.
    WithNext,
}

/// The records of one invocation.
pub struct Audit {
    subject: Subject,
    log: Arc<Log>,
    reads: bool,
    /// The name of the invocation in every line.
    invocation: String,
    /// The number of the next record.
    next: u64,
    /// The invocation's head, once the log or the spool has it.
    head: Option<Arc<[u8]>>,
    /// Bytes written so far.
    recorded: usize,
    denials: u64,
    /// Why earlier records are in the spool.
    kept: Option<String>,
    /// Why records are lost, or an operation was not carried out.
    failure: Option<String>,
}

/// Records in the log that still need an answer.
#[must_use]
pub(crate) struct Pending {
    first: u64,
    last: u64,
}

impl Audit {
    /// Makes the records of an invocation. With `reads`, allowed reads are recorded too.
    pub fn new(subject: Subject, log: Arc<Log>, reads: bool) -> Self {
        Self {
            subject,
            log,
            reads,
            invocation: name(),
            next: 0,
            head: None,
            recorded: 0,
            denials: 0,
            kept: None,
            failure: None,
        }
    }

    /// Records nothing.
    pub fn nowhere(subject: Subject) -> Self {
        Self::new(subject, Arc::new(Log::nowhere()), false)
    }

    /// Why records are lost, or why an allowed operation was not carried out: the log could not be written. No act may stand
    /// without its record, so intents that wait are written first.
    pub fn failure(&mut self) -> Option<&str> {
        if self.log.waiting().has_intents() {
            let must = self.is_add();
            // Then it is the failure.
            let _ = self.write(&[], must);
        }
        self.failure.as_deref()
    }

    /// Returns the size of the records of the invocation, in bytes.
    pub fn recorded(&self) -> usize {
        self.recorded
    }

    /// Notes that the invocation runs another one, as long as the guard exists, and will append lines afterwards. The last
    /// lines of the other one wait for them.
    pub fn run_another(&self) -> RunsAnother {
        RunsAnother::begin(Arc::clone(&self.log))
    }

    /// Returns the name of the invocation in its records.
    pub fn invocation(&self) -> &str {
        &self.invocation
    }

    /// Returns which invocation the records are about.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Whether an operation is recorded if it is allowed.
    pub(super) fn is_recorded<O: Operation>(&self) -> bool {
        !O::VERB.is_read() || self.reads
    }

    /// Whether the invocation is an ADD.
    pub(super) fn is_add(&self) -> bool {
        self.subject.command == "ADD"
    }

    /// Records operations before they are carried out. Errors: why they cannot be recorded and must not be carried out.
    pub(super) fn intend<O: Operation>(
        &mut self,
        operations: &[(&O, &[String])],
        verdict: &'static str,
        intent: Intent,
    ) -> Result<Pending, String> {
        // DEL, GC and undo go on: otherwise they would leave things behind.
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
        match self.write_at(intent, lines, must) {
            Err(why) if must => {
                self.next = first;
                Err(why)
            }
            _ => Ok(pending),
        }
    }

    /// Notes the outcome, to be written later. `refused` if weir itself refused it.
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
        let mut line = Vec::with_capacity(256);
        // Serialising text cannot fail.
        let _ = answered.write(&mut line);
        self.follow_to_spool();
        match &self.head {
            Some(head) if self.kept.is_none() => {
                self.recorded += line.len();
                self.log.waiting().add(head, line);
            }
            // If it is lost, `failure` says so.
            _ => drop(self.write(&line, false)),
        }
    }

    /// Records an operation that is not carried out, and the answer to the plugin. Denials beyond [`MOST_DENIALS`] are only
    /// counted.
    pub(super) fn not_done<O: Operation>(
        &mut self,
        operation: &O,
        verdict: &'static str,
        rules: &[String],
        denied: Option<&Denied>,
        answer: &str,
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
            answer: Some(at_once(answer)),
        };
        // If it is lost, `failure` says so.
        let _ = self.one(entry);
    }

    /// Records an event and its outcome: `ok`, or what went wrong.
    ///
    /// Errors: why it is lost.
    pub fn tell(&mut self, event: &Event<'_>, answer: &str) -> Result<(), String> {
        self.one(Entry {
            operation: event.name(),
            arguments: event,
            verdict: event.verdict(),
            rules: &[],
            denied: None,
            answer: Some(at_once(answer)),
        })
    }

    /// Writes the last answers, and the number of denials that were only counted.
    pub fn finish(&mut self) {
        let further = self.denials.saturating_sub(MOST_DENIALS);
        if further > 0 {
            self.denials = 0;
            let event = Event::Further { count: further };
            let _ = self.tell(&event, "not recorded one by one");
        }
        if !self.log.has_outer() && !self.log.waiting().is_empty() {
            let _ = self.write(&[], false);
        }
        self.tell_of_missed();
    }

    /// Records that lines were not forwarded, and says so on standard error.
    fn tell_of_missed(&mut self) {
        let Some(missed) = self.log.take_missed() else {
            return;
        };
        missed.say();
        let event = Event::NotForwarded {
            count: missed.count,
        };
        let _ = self.tell(&event, &missed.why);
        // The lines of that record itself are not worth another.
        self.log.take_missed();
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

    /// Writes intents at once, or has them wait for the next record. The first record of an invocation does not wait: it
    /// shows that the log can be written.
    fn write_at(&mut self, when: Intent, intents: Vec<u8>, must: bool) -> Result<(), String> {
        self.follow_to_spool();
        if when == Intent::WithNext
            && self.kept.is_none()
            && let Some(head) = &self.head
        {
            let mut waiting = self.log.waiting();
            if waiting.has_room(intents.len()) {
                self.recorded += intents.len();
                waiting.add_intents(head, intents);
                return Ok(());
            }
        }
        self.write(&intents, must)
    }

    /// Appends what waits and these lines in one write. If the log cannot be written, they go to the spool, unless they `must` be
    /// in the log.
    ///
    /// Errors: why they are lost, or not in the log.
    fn write(&mut self, lines: &[u8], must: bool) -> Result<(), String> {
        self.follow_to_spool();
        let is_first = self.head.is_none() && !lines.is_empty();
        let head = match &self.head {
            Some(head) => Arc::clone(head),
            None => self.first_line().into(),
        };
        let first = if is_first { &*head } else { &[] };
        let appended = match &self.kept {
            None => self.log.append(first, lines),
            // Records keep their order: earlier ones are in the spool.
            Some(why) => Err(why.clone()),
        };
        self.recorded += first.len() + lines.len();
        match appended {
            Ok(()) if is_first => self.head = Some(head),
            Ok(()) => {}
            Err(why) if must => {
                self.failure.get_or_insert(why.clone());
                return Err(why);
            }
            Err(why) => return self.keep(head, lines, why),
        }
        Ok(())
    }

    /// Notes whether another invocation has spooled lines of this one: its further lines go there as well.
    fn follow_to_spool(&mut self) {
        if let (None, Some(head)) = (&self.kept, &self.head) {
            self.kept = self.log.waiting().why_spooled(head).cloned();
        }
    }

    /// Puts what waits and these lines into the spool. They may end up in another file than the earlier ones, so they get a head.
    fn keep(&mut self, head: Arc<[u8]>, lines: &[u8], why: String) -> Result<(), String> {
        let head = self.head.insert(head);
        let kept = self.log.keep(head, lines, &why);
        self.kept = Some(why);
        kept.inspect_err(|lost| {
            self.failure.get_or_insert(lost.clone());
        })
    }

    /// The invocation's head.
    fn first_line(&self) -> Vec<u8> {
        let head = Head {
            time: Time::now(),
            schema: line::SCHEMA,
            invocation: &self.invocation,
            node: self.log.node(),
            subject: &self.subject,
        };
        let mut line = Vec::with_capacity(512);
        // Serialising text cannot fail.
        let _ = line::write(&head, &mut line);
        line
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        self.finish();
    }
}

/// An answer without a duration: of an operation that is not carried out, or of an event.
fn at_once(answer: &str) -> Answer<'_> {
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
