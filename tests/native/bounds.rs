//! A native plugin that does not end, or does not stop.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use weir_kit::assert_contains;

use crate::world::{PLUGIN, World};

/// The program that the probe has started; killed where the test fails before it is gone.
pub struct Started(Pid);

impl Started {
    pub fn by_probe(world: &World) -> Result<Self> {
        let number = fs::read_to_string(world.file("child")).context("the probe's child")?;
        Ok(Self(Pid::from_raw(number.parse()?)))
    }

    /// Whether it runs: one that was killed and not waited for does not.
    fn runs(&self) -> bool {
        let stat = fs::read_to_string(Path::new("/proc").join(self.0.to_string()).join("stat"));
        let stat = stat.unwrap_or_default();
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest.as_bytes()[0]);
        state.is_some_and(|state| state != b'Z')
    }

    /// Waits until it is gone, for as long as the kernel may need.
    pub fn is_gone(&self) -> bool {
        let patience = Instant::now() + Duration::from_secs(20);
        while self.runs() && Instant::now() < patience {
            thread::yield_now();
        }
        !self.runs()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if self.runs() {
            assert_ne!(kill(self.0, Signal::SIGKILL), Err(Errno::EPERM));
        }
    }
}

#[test]
fn one_that_hangs_is_killed_with_what_it_has_started() -> Result<()> {
    let world = World::create()?;
    world.list(PLUGIN, json!({ "limits": { "time": "300ms" } }))?;
    world.probe(json!({ "act": "hang", "say": "waiting for the server\n" }))?;
    let start = Instant::now();
    let said = world.fails("add")?;
    assert!(start.elapsed() >= Duration::from_millis(300));
    assert!(said.contains("waiting for the server"), "{said}");
    assert_contains(
        &said,
        &["it did not end within 300ms and was killed (CNI error 226)"],
    );
    assert!(Started::by_probe(&world)?.is_gone());
    // What it did is unknown, so that it is called to take that back.
    assert_eq!(world.commands(), ["ADD", "DEL"]);
    let records = world.records();
    let verdicts: Vec<&str> = records.iter().map(|(_, verdict, _)| &**verdict).collect();
    assert_eq!(verdicts, ["allowed", "undo"]);
    Ok(())
}

#[test]
fn one_that_hangs_at_del_is_killed_and_can_be_repeated() -> Result<()> {
    let world = World::create()?;
    world.list(PLUGIN, json!({ "limits": { "time": "300ms" } }))?;
    world.probe(json!({}))?;
    world.add()?;
    // DEL uses the configuration of ADD, which is in the cache: another attachment's is not.
    world.probe(json!({ "act": "hang", "of": "STATUS" }))?;
    let said = world.fails("status")?;
    assert!(said.contains("CNI error 226"), "{said}");
    assert!(Started::by_probe(&world)?.is_gone());
    assert_eq!(world.commands(), ["ADD", "STATUS"], "nothing is undone");
    world.succeeds("del")?;
    Ok(())
}

#[test]
fn one_that_floods_is_killed() -> Result<()> {
    let world = World::probed(json!({ "act": "flood" }))?;
    world.add_is_undone(&["it printed more than 4194304 bytes and was killed (CNI error 226)"])?;
    Ok(())
}

/// What it says on standard error is bounded, and no reason to fail.
#[test]
fn one_that_says_much_is_heard_in_part() -> Result<()> {
    let world = World::listed()?;
    let lines = (0..20_000).map(|at| format!("line {at} of a flood\n"));
    let said = "the line of a loop\n".repeat(1000) + &lines.collect::<String>();
    world.probe(json!({ "say": said }))?;
    world.add()?;
    let log = world.node.log()?;
    let lines = log.matches(" of a flood").count();
    assert!((100..10_000).contains(&lines), "{lines}");
    assert_eq!(log.matches("the line of a loop").count(), 1, "{log:.300}");
    assert!(log.contains("… 999 more"), "{log:.300}");
    assert!(log.contains("\"plugin\":\"probe\""), "{log:.300}");
    Ok(())
}

/// It may leave a program behind, and its own end is what counts.
#[test]
fn one_that_leaves_a_program_behind_is_not_waited_for() -> Result<()> {
    let world = World::probed(json!({ "act": "leave" }))?;
    let start = Instant::now();
    world.add()?;
    let started = Started::by_probe(&world)?;
    assert!(started.runs(), "a daemon of a plugin's is its own affair");
    assert!(start.elapsed() < Duration::from_secs(60));
    Ok(())
}
