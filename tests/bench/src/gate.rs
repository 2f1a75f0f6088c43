//! What the gate and the audit log take of an ADD: its very operations, in a process that has nothing
//! else to do (`weir-bench-gate`).

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::contender::{Contender, Contenders};
use crate::interrupt;
use crate::node::Node;
use crate::scratch::Scratch;
use crate::statistics::Series;

/// Milliseconds of each run.
pub fn measure(contenders: &Contenders, scratch: &Scratch, runs: usize) -> Result<Series> {
    eprintln!("weir-bench: the gate and the audit log, {runs} runs");
    let records = scratch.path().join("operations.jsonl");
    fs::write(&records, of_an_add(contenders, scratch)?)?;
    let log = scratch.path().join("operations.root");
    let mut series = Series::default();
    for _ in 0..runs {
        interrupt::check()?;
        series.push(once(&records, &log)?);
    }
    Ok(series)
}

/// The records of an ADD on a node where a container has been before.
fn of_an_add(contenders: &Contenders, scratch: &Scratch) -> Result<String> {
    let mut node = Node::create(Contender::Weir, contenders, scratch, "gate")?;
    let (_, attachment) = node.add()?;
    node.del(attachment)?;
    node.record_reads();
    let (_, attachment) = node.add()?;
    let records = joined(contenders, &node, &attachment.container_id)?;
    let reads = records.contains("\"link.get\"");
    ensure!(reads, "an ADD has no reads on record: {records}");
    node.del(attachment)?;
    Ok(records)
}

/// The records of a container's ADD, as weir itself puts them together.
fn joined(contenders: &Contenders, node: &Node, container_id: &str) -> Result<String> {
    let mut weir = Command::new(contenders.delegating());
    weir.args([
        "audit",
        "--output",
        "json",
        "--command",
        "ADD",
        "--container-id",
    ]);
    weir.arg(container_id).arg("--file").arg(node.audit_log());
    let output = weir.output().context("run `weir audit`")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`weir audit` failed: {errors}");
    Ok(String::from_utf8(output.stdout)?)
}

fn once(records: &Path, log: &Path) -> Result<f64> {
    let program = std::env::current_exe()?.with_file_name("weir-bench-gate");
    let shown = program.display();
    let output = Command::new(&program).args([records, log]).output();
    let output = output.with_context(|| format!("run `{shown}`"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{shown}` failed: {errors}");
    let printed = String::from_utf8_lossy(&output.stdout);
    printed
        .trim()
        .parse()
        .with_context(|| format!("output of `{shown}`"))
}
