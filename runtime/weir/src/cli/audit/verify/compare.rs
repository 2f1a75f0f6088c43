//! Comparing the chain with what was kept beside the log: the node's head file, and checkpoints.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use weir_gate::Head;
use weir_gate::chain::{ChainLine, Step, Walk};

use super::NodeHead;
use super::line::read_line;
use super::report::{End, Finding, Report, What};
use crate::cli::number::counted;

/// Why a log may have no chain line.
const REMOVED: &str =
    "the log was removed, emptied or replaced, or rotated and the file before was not given";

/// A chain line that was stored elsewhere. Other members of its JSON are ignored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Checkpoint {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    #[serde(flatten)]
    line: ChainLine,
}

impl Checkpoint {
    pub fn new(time: String, node: Option<String>, line: ChainLine) -> Self {
        Self {
            time: Some(time),
            node,
            line,
        }
    }

    pub fn line(&self) -> &ChainLine {
        &self.line
    }
}

/// Reads checkpoints, one a line. Errors: a file without any, or a line that is none.
pub fn read_checkpoints(files: &[PathBuf]) -> Result<Vec<Checkpoint>> {
    let mut all = Vec::new();
    for path in files {
        let shown = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("read `{shown}`"))?;
        let before = all.len();
        for (at, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let checkpoint = serde_json::from_str(line);
            all.push(checkpoint.with_context(|| {
                let number = at + 1;
                format!(
                    "`{shown}`, line {number}, is not a checkpoint; expected a line of `weir audit checkpoint`"
                )
            })?);
        }
        if all.len() == before {
            bail!("`{shown}` has no checkpoint; expected lines of `weir audit checkpoint`");
        }
    }
    Ok(all)
}

/// The digests of the chain lines that something is compared with, by number, and where they end in their files.
#[derive(Default)]
pub struct Wanted(BTreeMap<u64, Vec<Seen>>);

/// A chain line of the files.
struct Seen {
    sha256: String,
    /// Where it ends.
    end: u64,
    /// Whether it repeats the last one of another file.
    is_repeat: bool,
}

/// What the files have in the place of a chain line.
enum Found {
    Same,
    Another,
    Nothing,
}

impl Wanted {
    pub fn add(&mut self, line: &ChainLine) {
        self.0.entry(line.chained).or_default();
    }

    /// Takes a chain line of the files, which ends at an offset.
    pub fn see(&mut self, line: &ChainLine, end: u64, is_repeat: bool) {
        if let Some(seen) = self.0.get_mut(&line.chained) {
            seen.push(Seen {
                sha256: line.sha256.clone(),
                end,
                is_repeat,
            });
        }
    }

    fn find(&self, line: &ChainLine) -> Found {
        match self.0.get(&line.chained) {
            Some(_) if self.of(line).next().is_some() => Found::Same,
            Some(seen) if !seen.is_empty() => Found::Another,
            _ => Found::Nothing,
        }
    }

    /// A chain line, in each file that has it.
    fn of(&self, line: &ChainLine) -> impl Iterator<Item = &Seen> {
        let seen = self.0.get(&line.chained).into_iter().flatten();
        seen.filter(|seen| seen.sha256 == line.sha256)
    }
}

/// Compares with the node's head file, if the last of the files is the one that it is about.
pub fn head(head: NodeHead, wanted: &Wanted, report: &mut Report) {
    let head = match head {
        NodeHead::Missing(path) => {
            if report.checked > 0 {
                report.findings.push(no_head(&path));
            }
            return;
        }
        NodeHead::Found(head) => head,
    };
    let (number, end, head) = (head.chained, head.end, head.line());
    // A chain that has only been begun has nothing to lose.
    let is_begun = number == 0 && report.checked == 0;
    match wanted.find(&head) {
        Found::Same => {
            at_head(number, report);
            // A change of the lines is a finding already.
            if report.findings.is_empty() {
                let has_more = report.chained.last.is_some_and(|last| last > number);
                report.findings.extend(moved(&head, end, wanted, has_more));
            }
        }
        Found::Nothing if is_begun => {}
        Found::Another => report.findings.push(Finding::of(
            What::OtherHead,
            number,
            format!(
                "`audit.head` has another digest of chain line {number}: the log or it was replaced"
            ),
        )),
        Found::Nothing => report.findings.push(beside(&head, report)),
    }
}

/// The chain covers what is between two chain lines, and not how much came before. Where it goes on after a repeat of the head's
/// line, a process was killed that had begun a file: the head is of the file before, or of none.
fn moved(head: &ChainLine, expected: u64, wanted: &Wanted, has_more: bool) -> Option<Finding> {
    let counts = |seen: &&Seen| !(seen.is_repeat && has_more);
    let ends: Vec<u64> = wanted
        .of(head)
        .filter(counts)
        .map(|seen| seen.end)
        .collect();
    let end = *ends.last().filter(|_| !ends.contains(&expected))?;
    let (bytes, change) = match end.checked_sub(expected) {
        Some(more) => (more, "added before it"),
        None => (expected - end, "taken out before it"),
    };
    let number = head.chained;
    Some(Finding::of(
        What::Moved,
        number,
        format!(
            "chain line {number} ends at byte {end}, and ended at byte {expected} when it was written, as `audit.head` \
             says: {} were {change}",
            counted(bytes, "byte")
        ),
    ))
}

