//! Components that are only inspected: what is run of them runs under limits, and the report says so.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;
use weir_kit::{Node, assert_contains, house};

use super::wat::Text;
use super::{DEFAULT_MEMORY, HOSTS_OWN};

const RAN: &str = "granted nothing, at most 64MiB of memory and 5s";

/// Inspects a plugin with this `version`, and returns the report, as text or as JSON.
fn inspect(version: &'static str, output: &str) -> Result<String> {
    let node = Node::create()?;
    let text = Text {
        version,
        ..Text::default()
    };
    let file = text.component(&node, &house().join("wit"))?;
    let file = file.to_str().context("text")?;
    let measured = node.measured(&["plugin", "inspect", file, "--output", output])?;
    let peak = measured.peak;
    assert!(peak <= DEFAULT_MEMORY + HOSTS_OWN, "{peak} bytes");
    Ok(measured.outcome.stdout)
}

#[test]
fn one_that_does_not_end_is_stopped() -> Result<()> {
    let began = Instant::now();
    let said = inspect("(loop $turns (br $turns))", "text")?;
    assert!(said.contains(RAN), "{said}");
    assert_contains(&said, &["did not finish within its time, 5s"]);
    assert!(began.elapsed() < Duration::from_secs(30));
    Ok(())
}

#[test]
fn one_that_eats_memory_is_stopped() -> Result<()> {
    let said = inspect(
        "(loop $turns (br_if $turns (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable",
        "text",
    )?;
    assert!(said.contains(RAN), "{said}");
    assert_contains(&said, &["needed more memory than 64MiB"]);
    Ok(())
}

#[test]
fn one_that_says_what_it_is_was_run_as_well() -> Result<()> {
    assert!(inspect("", "text")?.contains(RAN));
    let shown: Value = serde_json::from_str(&inspect("", "json")?)?;
    assert_eq!(shown["ran"]["time"], "5s", "{shown:#}");
    assert_eq!(shown["ran"]["memory"], "64MiB", "{shown:#}");
    Ok(())
}
