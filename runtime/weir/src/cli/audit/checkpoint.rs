//! `weir audit checkpoint`: the current end of the hash chain, to be stored where root on this node cannot change it.

use std::fs::File;
use std::os::unix::fs::FileExt;

use anyhow::{Context, Result, bail};
use clap::Args;
use jiff::Timestamp;
use weir_files::Paths;
use weir_gate::Head;
use weir_gate::chain::ChainLine;

use super::time;
use super::verify::Checkpoint;
use crate::cli::output::{Answer, print_line};

#[derive(Args)]
pub struct Arguments {}

/// Prints it in one line.
pub fn run(_: &Arguments) -> Result<Answer> {
    let paths = Paths::from_environment();
    let path = paths.audit_head();
    let shown = path.display();
    let head = Head::read(&path).with_context(|| format!("read `{shown}`"))?;
    let Some(head) = head else {
        bail!(
            "`{shown}` does not exist or is damaged: nothing is recorded yet, or `weir audit verify` says more"
        );
    };
    check_log(&paths, &head)?;
    let time = time::precise(Timestamp::now());
    let node = nix::unistd::gethostname().ok();
    let node = node.map(|name| name.to_string_lossy().into_owned());
    let checkpoint = Checkpoint::new(time, node, head.line());
    print_line!("{}", serde_json::to_string(&checkpoint)?);
    Ok(Answer::Yes)
}

/// Fails if the log does not have the head's line where it should. After a rotation, another file has it.
fn check_log(paths: &Paths, head: &Head) -> Result<()> {
    let path = paths.audit_log();
    let Ok(log) = File::open(&path) else {
        return Ok(());
    };
    let shown = path.display();
    if !head.is_in(&log.metadata().with_context(|| format!("read `{shown}`"))?) {
        return Ok(());
    }
    let mut bytes = vec![0; head.line().size()];
    let start = head.end.checked_sub(bytes.len() as u64);
    let read = start.is_some_and(|start| log.read_exact_at(&mut bytes, start).is_ok());
    if !read || ChainLine::read(&bytes) != Some(head.line()) {
        bail!(
            "`{shown}` does not have chain line {} where `audit.head` says: run `weir audit verify`",
            head.chained
        );
    }
    Ok(())
}
