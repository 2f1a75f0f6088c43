//! Plugins that make and change more than anybody needs: each is bounded, and what it made goes in a bounded time.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::Grant;

use super::Place;

const PLUGIN: &str = "misbehaving";

/// May make pairs of veths, and have stores.
const ALL: &str = r#"{
    link: [
      { namespace: host, kinds: [veth], names: ["out*"] },
      { namespace: container, kinds: [veth], names: ["in*"] } ],
    store: [ {}, { directories: [/srv/many] } ] }"#;

fn place(limits: &str) -> Result<Place> {
    Place::create(&Grant {
        capabilities: ALL,
        limits,
        ..Grant::nothing(PLUGIN)
    })
}

/// Runs ADD with an act, which must end with this code and this word within so many seconds, and leave nothing.
#[track_caller]
fn ends_within(seconds: u64, place: &Place, act: &str, (code, word): (u64, &str)) -> Result<()> {
    let began = Instant::now();
    let outcome = place.add(json!({ "act": act }))?;
    let took = began.elapsed();
    place.assert_ended(&outcome, code, &[word]);
    assert!(took < Duration::from_secs(seconds), "{took:?}");
    Ok(())
}

/// The names of the host's pairs.
fn pairs(place: &Place) -> Result<Vec<String>> {
    named(place, |_| true)
}

/// Those that have the mark of their owner, which the kernel takes in a second message only.
fn marked_pairs(place: &Place) -> Result<Vec<String>> {
    named(place, |link| link["ifalias"].is_string())
}

fn named(place: &Place, is_meant: fn(&Value) -> bool) -> Result<Vec<String>> {
    let links = place.node.ip_json("link show type veth")?;
    let links = links.as_array().context("links")?.iter();
    let mut names: Vec<String> = links
        .filter(|link| is_meant(link))
        .filter_map(|link| link["ifname"].as_str())
        .filter(|name| name.starts_with("out"))
        .map(str::to_owned)
        .collect();
    names.sort();
    Ok(names)
}

/// Property: an invocation makes no more than its grant says, and what it made is gone soon, however much that was.
#[test]
fn links_without_end_are_bounded() -> Result<()> {
    let place = place("{ log: 1MiB }")?;
    let code_and_word = (215, "than `limits.changes: 1000`");
    ends_within(30, &place, "pairs without end", code_and_word)?;
    let deleted = |record: &&Value| {
        record["operation"] == "link.delete"
            && record["verdict"] == "undo"
            && record["answer"] == "ok"
    };
    let records = place.node.audit();
    assert_eq!(records.iter().filter(deleted).count(), 1001);
    Ok(())
}

/// Property: what was made in the time that there was is gone soon.
#[test]
fn links_in_the_time_that_there_is_go_soon() -> Result<()> {
    let code_and_word = (211, "did not finish within its time, `limits.time: 1s`");
    ends_within(
        15,
        &place("{ time: 1s, calls: 1000000, changes: 1000000 }")?,
        "pairs without end",
        code_and_word,
    )
}

/// Starts an ADD that makes twenty pairs and goes on, and kills it when they are there.
fn kill_half_way(place: &Place) -> Result<()> {
    let call = place.call("ADD", json!({ "act": "some pairs and loop" }));
    let mut child = place.node.inside(|| call.start())?;
    let began = Instant::now();
    while marked_pairs(place)?.len() < 20 {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "it makes no pairs"
        );
        std::thread::yield_now();
    }
    child.kill()?;
    child.wait()?;
    assert_eq!(pairs(place)?.len(), 20, "nobody has undone them");
    Ok(())
}

/// Property: what a killed ADD made is found by whose it is, and goes with the next DEL; what is another's stays.
#[test]
fn a_del_removes_what_a_killed_add_made() -> Result<()> {
    let place = place("{}")?;
    place
        .node
        .ip("link add theirs type veth peer name theirs1")?;
    let mark = [
        "link",
        "set",
        "theirs",
        "alias",
        "hostile other-container eth0",
    ];
    let marked = place
        .node
        .inside(|| Ok(Command::new("ip").args(mark).status()?))?;
    assert!(marked.success());
    kill_half_way(&place)?;
    assert!(place.run("DEL", json!({}), &[])?.succeeded());
    assert_eq!(pairs(&place)?, [""; 0]);
    place.node.ip("link show theirs")?;
    Ok(())
}

/// Property: it goes as well where the plugin's own DEL fails.
#[test]
fn a_del_that_fails_removes_what_a_killed_add_made() -> Result<()> {
    let place = place("{}")?;
    kill_half_way(&place)?;
    let failed = place.run("DEL", json!({ "delAct": "trap" }), &[])?;
    assert_eq!(failed.error()["code"], 210, "{failed:?}");
    assert_eq!(pairs(&place)?, [""; 0]);
    Ok(())
}

/// Property: GC removes it as well, unless the attachment is there.
#[test]
fn a_gc_removes_what_a_killed_add_made() -> Result<()> {
    let place = place("{}")?;
    kill_half_way(&place)?;
    let attachment = json!({ "containerID": place.container.id, "ifname": "eth0" });
    for (valid, left) in [(json!([attachment]), 20), (json!([]), 0)] {
        let keys = json!({ "cni.dev/valid-attachments": valid });
        assert!(place.run("GC", keys, &[])?.succeeded());
        assert_eq!(pairs(&place)?.len(), left);
    }
    Ok(())
}

/// Property: what a plugin changes and does not commit is kept by the host, which keeps no more than it says.
#[test]
fn what_is_not_committed_is_bounded() -> Result<()> {
    place("{ calls: 1000000 }")?.ends(
        json!({ "act": "put without end" }),
        105,
        &["at most 8388608 bytes"],
    )
}

/// Property: the time of host functions is the plugin's, and a value that was written again and again goes back in
/// one step.
#[test]
fn rewrites_without_end_end_with_the_time() -> Result<()> {
    let code_and_word = (211, "did not finish within its time, `limits.time: 2s`");
    ends_within(
        6,
        &place("{ time: 2s, calls: 1000000 }")?,
        "rewrite without end",
        code_and_word,
    )
}

/// Property: open stores are files and locks of the host's.
#[test]
fn open_stores_are_bounded() -> Result<()> {
    let place = place("{}")?;
    fs::create_dir_all(place.node.root().join("srv/many"))?;
    let outcome = place.add(json!({ "act": "open without end" }))?;
    outcome.refused(105, &["16 stores are open"]);
    Ok(())
}
