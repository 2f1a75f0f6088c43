//! The hash chain over the audit log.
//!
//! Every write to the log ends with a chain line, `{"chained":12,"sha256":"…"}`. Its digest is that of the bytes before
//! it, from the beginning of the previous chain line: of that line, and of what was written since. Chain lines are
//! numbered. Where the chain continues in another file, or in one that was truncated, the previous chain line is repeated
//! first; so every file can be checked alone, and files that belong together share a line.

use std::fmt::Write as _;
use std::mem;

use bitcoin_hashes::{HashEngine as _, sha256};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::text::hexadecimal;

/// No other line of the log begins like this.
const START: &[u8] = b"{\"chained\":";

/// A chain line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ChainLine {
    /// Its number. 0 begins a chain and covers nothing.
    pub chained: u64,
    /// In hexadecimal digits. Of line 0, a random name of the chain.
    pub sha256: String,
}

impl ChainLine {
    /// The most bytes of a line in the log.
    pub(crate) const MOST_BYTES: usize = 110;

    /// Begins a chain. Errors: the kernel has no random numbers.
    pub(crate) fn first() -> Result<Self, getrandom::Error> {
        let mut name = [0; 32];
        getrandom::fill(&mut name)?;
        Ok(Self {
            chained: 0,
            sha256: hexadecimal(&name),
        })
    }

    /// Reads a line of the log, with its end. None if it is not a chain line, to the byte.
    pub fn read(line: &[u8]) -> Option<Self> {
        if !line.starts_with(START) {
            return None;
        }
        let read: Self = serde_json::from_slice(line).ok()?;
        (read.text().as_bytes() == line).then_some(read)
    }

    /// Returns the bytes of the line in the log, with its end.
    pub fn size(&self) -> usize {
        self.text().len()
    }

    /// The line in the log, with its end.
    pub(crate) fn text(&self) -> String {
        let mut text = String::with_capacity(Self::MOST_BYTES);
        text.push_str("{\"chained\":");
        // Writing to a text cannot fail.
        let _ = write!(text, "{}", self.chained);
        text.push_str(",\"sha256\":\"");
        text.push_str(&self.sha256);
        text.push_str("\"}\n");
        text
    }
}

/// How the other lines of the log begin: an invocation's first and a record, and an answer.
const OTHERS: [&[u8]; 2] = [b"{\"time\":\"", b"{\"answered\":"];

/// The lines after the last chain line, which no chain line covers.
#[derive(Default)]
pub struct Uncovered {
    is_any: bool,
    is_foreign: bool,
    is_cut_short: bool,
}

impl Uncovered {
    /// Takes the next line, with its end. One that is blank does not count.
    pub fn line(&mut self, bytes: &[u8]) {
        if bytes.trim_ascii().is_empty() {
            return;
        }
        self.is_any = true;
        self.is_foreign |= !is_of_weir(bytes);
        self.is_cut_short = !bytes.ends_with(b"\n") && !is_whole_record(bytes);
    }

    /// Whether a write that was interrupted, or is going on, can have left them: they are weir's, and the last one has no
    /// end. A write that ended just between two lines is not recognised.
    pub fn is_of_interrupted_write(&self) -> bool {
        self.is_any && self.is_cut_short && !self.is_foreign
    }

    /// Whether there are lines that no write of weir's has left.
    pub fn is_added(&self) -> bool {
        self.is_any && !self.is_of_interrupted_write()
    }
}

/// Whether a line that has no end lacks nothing else: an interrupted write hardly ends just there, and whoever adds a record may
/// leave the end out.
fn is_whole_record(line: &[u8]) -> bool {
    !line.starts_with(START) && serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

/// Whether a line begins as weir's do. After a power failure, a file may end with zeros.
fn is_of_weir(line: &[u8]) -> bool {
    let written = line.iter().rposition(|byte| *byte != 0);
    let line = &line[..written.map_or(0, |last| last + 1)];
    let is_cut_short = !line.ends_with(b"\n");
    let mut starts = OTHERS.into_iter().chain([START]);
    starts.any(|start| line.starts_with(start) || is_cut_short && start.starts_with(line))
}

/// What a line is to the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Not a chain line.
    Other,
    /// The chain line after the last one. `intact` if its digest is that of the bytes before it.
    Next { line: ChainLine, intact: bool },
    /// A chain line that does not follow the last one, or follows it and covers nothing: the chain comes from another
    /// file, or lines are missing.
    Carried(ChainLine),
}

/// Follows the chain through a file, line by line.
#[derive(Default)]
pub struct Walk {
    /// The digest of the last chain line and of all bytes since.
    digest: sha256::HashEngine,
    last: Option<ChainLine>,
    /// Whether there are any bytes since.
    covers: bool,
}

impl Walk {
    /// Begins after a chain line.
    pub(crate) fn after(line: ChainLine) -> Self {
        Self {
            digest: sha256::HashEngine::new().with_input(line.text().as_bytes()),
            last: Some(line),
            covers: false,
        }
    }

