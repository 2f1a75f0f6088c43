//! What was found, for people and for programs.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::cli::number::{counted, number};
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
    /// Whether the end of the files is known to be the end.
    pub end: End,
    #[serde(flatten)]
    pub checkpoints: Checkpoints,
    /// Who gets a copy of this node's log.
    pub forward: Forward,
    pub findings: Vec<Finding>,
    /// What is not a finding, but good to know.
    pub remarks: Vec<String>,
}

/// The checkpoints of the log that were given.
#[derive(Default, Serialize)]
pub struct Checkpoints {
    #[serde(rename = "checkpoints")]
    pub matching: u64,
    #[serde(rename = "checkpoints_compared")]
    pub compared: u64,
    /// Those from before the files begin, which say nothing about them.
    #[serde(rename = "checkpoints_before")]
    pub before: u64,
}

impl Checkpoints {
    /// Whether none says anything about the files, though some were given.
    pub fn are_all_before(&self) -> bool {
        self.compared > 0 && self.before == self.compared
    }
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

/// What is known of the end of the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The files have the chain line that the head file names.
    AsInHead,
    /// The node's log continues where they end.
    GoesOn,
    /// Nothing of this node says where they ended, or a finding says that the end is missing.
    #[default]
    Unknown,
}

/// Who gets a copy of this node's log, by weir's configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forward {
    None,
    Journald,
    /// The configuration cannot be read.
    #[default]
    Unknown,
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
    /// A number of an invocation's records is missing, or the line that they share.
    MissingRecord,
    /// The chain begins again.
    BegunAnew,
    /// The chain continues from an earlier line.
    Forked,
    /// Lines are not where they were written.
    Moved,
    /// The end is missing.
    CutOff,
    /// There is no head file.
    NoHead,
    /// The head file does not belong to the log.
    OtherHead,
    /// The files and the node's log begin with the same chain line, and go on differently.
    Differs,
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
    /// Whose records are missing.
    pub invocation: Option<String>,
    pub message: String,
}

/// Lines of a file.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
pub struct Lines {
    pub file: PathBuf,
    pub first_line: u64,
    pub last_line: u64,
    /// The time of the first record in them.
    pub time: Option<String>,
}

impl Finding {
    pub fn at(what: What, chained: u64, lines: Lines, message: String) -> Self {
        Self {
            what,
            chained,
            lines: Some(lines),
            invocation: None,
            message,
        }
    }

    pub fn of(what: What, chained: u64, message: String) -> Self {
        Self {
            what,
            chained,
            lines: None,
            invocation: None,
            message,
        }
    }

    fn text(&self) -> String {
        match &self.lines {
            Some(lines) => format!("{}: {}", lines.place(), self.message),
            None => self.message.clone(),
        }
    }
}

impl Lines {
    /// Returns the file, the lines, and the time.
    pub fn place(&self) -> String {
        let Self {
            file,
            first_line,
            last_line,
            time,
        } = self;
        let numbers = if first_line == last_line {
            format!("line {first_line}")
        } else {
            format!("lines {first_line} to {last_line}")
        };
        let time = time.as_ref().map(|time| format!(" ({time})"));
        let time = time.unwrap_or_default();
        format!("`{}`, {numbers}{time}", file.display())
    }
}

impl Report {
    /// Says that the log is intact; none if it is not, or if that cannot be determined.
    fn intact(&self) -> Option<String> {
        if !self.findings.is_empty() || self.checked == 0 {
            return None;
        }
        let end = match self.end {
            End::AsInHead => "the end is where `audit.head` says",
            End::GoesOn => "the log of this node continues where they end",
            End::Unknown => "it cannot be determined whether lines were cut off the end",
        };
        let checked = counted(self.checked, "chain line");
        let before = match self.before() {
            0 => String::new(),
            before => format!(" after number {before}"),
        };
        Some(format!("intact: {checked}{before}; {end}"))
    }

    /// The chain line with which the files begin; nothing before it was checked. 0 if that is the beginning of the chain.
    pub fn before(&self) -> u64 {
        self.chained.first.unwrap_or(0)
    }

    /// Whether the log is intact, with the first of the findings, or with what else is to be known.
    pub fn in_a_line(&self) -> String {
        let Some(first) = self.findings.first() else {
            let Some(intact) = self.intact() else {
                return "cannot tell: no line of the log is in a hash chain".to_owned();
            };
            let remarks = self.remarks.iter().map(String::as_str);
            let elsewhere = elsewhere(self);
            let all: Vec<&str> = [intact.as_str()].into_iter().chain(remarks).collect();
            return format!("{}; {elsewhere}", all.join("; "));
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
    print_line!("{}", elsewhere(report));
}

/// What there is outside the node to compare with. Without any, only root of the node is trusted.
fn elsewhere(report: &Report) -> String {
    let Checkpoints {
        matching, compared, ..
    } = report.checkpoints;
    let checkpoints = match (matching, compared) {
        (_, 0) => "no checkpoint was compared".to_owned(),
        (1, 1) => "1 checkpoint matches".to_owned(),
        (matching, compared) => {
            let verb = if matching == 1 { "matches" } else { "match" };
            let all = counted(compared, "checkpoint");
            format!("{} of {all} {verb}", number(matching))
        }
    };
    let forward = match report.forward {
        Forward::None => "this node's log is not forwarded",
        Forward::Journald => "this node's log is forwarded to journald",
        Forward::Unknown => {
            "whether this node's log is forwarded is not known: weir's configuration is not valid"
        }
    };
    let trusted = match (compared, report.forward) {
        (0, Forward::None) => {
            ": without either, changes of the log by root of this node cannot be detected"
        }
        (0, Forward::Journald) => {
            ": compare it with the copy to detect changes by root of this node"
        }
        _ => "",
    };
    format!("{checkpoints}; {forward}{trusted}")
}

fn print_file(file: &FileReport) {
    let lines = counted(file.lines, "line");
    let chain = match file.chained.first.zip(file.chained.last) {
        Some((0, last)) => format!("chain lines up to {last}"),
        Some((first, last)) => format!("chain lines after {first} up to {last}"),
        None => "none in the chain".to_owned(),
    };
    say!("{}: {lines}, {chain}", file.file.display());
    if file.before_chain > 0 {
        let count = counted(file.before_chain, "line");
        print_line!("  before the chain began: {count}");
    }
}
