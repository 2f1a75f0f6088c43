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
    /// Of those allowed and undone: the kernel answered with an error.
    pub failed: u64,
    /// Time in the kernel. An IPAM plugin's is also counted for the plugin that ran it.
    pub microseconds: u64,
    pub first: Option<Timestamp>,
    pub last: Option<Timestamp>,
}

impl Count {
    pub fn add(&mut self, record: &Record) {
        match record.verdict {
            Verdict::Allowed => self.allowed += 1,
            Verdict::Denied => self.denied += 1,
            Verdict::Refused => self.refused += 1,
            Verdict::Undo => self.undone += 1,
        }
        self.failed += u64::from(record.failed());
        let took = record.microseconds.unwrap_or(0);
        self.microseconds = self.microseconds.saturating_add(took);
        widen(&mut self.first, &mut self.last, record.time);
    }

    pub fn records(&self) -> u64 {
        self.allowed + self.denied + self.refused + self.undone
    }
}

/// How often something occurred, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Use {
    pub count: u64,
    pub first: Option<Timestamp>,
    pub last: Option<Timestamp>,
}

impl Use {
    pub fn add(&mut self, time: Timestamp) {
        self.count += 1;
        widen(&mut self.first, &mut self.last, time);
    }

    pub fn join(&mut self, other: &Self) {
        self.count += other.count;
        for time in [other.first, other.last].into_iter().flatten() {
            widen(&mut self.first, &mut self.last, time);
        }
    }
}

/// Records may be in any order: clocks are set, and files are given in any order.
fn widen(first: &mut Option<Timestamp>, last: &mut Option<Timestamp>, time: Timestamp) {
    *first = Some(first.map_or(time, |first| first.min(time)));
    *last = Some(last.map_or(time, |last| last.max(time)));
}
