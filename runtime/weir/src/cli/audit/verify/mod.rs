//! `weir audit verify`: whether lines of the log were changed, taken out, added or cut off since they were written, by
//! the hash chain.

mod compare;
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
use weir_gate::Head;

use crate::cli::output::{Answer, Format};
pub use compare::Checkpoint;
use compare::Wanted;
use report::Report;
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
    let head = head(&paths, &files)?;
    let report = verify(&files, head, checkpoints)?;
    arguments.format.print(&report, report::print_text)?;
    if report.checked == 0 && report.findings.is_empty() {
        bail!("cannot tell: no line of these files is in a hash chain; {NOT_CHAINED}");
    }
    Ok(report.findings.is_empty().into())
}

/// Checks the log of this node, and says in a line whether it is intact.
pub fn in_a_line(paths: &Paths) -> String {
    let files = [paths.audit_log()];
    match head(paths, &files).and_then(|head| verify(&files, head, Vec::new())) {
        Ok(report) => report.in_a_line(),
        Err(why) => {
            let why = format!("{why:#}");
            format!("cannot tell: {}", why.trim_start_matches("cannot tell: "))
        }
    }
}

const NOT_CHAINED: &str = "the chain begins with the next record, or is in a rotated file: name those \
    with `--file`, the oldest first";

/// What the node's head file says about the last of the files.
enum NodeHead {
    /// The last file is not the end of this node's log.
    OfAnotherLog,
    /// There is no head file, or it is damaged.
    Missing(PathBuf),
    Found(Head),
}

/// Reads the node's head file. Errors: it cannot be read; there is neither a log nor a file to check.
fn head(paths: &Paths, files: &[PathBuf]) -> Result<NodeHead> {
    let path = paths.audit_head();
    let head = Head::read(&path).with_context(|| format!("read `{}`", path.display()));
    let Some(last) = files.last() else {
        return Ok(NodeHead::OfAnotherLog);
    };
    let log = paths.audit_log();
    let metadata = match fs::metadata(last) {
        Err(error) if error.kind() == ErrorKind::NotFound && *last == log => {
            let shown = log.display();
            bail!("cannot tell: `{shown}` does not exist; {NOT_CHAINED}");
        }
        metadata => metadata.with_context(|| format!("open `{}`", last.display()))?,
    };
    if is_same(&metadata, &log) {
        return Ok(head?.map_or(NodeHead::Missing(path), NodeHead::Found));
    }
    // A rotated file, to which nothing has been added yet elsewhere.
    match head {
        Ok(Some(head)) if head.is_in(&metadata) => Ok(NodeHead::Found(head)),
        _ => Ok(NodeHead::OfAnotherLog),
    }
}

fn is_same(metadata: &fs::Metadata, path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|other| (other.dev(), other.ino()) == (metadata.dev(), metadata.ino()))
}

fn verify(files: &[PathBuf], head: NodeHead, checkpoints: Vec<Checkpoint>) -> Result<Report> {
    let mut wanted = Wanted::default();
    checkpoints.iter().for_each(|one| wanted.add(one.line()));
    if let NodeHead::Found(head) = &head {
        wanted.add(&head.line());
    }
    let mut scan = Scan::new(&mut wanted);
    for (at, path) in files.iter().enumerate() {
        let is_last = at + 1 == files.len();
        scan.file(path, is_last)
            .with_context(|| format!("read `{}`", path.display()))?;
    }
    let (mut report, segments) = scan.finish();
    order::check(&segments, &mut report);
    compare::head(head, &wanted, &mut report);
    compare::checkpoints(checkpoints, &wanted, &mut report);
    Ok(report)
}
