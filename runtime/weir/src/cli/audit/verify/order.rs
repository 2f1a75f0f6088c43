//! The order of the parts of the chain, which may go back and forth between files: a call that was under way during a
//! rotation writes to the file that it has open.

use std::collections::{BTreeSet, HashMap, VecDeque};

use weir_gate::chain::ChainLine;

use super::report::{Finding, Report, What};
use super::scan::Segment;
use crate::cli::number::counted;

/// Follows the chain through the segments, in whichever file it continues. What does not follow is a finding. `log` is the
/// position of the node's log among the files. Returns the first chain line and the last.
pub fn check(
    segments: &[Segment],
    log: Option<usize>,
    report: &mut Report,
) -> Option<(ChainLine, ChainLine)> {
    let unrotated = unrotated(segments, log);
    let mut left = Left::new(segments);
    let mut current: Option<&Segment> = None;
    // How far each file has been followed.
    let mut followed: HashMap<usize, u64> = HashMap::new();
    while let Some((next, follows)) = left.after(current) {
        match current {
            None => report.chained.first = Some(next.after.chained),
            Some(current) if !follows => report.findings.push(gap(current, next, unrotated)),
            Some(_) => {}
        }
        let line = next.lines.first_line;
        let before = followed.insert(next.file, line);
        if before.is_some_and(|before| before > line) {
            let message = "moved: written before others that precede them in the file";
            report.findings.push(at(next, What::Moved, message.into()));
        }
        current = Some(next);
    }
    let lines = segments.iter().map(|segment| &segment.last);
    let last = lines.max_by_key(|line| line.chained)?;
    report.chained.last = Some(last.chained);
    Some((segments.first()?.after.clone(), last.clone()))
}

/// The node's log, if the chain began in it: then no other file can have a part of the chain.
fn unrotated(segments: &[Segment], log: Option<usize>) -> Option<usize> {
    let first = segments.iter().find(|segment| Some(segment.file) == log)?;
    (first.after.chained == 0).then_some(first.file)
}

/// The segments that were not followed yet.
struct Left<'a> {
    segments: &'a [Segment],
    in_order: BTreeSet<usize>,
    /// By the chain line that they go on after.
    after: HashMap<&'a ChainLine, VecDeque<usize>>,
}

impl<'a> Left<'a> {
    fn new(segments: &'a [Segment]) -> Self {
        let mut after: HashMap<_, VecDeque<usize>> = HashMap::new();
        for (at, segment) in segments.iter().enumerate() {
            after.entry(&segment.after).or_default().push_back(at);
        }
        Self {
            segments,
            in_order: (0..segments.len()).collect(),
            after,
        }
    }

    /// The segment in which the chain continues, or else the next one in the files; and which of the two it is.
    fn after(&mut self, current: Option<&Segment>) -> Option<(&'a Segment, bool)> {
        let following = current.and_then(|current| self.take_after(&current.last));
        let next = following.or_else(|| self.in_order.first().copied())?;
        self.in_order.remove(&next);
        Some((&self.segments[next], following.is_some()))
    }

    fn take_after(&mut self, line: &ChainLine) -> Option<usize> {
        let there = self.after.get_mut(line)?;
        while let Some(at) = there.pop_front() {
            if self.in_order.contains(&at) {
                return Some(at);
            }
        }
        None
    }
}

/// Why a segment does not follow the one before.
fn gap(current: &Segment, next: &Segment, unrotated: Option<usize>) -> Finding {
    let (last, after) = (current.last.chained, next.after.chained);
    if after == 0 {
        return at(
            next,
            What::BegunAnew,
            format!(
                "the chain begins anew after chain line {last}: `audit.head` was missing or damaged, and lines may have \
                 been cut off before this one"
            ),
        );
    }
    if after > last {
        let missing = match after - last {
            1 => format!("what chain line {after} covers is missing here"),
            _ => format!(
                "what chain lines {} to {after} cover is missing here",
                last + 1
            ),
        };
        let is_one_file = unrotated == Some(next.file) && current.file == next.file;
        let why = match (is_one_file, next.is_spanned) {
            (false, _) => "taken out, in a file that was not given, or lost in a power failure",
            (true, false) => "taken out or changed, or lost in a power failure",
            (true, true) => {
                "taken out or changed, since the log was never rotated and an invocation goes on after it"
            }
        };
        return at(next, What::Missing, format!("{missing}: {why}"));
    }
    let text = match last - after {
        0 => format!("the chain continues after another chain line {after} than the one above"),
        back => format!(
            "the chain goes back by {} to chain line {after}: `audit.head` was replaced by an older one, or lines were \
             copied here",
            counted(back, "chain line")
        ),
    };
    at(next, What::Forked, text)
}

fn at(segment: &Segment, what: What, message: String) -> Finding {
    Finding::at(what, segment.after.chained, segment.lines.clone(), message)
}
