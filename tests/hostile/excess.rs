//! Plugins that make and change more than anybody needs: each is bounded, and what it made goes in a bounded time.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::Grant;

use super::AttackedNode;

const PLUGIN: &str = "misbehaving";

/// May make pairs of veths, and have stores.
const ALL: &str = r#"{
    link: [
      { namespace: host, kinds: [veth], names: ["out*"] },
      { namespace: container, kinds: [veth], names: ["in*"] } ],
    store: [ {}, { directories: [/srv/many] } ] }"#;

fn fixture(limits: &str) -> Result<AttackedNode> {
    AttackedNode::create(&Grant {
        capabilities: ALL,
        limits,
        ..Grant::nothing(PLUGIN)
    })
}

/// Runs ADD with an act, which must end with this code and this word within so many seconds, and leave nothing.
#[track_caller]
fn ends_within(
    seconds: u64,
    fixture: &AttackedNode,
    act: &str,
    (code, word): (u64, &str),
) -> Result<()> {
    let began = Instant::now();
    let outcome = fixture.add(json!({ "act": act }))?;
    let took = began.elapsed();
    fixture.assert_ended(&outcome, code, &[word]);
    assert!(took < Duration::from_secs(seconds), "{took:?}");
    Ok(())
}

/// The names of the host's pairs.
fn pairs(fixture: &AttackedNode) -> Result<Vec<String>> {
    named(fixture, |_| true)
}

/// Those that have the mark of their owner, which the kernel takes in a second message only.
fn marked_pairs(fixture: &AttackedNode) -> Result<Vec<String>> {
    named(fixture, |link| link["ifalias"].is_string())
}

fn named(fixture: &AttackedNode, is_meant: fn(&Value) -> bool) -> Result<Vec<String>> {
    let links = fixture.node.ip_json("link show type veth")?;
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
    let fixture = fixture("{ log: 1MiB }")?;
    let code_and_word = (215, "than `limits.changes: 1000`");
    ends_within(30, &fixture, "pairs without end", code_and_word)?;
    let deleted = |record: &&Value| {
        record["operation"] == "link.delete"
            && record["verdict"] == "undo"
            && record["answer"] == "ok"
    };
    let records = fixture.node.audit();
    assert_eq!(records.iter().filter(deleted).count(), 1001);
    Ok(())
}

/// Property: what was made in the time that there was is gone soon.
#[test]
fn links_in_the_time_that_there_is_go_soon() -> Result<()> {
    let code_and_word = (211, "did not finish within its time, `limits.time: 1s`");
    ends_within(
        15,
        &fixture("{ time: 1s, calls: 1000000, changes: 1000000 }")?,
        "pairs without end",
        code_and_word,
    )
}

/// Starts an ADD that makes twenty pairs and goes on, and kills it when they are there.
fn kill_half_way(fixture: &AttackedNode) -> Result<()> {
    let call = fixture.call("ADD", json!({ "act": "some pairs and loop" }));
    let mut child = fixture.node.inside(|| call.start())?;
    let began = Instant::now();
    while marked_pairs(fixture)?.len() < 20 {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "it makes no pairs"
        );
        std::thread::yield_now();
    }
    child.kill()?;
    child.wait()?;
    assert_eq!(pairs(fixture)?.len(), 20, "nobody has undone them");
    Ok(())
}

/// Property: what a killed ADD made is found by whose it is, and goes with the next DEL; what is another's stays.
#[test]
fn a_del_removes_what_a_killed_add_made() -> Result<()> {
    let fixture = fixture("{}")?;
    let node = &fixture.node;
    node.ip("link add theirs type veth peer name theirs1")?;
    let mark = [
        "link",
        "set",
        "theirs",
        "alias",
        "hostile other-container eth0",
    ];
    let marked = node.inside(|| Ok(Command::new("ip").args(mark).status()?))?;
    assert!(marked.success());
    kill_half_way(&fixture)?;
    assert!(fixture.run("DEL", json!({}), &[])?.succeeded());
    assert_eq!(pairs(&fixture)?, [""; 0]);
    node.ip("link show theirs")?;
    Ok(())
}

/// Property: it goes as well where the plugin's own DEL fails.
#[test]
fn a_del_that_fails_removes_what_a_killed_add_made() -> Result<()> {
    let fixture = fixture("{}")?;
    kill_half_way(&fixture)?;
    let failed = fixture.run("DEL", json!({ "delAct": "trap" }), &[])?;
    assert_eq!(failed.error()["code"], 210, "{failed:?}");
    assert_eq!(pairs(&fixture)?, [""; 0]);
    Ok(())
}

/// Property: GC removes it as well, unless the attachment is there.
#[test]
fn a_gc_removes_what_a_killed_add_made() -> Result<()> {
    let fixture = fixture("{}")?;
    kill_half_way(&fixture)?;
    let attachment = json!({ "containerID": fixture.container.id, "ifname": "eth0" });
    for (valid, left) in [(json!([attachment]), 20), (json!([]), 0)] {
        let keys = json!({ "cni.dev/valid-attachments": valid });
        assert!(fixture.run("GC", keys, &[])?.succeeded());
        assert_eq!(pairs(&fixture)?.len(), left);
    }
    Ok(())
}

/// Property: what a plugin changes and does not commit is kept by the host, which keeps no more than it says.
#[test]
fn what_is_not_committed_is_bounded() -> Result<()> {
    fixture("{ calls: 1000000 }")?.ends(
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
        &fixture("{ time: 2s, calls: 1000000 }")?,
        "rewrite without end",
        code_and_word,
    )
}

/// Property: open stores are files and locks of the host's.
#[test]
fn open_stores_are_bounded() -> Result<()> {
    let fixture = fixture("{}")?;
    fs::create_dir_all(fixture.node.root().join("srv/many"))?;
    let outcome = fixture.add(json!({ "act": "open without end" }))?;
    outcome.refused(105, &["16 stores are open"]);
    Ok(())
}
