//! `weir audit verify`: whether lines of the log were changed, taken out, added or cut off since they were written, by
//! the hash chain.

mod compare;
mod line;
mod numbers;
mod order;
mod report;
mod scan;

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use weir_files::Paths;
use weir_gate::{Head, Receiver};
use weir_grant::phrase::joined;
use weir_network::Settings;

use crate::cli::number::counted;
use crate::cli::output::{Answer, Format};
pub use compare::Checkpoint;
use compare::Wanted;
use report::{Forward, Report};
use scan::Scan;

#[derive(Args)]
pub struct Arguments {
    /// Check this file instead of the log; several, such as rotated ones, with the oldest first.
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Compare with checkpoints that were stored elsewhere: lines of `weir audit checkpoint`, or chain lines that were
    /// forwarded.
    #[arg(long, value_name = "FILE")]
    checkpoint: Vec<PathBuf>,
    #[command(flatten)]
    format: Format,
}

pub fn run(arguments: &Arguments) -> Result<Answer> {
    let paths = Paths::from_environment();
    let files = match arguments.file.as_slice() {
        [] => vec![paths.audit_log()],
        files => files.to_vec(),
    };
    let checkpoints = compare::read_checkpoints(&arguments.checkpoint)?;
    // Before the log, which then has at least what it says.
    let last = last(&paths, &files)?;
    let mut report = verify(&paths, &files, last, checkpoints)?;
    report.forward = forward(&paths);
    arguments.format.print(&report, report::print_text)?;
    if report.checked == 0 && report.findings.is_empty() {
        bail!("cannot tell: no line of these files is in a hash chain; {NOT_CHAINED}");
    }
    if report.checkpoints.are_all_before() && report.findings.is_empty() {
        bail!(
            "cannot tell: every checkpoint is from before these files; name the rotated ones with `--file`, the oldest first"
        );
    }
    Ok(report.findings.is_empty().into())
}

/// Whether the log of this node is as it was written, for a page about it.
pub struct Chain {
    /// False only if a finding says so.
    pub is_intact: bool,
    pub text: String,
}

/// Checks the log of this node.
pub fn of_node(paths: &Paths) -> Chain {
    let files = [paths.audit_log()];
    match last(paths, &files).and_then(|last| verify(paths, &files, last, Vec::new())) {
        Ok(mut report) => {
            report.forward = forward(paths);
            Chain {
                is_intact: report.findings.is_empty(),
                text: report.in_a_line(),
            }
        }
        Err(why) => {
            let why = format!("{why:#}");
            let why = why.trim_start_matches("cannot tell: ");
            Chain {
                is_intact: true,
                text: format!("cannot tell: {why}"),
            }
        }
    }
}

const NOT_CHAINED: &str = "the chain begins with the next record, or is in a rotated file: name those \
    with `--file`, the oldest first";

/// What the last of the files is.
enum Last {
    /// The file that the node's head file is about.
    OfHead(NodeHead),
    /// The node's log, which is not there.
    Gone(NodeHead),
    /// Another one: a copy, an older file, or one of another node.
    Copy(Option<Head>),
}

/// The node's head file.
enum NodeHead {
    /// There is none, or it is damaged.
    Missing(PathBuf),
    Found(Head),
}

impl Last {
    /// What the head file says, if it can be read.
    fn head(&self) -> Option<&Head> {
        match self {
            Self::OfHead(NodeHead::Found(head)) | Self::Gone(NodeHead::Found(head)) => Some(head),
            Self::Copy(head) => head.as_ref(),
            Self::OfHead(NodeHead::Missing(_)) | Self::Gone(NodeHead::Missing(_)) => None,
        }
    }
}

/// Reads the node's head file. Errors: it cannot be read, or the last file cannot be opened.
fn last(paths: &Paths, files: &[PathBuf]) -> Result<Last> {
    let path = paths.audit_head();
    let head = Head::read(&path).with_context(|| format!("read `{}`", path.display()));
    let Some(last) = files.last() else {
        return Ok(Last::Copy(None));
    };
    let log = paths.audit_log();
    let of_node = |head: Option<Head>| head.map_or(NodeHead::Missing(path), NodeHead::Found);
    let metadata = match fs::metadata(last) {
        Err(error) if error.kind() == ErrorKind::NotFound && *last == log => {
            return Ok(Last::Gone(of_node(head?)));
        }
        metadata => metadata.with_context(|| format!("open `{}`", last.display()))?,
    };
    if is_same(&metadata, &log) {
        return Ok(Last::OfHead(of_node(head?)));
    }
    match head {
        // A rotated file, to which nothing has been added yet elsewhere.
        Ok(Some(head)) if head.is_in(&metadata) => Ok(Last::OfHead(NodeHead::Found(head))),
        // A user who may not read it may check copies.
        head => Ok(Last::Copy(head.ok().flatten())),
    }
}

fn is_same(metadata: &fs::Metadata, path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|other| (other.dev(), other.ino()) == (metadata.dev(), metadata.ino()))
}

/// The position of the node's log among the files.
fn position(log: &Path, files: &[PathBuf]) -> Option<usize> {
    files
        .iter()
        .position(|file| fs::metadata(file).is_ok_and(|metadata| is_same(&metadata, log)))
}

