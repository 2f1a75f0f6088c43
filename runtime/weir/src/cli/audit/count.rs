//! Counting records.

use jiff::Timestamp;
use serde::Serialize;

use crate::cli::record::{Record, Verdict};

/// The number of records by verdict, and their times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    pub allowed: u64,
    pub denied: u64,
    pub refused: u64,
    pub undone: u64,
    /// Changes that people made: plugins added or removed, grants changed. No rule allowed them.
    pub changes_by_people: u64,
    /// How many of the allowed and undone operations the kernel answered with an error.
    pub failed: u64,
    /// Time in the kernel. An IPAM plugin's is also counted for the plugin that ran it.
    pub microseconds: u64,
    #[serde(flatten)]
    pub times: Times,
}

impl Count {
    pub fn add(&mut self, record: &Record) {
        match record.verdict {
            Verdict::Allowed if record.is_change_by_people() => self.changes_by_people += 1,
            Verdict::Allowed => self.allowed += 1,
            Verdict::Denied => self.denied += 1,
            Verdict::Refused => self.refused += 1,
            Verdict::Undo => self.undone += 1,
        }
        self.failed += u64::from(record.failed());
        let took = record.microseconds.unwrap_or(0);
        self.microseconds = self.microseconds.saturating_add(took);
        self.times.add(record.time);
    }

    pub fn records(&self) -> u64 {
        self.changes_by_people + self.operations()
    }

    /// What plugins did, or tried to.
    pub fn operations(&self) -> u64 {
        self.allowed + self.denied + self.refused + self.undone
    }
}

/// How often something occurred, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Use {
    pub count: u64,
    #[serde(flatten)]
    pub times: Times,
}

impl Use {
    pub fn add(&mut self, time: Timestamp) {
        self.count += 1;
        self.times.add(time);
    }

    pub fn join(&mut self, other: &Self) {
        self.count += other.count;
        let times = [other.times.first, other.times.last];
        times
            .into_iter()
            .flatten()
            .for_each(|time| self.times.add(time));
    }
}

/// The first and the last time at which something occurred; none if it did not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Times {
    pub first: Option<Timestamp>,
    pub last: Option<Timestamp>,
}

impl Times {
    /// Adds an occurrence. Records may be in any order: clocks are set, and files are given in any order.
    fn add(&mut self, time: Timestamp) {
        self.first = Some(self.first.map_or(time, |first| first.min(time)));
        self.last = Some(self.last.map_or(time, |last| last.max(time)));
    }
}
