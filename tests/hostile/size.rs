//! Components that are small as files and large as soon as they are instantiated.

use std::fmt::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;
use weir_kit::{Node, assert_contains, house};

use super::wat::{PLUGIN, Text};
use super::{DEFAULT_MEMORY, HOSTS_OWN};

/// A component of so many instances, each with so much of what a module may have, as text. Instances are made by
/// components that make ten of what is inside.
fn crowd(module: &str, levels: u32) -> String {
    let mut text = format!(
        "(component (core module $m {module}) {})",
        "(core instance (instantiate $m))".repeat(10)
    );
    for _ in 1..levels {
        text = format!(
            "(component {} {})",
            text.replacen("(component", "(component $c", 1),
            "(instance (instantiate $c))".repeat(10)
        );
    }
    text
}

fn globals(count: usize) -> String {
    "(global i32 (i32.const 0))".repeat(count)
}

/// Fails unless `weir plugin add` and `inspect` refuse the component soon, with these words, and take no more memory
/// than a plugin may have.
#[track_caller]
fn assert_refused(inside: &str, words: &str) -> Result<()> {
    let node = Node::create()?;
    let file = Text::default().component_with(&node, &house().join("wit"), Some(inside))?;
    let file = file.to_str().context("text")?;
    for command in [
        &["plugin", "add", file, "--name", PLUGIN][..],
        &["plugin", "inspect", file],
    ] {
        let began = Instant::now();
        let measured = node.measured(command)?;
        let took = began.elapsed();
        let said = &measured.outcome.stderr;
        assert_eq!(measured.outcome.status, Some(1), "{said}");
        assert_contains(said, &["more parts than a plugin may have", words]);
        let peak = measured.peak;
        assert!(
            peak <= DEFAULT_MEMORY + HOSTS_OWN,
            "{command:?}: {peak} bytes"
        );
        assert!(took < Duration::from_secs(20), "{command:?}: {took:?}");
    }
    assert!(!node.installed(PLUGIN).exists());
    Ok(())
}

/// Property: a component is made of no more instances than weir makes for a plugin, whatever components they are in.
#[test]
fn a_thousand_instances_are_refused() -> Result<()> {
    assert_refused(&crowd("", 3), "contains 1001 core module instances")
}

/// Property: what the engine takes for instances is bounded: four thousand of a hundred thousand globals each would be
/// six gigabytes.
#[test]
fn instances_of_many_globals_are_refused() -> Result<()> {
    assert_refused(&crowd(&globals(100_000), 2), "size")
}

#[test]
fn one_instance_of_too_many_globals_is_refused() -> Result<()> {
    let inside = format!(
        "(component (core module $m {}) (core instance (instantiate $m)))",
        globals(300_000)
    );
    assert_refused(&inside, "size")
}

#[test]
fn many_memories_are_refused() -> Result<()> {
    assert_refused(&crowd("(memory 0)", 2), "memories")
}

#[test]
fn many_tables_are_refused() -> Result<()> {
    let mut tables = String::new();
    for _ in 0..20 {
        write!(tables, "(table 0 funcref)")?;
    }
    assert_refused(&crowd(&tables, 1), "tables")
}

/// Property: what is just within the bounds runs, and takes no more memory than a plugin may have.
#[test]
fn what_is_within_the_bounds_runs() -> Result<()> {
    let inside = crowd(&globals(2_000), 2);
    let fixture = Text::default().place_with(Some(&inside), "{}", "{}")?;
    fixture.add(json!({}))?.result();
    Ok(())
}

/// Property: an endless file is not a component, and is not read to its end.
#[test]
fn an_endless_file_is_not_read() -> Result<()> {
    let node = Node::create()?;
    for command in ["add", "inspect"] {
        let measured = node.measured(&["plugin", command, "/dev/zero"])?;
        let said = &measured.outcome.stderr;
        assert_contains(said, &["larger than 64.0 MiB"]);
        assert_eq!(measured.outcome.status, Some(1));
    }
    Ok(())
}
