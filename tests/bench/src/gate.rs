//! What the gate and the audit log take of an ADD: its very operations, in a process that has nothing
//! else to do (`weir-bench-gate`).

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

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
    let log = scratch.path().join("operations.log");
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
    let log = fs::read_to_string(node.audit_log())?;
    let is_of_add = |line: &&str| {
        let record: Value = serde_json::from_str(line).unwrap_or_default();
        record["command"] == "ADD" && record["container_id"] == attachment.container_id.as_str()
    };
    let records: Vec<&str> = log.lines().filter(is_of_add).collect();
    let reads = records.iter().any(|record| record.contains("\"link.get\""));
    ensure!(reads, "an ADD has no reads on record: {records:?}");
    let records = records.join("\n");
    node.del(attachment)?;
    Ok(records)
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