fn at_head(number: u64, report: &mut Report) {
    report.head = Some(number);
    report.end = End::AsInHead;
}

/// Compares copies and rotated files with the node's head file, and with its log.
pub fn copies(
    head: Option<&Head>,
    log: &Path,
    ends: &(ChainLine, ChainLine),
    wanted: &Wanted,
    report: &mut Report,
) {
    if let Some(head) = head.map(Head::line)
        && let Found::Same = wanted.find(&head)
    {
        return at_head(head.chained, report);
    }
    let (first, last) = ends;
    let number = last.chained;
    let shown = log.display();
    let place = match place_in(log, first, last) {
        Ok(place) => place,
        Err(error) => {
            report.remarks.push(format!(
                "`{shown}`, which may go on where the files end, cannot be read: {error}"
            ));
            return;
        }
    };
    match (place.last, place.has_first) {
        (Some(Step::Carried(_)), _) => report.end = End::GoesOn,
        (Some(_), _) => report.findings.push(Finding::of(
            What::CutOff,
            number,
            format!(
                "the files end with chain line {number}, and `{shown}` goes on after it: what \
                 follows was cut off, or written after they were copied"
            ),
        )),
        (None, true) => report.findings.push(Finding::of(
            What::Differs,
            number,
            format!(
                "the files begin with a chain line of `{shown}`, which does not have their last \
                 one, {number}: one of both was changed or cut off"
            ),
        )),
        (None, false) => report.remarks.push(format!(
            "neither `audit.head` nor `{shown}` has the last chain line of the files, {number}: \
             they are of another node, or older than the log; give all files up to the log, or a \
             checkpoint of their end"
        )),
    }
}

/// Where the node's log has the ends of files.
#[derive(Default)]
struct PositionInLog {
    has_first: bool,
    last: Option<Step>,
}

fn place_in(log: &Path, first: &ChainLine, last: &ChainLine) -> io::Result<PositionInLog> {
    let mut place = PositionInLog::default();
    let mut reader = match File::open(log) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(place),
        file => BufReader::with_capacity(1 << 16, file?),
    };
    let (mut walk, mut bytes) = (Walk::default(), Vec::new());
    while read_line(&mut reader, &mut bytes)? {
        let step = walk.line(&bytes);
        let (Step::Next { line, .. } | Step::Carried(line)) = &step else {
            continue;
        };
        place.has_first |= line == first;
        // A call that ran during a rotation goes back to the older file: where its line is repeated, the log continues after it.
        let is_known = matches!(place.last, Some(Step::Carried(_)));
        if line == last && !is_known {
            place.last = Some(step);
        }
    }
    Ok(place)
}

fn no_head(path: &Path) -> Finding {
    let message = format!(
        "`{}` is missing or damaged, so lines may have been cut off the end of the log",
        path.display()
    );
    Finding::of(What::NoHead, 0, message)
}

/// A head that is not among the chain lines of the files.
fn beside(head: &ChainLine, report: &Report) -> Finding {
    let number = head.chained;
    let Some((first, last)) = report.chained.first.zip(report.chained.last) else {
        return Finding::of(
            What::CutOff,
            number,
            format!(
                "no line is in the chain, but `audit.head` says that it has reached chain line {number}: {REMOVED}"
            ),
        );
    };
    if number > last {
        let missing = counted(number - last, "chain line");
        return Finding::of(
            What::CutOff,
            number,
            format!(
                "the end is missing: `audit.head` says chain line {number}, and the log ends with {last}; {missing} were \
                 cut off, or lost in a power failure"
            ),
        );
    }
    let message = if number < first {
        format!(
            "`audit.head` says chain line {number}, and the log begins after {first}: an older head was put there"
        )
    } else {
        format!("chain line {number}, which `audit.head` names, is missing")
    };
    Finding::of(What::OtherHead, number, message)
}

/// Compares with checkpoints that were stored elsewhere.
pub fn checkpoints(checkpoints: Vec<Checkpoint>, wanted: &Wanted, report: &mut Report) {
    report.checkpoints.compared = checkpoints.len() as u64;
    let why = match report.chained.last {
        Some(_) => "the end was cut off, or a new chain was started",
        None => REMOVED,
    };
    for checkpoint in checkpoints {
        let number = checkpoint.line.chained;
        let of = checkpoint.time.as_deref().map_or_else(
            || format!("the checkpoint at chain line {number}"),
            |time| format!("the checkpoint of {time}, at chain line {number},"),
        );
        // The first chain line of a rotated log is one of the file before, repeated.
        let is_older = report.before() > 0 && number <= report.before();
        match wanted.find(&checkpoint.line) {
            Found::Same if !is_older => report.checkpoints.matching += 1,
            Found::Another => report.findings.push(Finding::of(
                What::Checkpoint,
                number,
                format!("{of} has another digest than the log: lines up to there were changed, or it is of another log"),
            )),
            Found::Same | Found::Nothing if is_older => {
                report.checkpoints.before += 1;
                report
                    .remarks
                    .push(format!("{of} is from before these files: give the rotated ones as well"));
            }
            Found::Same | Found::Nothing => report.findings.push(Finding::of(
                What::Checkpoint,
                number,
                format!("{of} is not in the log: {why}"),
            )),
        }
    }
}
