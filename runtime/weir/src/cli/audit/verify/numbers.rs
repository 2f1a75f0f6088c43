//! The numbers of the records: a number that an invocation skips is a record that is missing, even if the chain was computed
//! anew after it had been taken out.
//!
//! Some numbers are missing without an attack. Records that neither the log nor the spool had room for are lost; each write that
//! gets into the spool then begins with the invocation's first line. And a file that was cut at its beginning has the end
//! of the invocations that were under way.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;

use super::report::{Finding, Lines, Report, What};
use crate::cli::record::{LONGEST, parts};

/// Where a line is.
#[derive(Clone, Copy)]
pub struct Position<'a> {
    pub file: &'a Path,
    /// The file's position among the files.
    pub number: usize,
    pub line: u64,
    /// The last chain line before it.
    pub chained: u64,
}

/// The invocations so far.
#[derive(Default)]
pub struct Numbers {
    invocations: HashMap<String, Invocation>,
    /// Writes so far: what chain lines end.
    writes: u64,
    /// Parts of the chain so far.
    segments: usize,
    /// Segments before which an invocation was under way that continues in them, in the same file.
    spanned: BTreeSet<usize>,
    /// Writes that no chain line covers. They do not show when they were made.
    uncovered: BTreeSet<u64>,
    /// Whether the file begins with the beginning of the chain.
    is_whole: bool,
    /// The times of the file's first and last record.
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

struct Invocation {
    /// The write that has its first line; none if the files do not have it.
    begun: Option<u64>,
    /// The number after the greatest.
    next: u64,
    file: usize,
    /// The last segment that has a write of it before the last one.
    segment: Option<usize>,
    /// The write and the segment that have its last line.
    write: u64,
    in_segment: usize,
    gaps: Vec<Gap>,
}

#[derive(Clone, Copy)]
enum Missing {
    /// The line that the records share.
    Beginning,
    /// The first number and the last.
    Records(u64, u64),
}

/// What is missing of an invocation.
#[derive(Clone)]
struct Gap {
    missing: Missing,
    /// Whether all that follows is as in the spool.
    is_kept: bool,
    chained: u64,
    lines: Lines,
}

/// What is read of a line: of one that an invocation's records share, of a record, or of an answer.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    time: Option<Cow<'a, str>>,
    #[serde(borrow)]
    invocation: Option<Cow<'a, str>>,
    seq: Option<u64>,
    answered: Option<u64>,
    through: Option<u64>,
}

impl Numbers {
    /// Begins a file.
    pub fn file(&mut self) {
        self.writes += 1;
        (self.is_whole, self.first, self.last) = (false, None, None);
    }

    /// Takes a chain line, which ends a write.
    pub fn chain_line(&mut self) {
        self.writes += 1;
    }

    /// Takes a chain line that does not follow the one before. `begins` if it is the file's first line, and begins the chain.
    pub fn carried(&mut self, begins: bool) {
        self.uncovered.insert(self.writes);
        self.writes += 1;
        self.segments += 1;
        self.is_whole |= begins;
    }

    /// Takes a line. After one that was cut short, the next one may follow in the same line.
    pub fn line(&mut self, bytes: &[u8], position: Position<'_>) {
        if let Ok(line) = serde_json::from_slice(bytes) {
            return self.read(&line, position);
        }
        let text = String::from_utf8_lossy(bytes);
        for part in parts(&text) {
            if let Ok(line) = serde_json::from_str(part) {
                self.read(&line, position);
            }
        }
    }

    fn read(&mut self, line: &Line<'_>, position: Position<'_>) {
        let Some(name) = line.invocation.as_deref() else {
            return;
        };
        let time = line.time.as_ref().and_then(|time| time.parse().ok());
        self.last = time.or(self.last);
        self.first = self.first.or(time);
        match (line.seq, line.answered) {
            (Some(seq), _) => self.numbers(name, (seq, seq), true, position),
            (None, Some(first)) => {
                let last = line.through.unwrap_or(first);
                self.numbers(name, (first, last), false, position);
            }
            (None, None) => self.begin(name, position),
        }
    }

    /// The line that an invocation's records share.
    fn begin(&mut self, name: &str, position: Position<'_>) {
        let new = || Invocation {
            begun: None,
            next: 0,
            file: position.number,
            segment: None,
            write: self.writes,
            in_segment: self.segments,
            gaps: Vec::new(),
        };
        let invocations = self.invocations.entry(name.to_owned());
        invocations.or_insert_with(new).begun = Some(self.writes);
    }

