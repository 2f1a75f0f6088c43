//! What was found, for people and for programs.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::cli::audit::text::{counted, number};
use crate::cli::output::{print_line, say};

#[skip_serializing_none]
#[derive(Default, Serialize)]
pub struct Report {
    pub files: Vec<FileReport>,
    /// Chain lines whose digest was checked.
    pub checked: u64,
    /// The chain line that the first of the files goes on after, and the last one.
    pub first: Option<u64>,
    pub last: Option<u64>,
    /// The number in the head file, if the log has its chain line.
    pub head: Option<u64>,
    /// Checkpoints that match.
    pub checkpoints: u64,
    pub findings: Vec<Finding>,
    /// What is no finding, but good to know.
    pub remarks: Vec<String>,
}

#[skip_serializing_none]
#[derive(Serialize)]
pub struct FileReport {
    pub file: PathBuf,
    pub lines: u64,
    /// Lines from before the chain began.
    pub before_chain: u64,
    pub first: Option<u64>,
    pub last: Option<u64>,
}

impl FileReport {
    pub fn new(file: &Path) -> Self {
        Self {
            file: file.to_owned(),
            lines: 0,
            before_chain: 0,
            first: None,
            last: None,
        }
    }
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Lines are not as they were written.
    Changed,
    /// Lines are in no chain.
    Uncovered,
    /// Chain lines are missing, with what they cover.
    Missing,
    /// The chain begins again.
    BegunAnew,
    /// The chain goes on from an earlier place.
    Forked,
    /// Lines are not where they were written.
    Moved,
    /// The end is missing.
    CutOff,
    /// There is no head file.
    NoHead,
    /// The head file does not belong to the log.
    OtherHead,
    /// A checkpoint does not match.
    Checkpoint,
}

#[skip_serializing_none]
#[derive(Serialize)]
pub struct Finding {
    pub what: What,
    /// The number of the chain line that shows it.
    pub chained: u64,
    #[serde(flatten)]
    pub lines: Option<Lines>,
    pub message: String,
}

/// Lines of a file.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
pub struct Lines {
    pub file: PathBuf,
    pub first_line: u64,
    pub last_line: u64,
    /// Of the first record in them.
    pub time: Option<String>,
}

impl Finding {
    pub fn at(what: What, chained: u64, lines: Lines, message: String) -> Self {
        Self {
            what,
            chained,
            lines: Some(lines),
            message,
        }
    }

    pub fn of(what: What, chained: u64, message: String) -> Self {
        Self {
            what,
            chained,
            lines: None,
            message,
        }
    }

    fn text(&self) -> String {
        let Some(lines) = &self.lines else {
            return self.message.clone();
        };
        let Lines {
            file,
            first_line,
            last_line,
            time,
        } = lines;
        let numbers = if first_line == last_line {
            format!("line {first_line}")
        } else {
            format!("lines {first_line} to {last_line}")
        };
        let time = time.as_ref().map(|time| format!(" ({time})"));
        let time = time.unwrap_or_default();
        format!("`{}`, {numbers}{time}: {}", file.display(), self.message)
    }
}

impl Report {
    /// That the log is intact; none if it is not, or if that cannot be told.
    fn intact(&self) -> Option<String> {
        if !self.findings.is_empty() || self.checked == 0 {
            return None;
        }
        let head = match self.head {
            Some(_) => "; the end is where `audit.head` says",
            None => "",
        };
        let checkpoints = match self.checkpoints {
            0 => String::new(),
            1 => "; 1 checkpoint matches".to_owned(),
            n => format!("; {} checkpoints match", number(n)),
        };
        let checked = counted(self.checked, "chain line");
        Some(format!("intact: {checked}{head}{checkpoints}"))
    }

    /// Whether the log is intact, with the first of the findings.
    pub fn in_a_line(&self) -> String {
        let Some(first) = self.findings.first() else {
            let intact = self.intact();
            return intact.unwrap_or_else(|| {
                "cannot tell: no line of the log is in a hash chain".to_owned()
            });
        };
        let others = match self.findings.len() {
            1 => String::new(),
            several => format!(
                "; {} in all, see `weir audit verify`",
                counted(several as u64, "finding")
            ),
        };
        format!("not intact: {}{others}", first.text())
    }
}

pub fn print_text(report: &Report) {
    for file in &report.files {
        print_file(file);
    }
    for remark in &report.remarks {
        say!("note: {remark}");
    }
    for finding in &report.findings {
        say!("not intact: {}", finding.text());
    }
    if let Some(intact) = report.intact() {
        print_line!("{intact}");
    }
}

fn print_file(file: &FileReport) {
    let lines = counted(file.lines, "line");
    let chain = match file.first.zip(file.last) {
        Some((first, last)) => format!("chained after {first} up to {last}"),
        None => "none in the chain".to_owned(),
    };
    say!("{}: {lines}, {chain}", file.file.display());
    if file.before_chain > 0 {
        let count = counted(file.before_chain, "line");
        print_line!("  before the chain began: {count}");
    }
}