fn forward(paths: &Paths) -> Forward {
    match Settings::load(paths).map(|settings| settings.audit.forward) {
        Ok(None) => Forward::None,
        Ok(Some(Receiver::Journald)) => Forward::Journald,
        Err(_) => Forward::Unknown,
    }
}

/// Errors: a file cannot be read; the node's log is not there, and nothing says that it should be.
fn verify(
    paths: &Paths,
    files: &[PathBuf],
    last: Last,
    checkpoints: Vec<Checkpoint>,
) -> Result<Report> {
    let log = paths.audit_log();
    let mut wanted = Wanted::default();
    checkpoints.iter().for_each(|one| wanted.add(one.line()));
    if let Some(head) = last.head() {
        wanted.add(&head.line());
    }
    let is_gone = matches!(last, Last::Gone(_));
    let files = match files.split_last() {
        Some((_, before)) if is_gone => {
            not_rotated(&log, last.head(), before)?;
            before
        }
        _ => files,
    };
    let head = matches!(last, Last::OfHead(_)).then(|| paths.audit_head());
    let mut scan = Scan::new(&mut wanted, head);
    for (at, path) in files.iter().enumerate() {
        let is_last = at + 1 == files.len();
        scan.file(path, is_last)
            .with_context(|| format!("read `{}`", path.display()))?;
    }
    let (mut report, segments) = scan.finish();
    let ends = order::check(&segments, position(&log, files), &mut report);
    match (last, ends) {
        (Last::OfHead(head) | Last::Gone(head), _) => {
            compare::head(head, &wanted, &mut report);
        }
        (Last::Copy(head), Some(ends)) => {
            compare::copies(head.as_ref(), &log, &ends, &wanted, &mut report);
        }
        (Last::Copy(_), None) => {}
    }
    compare::checkpoints(checkpoints, &wanted, &mut report);
    if is_gone {
        let gone = format!("`{}` does not exist", log.display());
        if report.checked == 0 && report.findings.is_empty() {
            bail!("cannot tell: {gone}; {NOT_CHAINED}");
        }
        report.remarks.push(gone);
    }
    report.remarks.extend(before(paths, &report));
    report.remarks.extend(waiting(paths));
    Ok(report)
}

/// Errors: the log is not there because it was rotated, and nothing has been written since.
fn not_rotated(log: &Path, head: Option<&Head>, given: &[PathBuf]) -> Result<()> {
    let is_it = |file: &&PathBuf| {
        let metadata = fs::metadata(file).ok();
        head.zip(metadata)
            .is_some_and(|(head, metadata)| head.is_in(&metadata))
    };
    let mut beside = rotated(log);
    beside.retain(|file| !given.contains(file));
    match beside.iter().find(is_it) {
        Some(rotated) => bail!(
            "cannot tell: `{}` was rotated, and nothing has been written since: give `--file {}`",
            log.display(),
            rotated.display()
        ),
        None => Ok(()),
    }
}

/// Says what was not checked because the chain begins before the files, and where it may be.
fn before(paths: &Paths, report: &Report) -> Option<String> {
    let before = report.before();
    if before == 0 {
        return None;
    }
    let lines = match before {
        1 => "chain line 1 is not in these files, so what it covers was".to_owned(),
        _ => format!("chain lines 1 to {before} are not in these files, so what they cover was"),
    };
    let given = |file: &PathBuf| {
        let known = report.files.iter();
        known.map(|known| &known.file).any(|known| known == file)
    };
    let mut beside = rotated(&paths.audit_log());
    beside.retain(|file| !given(file));
    let beside: Vec<String> = beside
        .iter()
        .map(|file| format!("`{}`", file.display()))
        .collect();
    let beside = match beside.len() {
        0 => String::new(),
        _ => format!(": give {} as well, the oldest first", joined(beside, "and")),
    };
    Some(format!("{lines} not checked{beside}"))
}

/// The files beside the log that a rotation may have left.
fn rotated(log: &Path) -> Vec<PathBuf> {
    let prefix = log
        .file_name()
        .map(|name| name.to_string_lossy().into_owned() + ".");
    let entries = log
        .parent()
        .and_then(|directory| fs::read_dir(directory).ok());
    let names = entries.into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = names.map(|entry| entry.path()).collect();
    files.retain(|file| {
        let name = file.file_name().map(|name| name.to_string_lossy());
        name.zip(prefix.as_deref())
            .is_some_and(|(name, prefix)| name.starts_with(prefix))
    });
    files.sort();
    files.reverse();
    files
}

/// Says that records wait for the log: they are in no chain until they are added.
fn waiting(paths: &Paths) -> Option<String> {
    let spool = paths.audit_spool();
    let text = fs::read(&spool).ok()?;
    let lines = text.iter().filter(|byte| **byte == b'\n').count();
    (lines > 0).then(|| {
        let lines = counted(lines as u64, "line");
        let shown = spool.display();
        format!("{lines} in `{shown}` were kept while the log could not be written; the next call of weir adds them to the chain")
    })
}