    /// Notes where an invocation has its last line, and what it was under way before.
    fn follow(&mut self, name: &str, position: Position<'_>) {
        let Some(invocation) = self.invocations.get_mut(name) else {
            return;
        };
        if invocation.file != position.number {
            invocation.segment = None;
        } else if invocation.write != self.writes && !self.uncovered.contains(&invocation.write) {
            invocation.segment = Some(invocation.in_segment);
        }
        invocation.file = position.number;
        (invocation.write, invocation.in_segment) = (self.writes, self.segments);
        if let Some(before) = invocation.segment
            && invocation.begun != Some(self.writes)
        {
            self.spanned.extend(before + 1..=self.segments);
        }
    }

    /// A record, whose numbers are one, or an answer to records.
    fn numbers(
        &mut self,
        name: &str,
        numbers: (u64, u64),
        is_record: bool,
        position: Position<'_>,
    ) {
        let (first, last) = numbers;
        let is_new = !self.invocations.contains_key(name);
        // What was before such a file is not known.
        let is_cut = is_new && self.may_be_cut();
        if is_new {
            self.begin(name, position);
        }
        self.follow(name, position);
        let (writes, time) = (self.writes, self.last);
        let Some(invocation) = self.invocations.get_mut(name) else {
            return;
        };
        if is_new {
            invocation.begun = None;
        }
        let is_begun = invocation.begun == Some(writes);
        if !is_begun {
            invocation
                .gaps
                .iter_mut()
                .for_each(|gap| gap.is_kept = false);
        }
        let gap = |missing| Gap {
            missing,
            is_kept: is_begun,
            chained: position.chained,
            lines: Lines {
                file: position.file.to_owned(),
                first_line: position.line,
                last_line: position.line,
                time: time.map(crate::cli::audit::time::precise),
            },
        };
        if is_new && !is_cut {
            invocation.gaps.push(gap(Missing::Beginning));
        }
        let after = last.saturating_add(1);
        // Of an answer, the records themselves are before it.
        let end = if is_record { first } else { after };
        if end > invocation.next && !is_cut {
            let missing = Missing::Records(invocation.next, end - 1);
            invocation.gaps.push(gap(missing));
        } else if is_record {
            fill(&mut invocation.gaps, first);
        }
        invocation.next = invocation.next.max(after);
    }

    /// Whether an invocation may have begun before the file: none lasts longer.
    fn may_be_cut(&self) -> bool {
        let span = self.first.zip(self.last);
        let is_early = span.is_none_or(|(first, last)| last.duration_since(first) <= LONGEST);
        !self.is_whole && is_early
    }

    /// Reports what is missing. Returns the segments before which an invocation was under way that continues in them.
    pub fn finish(self, report: &mut Report) -> BTreeSet<usize> {
        let mut missing: Vec<_> = self
            .invocations
            .into_iter()
            .flat_map(|(name, invocation)| {
                let gaps = invocation.gaps.into_iter();
                gaps.map(move |gap| (name.clone(), gap))
            })
            .collect();
        missing.sort_by_key(|(_, gap)| gap.place());
        for (name, gap) in missing {
            if gap.is_kept {
                let place = gap.lines.place();
                report.remarks.push(format!(
                    "{place}: {}, and what follows was kept while the log could not be written: lost, because there was \
                     no room to keep it",
                    gap.what(&name)
                ));
                continue;
            }
            let message = format!("{} before this line: taken out", gap.what(&name));
            let mut finding = Finding::at(What::MissingRecord, gap.chained, gap.lines, message);
            finding.invocation = Some(name);
            report.findings.push(finding);
        }
        self.spanned
    }
}

impl Gap {
    /// By which gaps are sorted.
    fn place(&self) -> (u64, u64) {
        (self.chained, self.lines.first_line)
    }

    fn what(&self, name: &str) -> String {
        let what = match self.missing {
            Missing::Beginning => "the first line, with the plugin and the network, is".to_owned(),
            Missing::Records(first, last) if first == last => format!("record {first} is"),
            Missing::Records(first, last) => format!("records {first} to {last} are"),
        };
        format!("{what} missing of invocation `{name}`")
    }
}

/// Takes a number that is there after all out of the gaps: parts of the log may be in another order.
fn fill(gaps: &mut Vec<Gap>, number: u64) {
    let with = |gap: &Gap| match gap.missing {
        Missing::Records(first, last) if (first..=last).contains(&number) => Some((first, last)),
        _ => None,
    };
    let mut places = gaps.iter().enumerate();
    let found = places.find_map(|(at, gap)| Some((at, with(gap)?)));
    let Some((at, (first, last))) = found else {
        return;
    };
    let gap = gaps.remove(at);
    let mut keep = |first, last| {
        let missing = Missing::Records(first, last);
        gaps.push(Gap {
            missing,
            ..gap.clone()
        });
    };
    if first < number {
        keep(first, number - 1);
    }
    if number < last {
        keep(number + 1, last);
    }
}
