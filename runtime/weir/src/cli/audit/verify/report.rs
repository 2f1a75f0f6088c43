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
    #[serde(flatten)]
    pub chained: Span,
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
    #[serde(flatten)]
    pub chained: Span,
}

/// The chain line after which something begins, and the last one in it.
#[skip_serializing_none]
#[derive(Default, Serialize)]
pub struct Span {
    pub first: Option<u64>,
    pub last: Option<u64>,
}

impl FileReport {
    pub fn new(file: &Path) -> Self {
        Self {
            file: file.to_owned(),
            lines: 0,
            before_chain: 0,
            chained: Span::default(),
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
    if !report.findings.is_empty() || report.checked == 0 {
        return;
    }
    let head = match report.head {
        Some(_) => "; the end is where `audit.head` says",
        None => "",
    };
    let checkpoints = match report.checkpoints {
        0 => String::new(),
        1 => "; 1 checkpoint matches".to_owned(),
        n => format!("; {} checkpoints match", number(n)),
    };
    print_line!(
        "intact: {}{head}{checkpoints}",
        counted(report.checked, "chain line")
    );
}

fn print_file(file: &FileReport) {
    let lines = counted(file.lines, "line");
    let chain = match file.chained.first.zip(file.chained.last) {
        Some((first, last)) => format!("chained after {first} up to {last}"),
        None => "none in the chain".to_owned(),
    };
    say!("{}: {lines}, {chain}", file.file.display());
    if file.before_chain > 0 {
        let count = counted(file.before_chain, "line");
        print_line!("  before the chain began: {count}");
    }
}