    /// Takes the next line of the file, with its end.
    pub fn line(&mut self, bytes: &[u8]) -> Step {
        let Some(line) = ChainLine::read(bytes) else {
            self.digest.input(bytes);
            self.covers = true;
            return Step::Other;
        };
        let ended = mem::replace(self, Self::after(line.clone()));
        let expected = if ended.covers { ended.next() } else { None };
        match expected {
            Some(expected) if expected.chained == line.chained => Step::Next {
                intact: expected == line,
                line,
            },
            _ => Step::Carried(line),
        }
    }

    /// Adds bytes that are about to be written. Returns the chain line that ends them.
    pub(crate) fn end(mut self, bytes: &[u8]) -> Option<ChainLine> {
        self.digest.input(bytes);
        self.next()
    }

    /// The chain line that would follow now; none before the first.
    fn next(self) -> Option<ChainLine> {
        Some(ChainLine {
            chained: self.last?.chained.checked_add(1)?,
            sha256: hexadecimal(self.digest.finalize().as_byte_array()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(after: &ChainLine, bytes: &str) -> ChainLine {
        let end = Walk::after(after.clone()).end(bytes.as_bytes());
        end.expect("a number")
    }

    fn steps(lines: &str) -> Vec<Step> {
        let mut walk = Walk::default();
        let lines = lines.split_inclusive('\n');
        let steps = lines.map(|line| walk.line(line.as_bytes()));
        steps.filter(|step| *step != Step::Other).collect()
    }

    fn next(line: &ChainLine, intact: bool) -> Step {
        let line = line.clone();
        Step::Next { line, intact }
    }

    #[test]
    fn a_chain_line_covers_what_was_written_since_the_last() {
        let zero = ChainLine::first().expect("random numbers");
        let one = written(&zero, "a\nb\n");
        let two = written(&one, "c\n");
        let log = |one: &ChainLine, c: &str| {
            format!("{}a\nb\n{}{c}{}", zero.text(), one.text(), two.text())
        };
        let begin = Step::Carried(zero.clone());
        assert_eq!(
            steps(&log(&one, "c\n")),
            [begin.clone(), next(&one, true), next(&two, true)]
        );
        for changed in ["d\n", "c\nc\n", "c \n"] {
            let found = steps(&log(&one, changed));
            assert_eq!(found.last(), Some(&next(&two, false)), "{changed}");
        }
        // Recomputing the digest of changed lines breaks the next one.
        let forged = written(&zero, "a\n");
        assert_eq!(
            steps(&log(&forged, "c\n")),
            [begin, next(&forged, false), next(&two, false)]
        );
    }

    /// No write is empty, so this line was repeated in another file, where it ended one.
    #[test]
    fn a_chain_line_that_covers_nothing_comes_from_another_file() {
        let one = written(&ChainLine::first().expect("random numbers"), "a\n");
        let elsewhere = written(&one, "b\n");
        let log = format!("{}{}", one.text(), elsewhere.text());
        assert_eq!(steps(&log), [Step::Carried(one), Step::Carried(elsewhere)]);
    }

    #[test]
    fn only_lines_of_weir_of_which_the_last_has_no_end_are_of_an_interrupted_write() {
        const RECORD: &str = "{\"time\":\"2026-11-22T02:54:55Z\",\"seq\":1}\n";
        let zeros = format!("{RECORD}{{\"answ\0\0\0");
        for (lines, is_interrupted, is_added) in [
            ("", false, false),
            ("\n \n", false, false),
            ("{\"time\":\"2026", true, false),
            ("{\"answered\":1,\"invo", true, false),
            ("{\"ch", true, false),
            ("\0\0", true, false),
            (zeros.as_str(), true, false),
            (RECORD, false, true),
            (RECORD.trim_ascii_end(), false, true),
            ("{\"time", true, false),
            ("{\"time\n", false, true),
            ("foreign\n", false, true),
            ("foreign", false, true),
            ("foreign\n{\"time\":\"2026", false, true),
        ] {
            let mut uncovered = Uncovered::default();
            let each = lines.split_inclusive('\n');
            each.for_each(|line| uncovered.line(line.as_bytes()));
            let found = (uncovered.is_of_interrupted_write(), uncovered.is_added());
            assert_eq!(found, (is_interrupted, is_added), "{lines:?}");
        }
    }

    #[test]
    fn what_looks_nearly_like_a_chain_line_is_none() {
        let text = ChainLine::first().expect("random numbers").text();
        assert!(ChainLine::read(text.as_bytes()).is_some());
        for other in [
            text.trim_end().to_owned(),
            text.replace(":0", ": 0"),
            text.replace(":0", ":00"),
            text.replace('}', ",\"more\":1}"),
            format!(" {text}"),
            "{\"chained\":\n".to_owned(),
        ] {
            assert_eq!(ChainLine::read(other.as_bytes()), None, "{other}");
        }
    }
}
