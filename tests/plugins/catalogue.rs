//! `weir plugin add` and `remove`: a plugin is installed completely or not at all, whatever is interrupted.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;
use weir_kit::trace::{self, End, kill_at_points};
use weir_kit::{Grant, Node, assert_contains, binary, component, weir};

use crate::{json, path};

#[test]
fn another_component_over_a_pinned_name_is_shown_and_refused() -> Result<()> {
    let node = Node::create()?;
    let (labels, hostile) = (component("labels"), component("hostile"));
    let add = |file, words: &[&'static str]| -> Result<Vec<String>> {
        let mut all = vec![
            "plugin",
            "add",
            path(file)?,
            "--name",
            "mine",
            "--output",
            "json",
        ];
        all.extend(words);
        Ok(all.into_iter().map(str::to_owned).collect())
    };
    let run = |words: Vec<String>, code| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        json(&node, &words, code)
    };
    let first = run(add(&labels, &[])?, 0);
    assert_eq!(first["installed"], true);
    assert!(first["difference"].is_null(), "{first:#}");

    let refused = run(add(&hostile, &[])?, 3);
    assert_eq!(refused["installed"], false);
    let difference = &refused["difference"];
    assert_eq!(difference["installed"]["digest"], first["digest"]);
    assert_eq!(difference["new"]["digest"], refused["digest"]);
    assert_eq!(difference["asks_for_more"]["conntrack"], json!(["delete"]));
    assert!(
        difference["asks_for_more"]["link"]
            .as_array()
            .is_some_and(|more| more.contains(&json!("create")) && !more.contains(&json!("get"))),
        "{difference:#}"
    );
    assert_eq!(difference["asks_no_more_for"].get("link"), None);
    assert_eq!(
        node.digest("mine")?,
        first["digest"].as_str().unwrap_or_default()
    );

    let replaced = run(add(&hostile, &["--replace"])?, 0);
    assert_eq!(replaced["installed"], true);
    assert_eq!(
        node.digest("mine")?,
        refused["digest"].as_str().unwrap_or_default()
    );
    // Adding the same component again changes nothing, and is reported as well.
    let same = run(add(&hostile, &[])?, 3);
    assert_eq!(same["difference"]["asks_for_more"], json!({}));
    let text = node.command(&["plugin", "add", path(&labels)?, "--name", "mine"])?;
    let text = crate::said(&text);
    assert_contains(&text, &["no more", "- conntrack: delete", "give --replace"]);
    Ok(())
}

/// A damaged plugin is not replaced silently, and can be repaired.
#[test]
fn a_damaged_plugin_keeps_its_place() -> Result<()> {
    let node = Node::create()?;
    node.install_plugin("pinned-gateway")?;
    fs::write(node.installed("pinned-gateway").join("manifest.json"), "{")?;
    let file = component("pinned-gateway");
    let output = node.command(&["plugin", "add", path(&file)?])?;
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    node.weir(&["plugin", "add", "--replace", path(&file)?])?;
    let listed = node.weir(&["plugin", "list", "--output", "json"])?;
    assert!(listed.contains("pinned-gateway"), "{listed}");
    Ok(())
}

#[test]
fn a_grant_that_is_left_behind_is_named() -> Result<()> {
    let node = Node::create()?;
    node.install_with(&Grant::nothing("labels"))?;
    let removed = json(
        &node,
        &["plugin", "remove", "labels", "--output", "json"],
        0,
    );
    let left = removed["grants_left"].as_array().expect("a list");
    assert_eq!(left.len(), 1, "{removed:#}");
    assert!(
        left[0]
            .as_str()
            .is_some_and(|path| path.ends_with("labels.yaml"))
    );
    assert!(!node.installed("labels").exists());

    let said = node.exits(&["plugin", "remove", "bridge"], 1)?;
    // It says what to do.
    assert_contains(&said, &["networks: []"]);
    Ok(())
}

/// The grant in the message has the promised effect.
#[test]
fn a_built_in_plugin_can_be_kept_from_running() -> Result<()> {
    let node = Node::create()?;
    let nothing = Grant {
        networks: "[]",
        ..Grant::nothing("loopback")
    };
    let digest = json(
        &node,
        &["plugin", "inspect", "loopback", "--output", "json"],
        0,
    );
    let digest = digest["digest"].as_str().unwrap_or_default().to_owned();
    node.put_grant("loopback.yaml", &nothing.document(&digest))?;
    let config = json!({ "cniVersion": "1.1.0", "name": "lo", "type": "loopback" });
    let outcome = node.run(&weir(&node, "loopback", "ADD", &node.container()?, &config))?;
    assert_eq!(outcome.code(), 202);
    Ok(())
}

fn command(node: &Node, words: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.args(words).env("WEIR_ROOT", node.root());
    command
}

fn start(node: &Node, words: &[&str]) -> Result<Child> {
    Ok(command(node, words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?)
}

/// Two components replace each other while containers are attached. The grant is for one of them: the other must be refused
/// for its digest, and neither may ever be damaged or missing.
#[test]
fn an_invocation_meets_one_whole_plugin_while_others_replace_it() -> Result<()> {
    let node = Node::create()?;
    let guest = component("misbehaving");
    // The same component with a custom section has another digest.
    let mut other = fs::read(&guest)?;
    other.extend(b"\0\x06\x05other");
    let other_file = node.root().join("other.wasm");
    fs::write(&other_file, other)?;
    let files = [path(&guest)?.to_owned(), path(&other_file)?.to_owned()];
    node.weir(&["plugin", "add", &files[1], "--name", "turns"])?;
    node.weir(&["plugin", "add", &files[0], "--name", "turns", "--replace"])?;
    node.link_plugin("turns")?;
    let digest = node.digest("turns")?;
    node.put_grant("turns.yaml", &Grant::nothing("turns").document(&digest))?;
    let container = node.container()?;
    let config = json!({ "cniVersion": "1.1.0", "name": "green", "type": "turns" });
    let call = weir(&node, "turns", "ADD", &container, &config);

    let over = AtomicBool::new(false);
    let outcomes = std::thread::scope(|scope| -> Result<Vec<u64>> {
        let writers = files.each_ref().map(|file| {
            let (node, over) = (&node, &over);
            scope.spawn(move || -> Result<()> {
                while !over.load(Ordering::Relaxed) {
                    let words = ["plugin", "add", "--replace", "--name", "turns", file];
                    let output = node.command(&words)?;
                    ensure!(output.status.success(), "{}", crate::said(&output));
                }
                Ok(())
            })
        });
        let outcomes = call_until_both_were_met(|| {
            let outcome = node.run(&call)?;
            Ok(if outcome.succeeded() {
                0
            } else {
                outcome.code()
            })
        });
        over.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.join().expect("no panic")?;
        }
        outcomes
    })?;
    let strange = outcomes.iter().find(|code| ![0, 202].contains(*code));
    assert_eq!(strange, None, "of {} calls", outcomes.len());
    for code in [0, 202] {
        let met = outcomes.iter().filter(|outcome| **outcome == code).count();
        assert!(
            met >= TURNS,
            "{code} came {met} times of {}",
            outcomes.len()
        );
    }
    Ok(())
}

/// How often a call must meet each of the two components.
const TURNS: usize = 5;

/// Calls until each answer came often enough, for a minute at most.
fn call_until_both_were_met(mut call: impl FnMut() -> Result<u64>) -> Result<Vec<u64>> {
    let began = Instant::now();
    let mut outcomes = Vec::new();
    let met = |outcomes: &[u64], code: u64| outcomes.iter().filter(|o| **o == code).count();
    while (met(&outcomes, 0) < TURNS || met(&outcomes, 202) < TURNS)
        && began.elapsed() < Duration::from_secs(60)
    {
        outcomes.push(call()?);
    }
    Ok(outcomes)
}

/// The kills of a replacement, over all its system calls.
const KILLS: usize = 80;

/// Killed at any point, a replacement leaves the old plugin or the new one.
#[test]
fn an_interrupted_replacement_leaves_a_whole_plugin() -> Result<()> {
    let node = Node::create()?;
    node.install_plugin("pinned-gateway")?;
    let mut other = fs::read(component("pinned-gateway"))?;
    other.extend(b"\0\x06\x05other");
    let file = node.root().join("other.wasm");
    fs::write(&file, &other)?;
    let files = [component("pinned-gateway"), file];
    let digests = [
        node.digest("pinned-gateway")?,
        weir_sandbox::digest(&other).to_string(),
    ];
    let plugins = node.root().join("var/lib/weir/plugins");
    let add = |file| -> Result<[&str; 6]> {
        let file = path(file)?;
        Ok([
            "plugin",
            "add",
            "--replace",
            "--name",
            "pinned-gateway",
            file,
        ])
    };
    let (mut there, mut kept, mut replaced) = (0, 0, 0);
    kill_at_points(KILLS, |point| {
        let next = 1 - there;
        // The next addition removes the remaining files, as is checked below.
        let _ = fs::remove_dir_all(plugins.join(".new"));
        let end = trace::run(&mut command(&node, &add(&files[next])?), b"", point)?;
        let found = installed(&node);
        if end == End::Killed && found == digests[there] {
            kept += usize::from(plugins.join(".new").exists());
        } else {
            assert_eq!(found, digests[next]);
            (replaced, there) = (replaced + 1, next);
        }
        Ok(end)
    })?;
    let counts =
        format!("it was cut short {kept} times as it wrote, and replaced {replaced} times");
    assert!(kept >= 3 && replaced >= 2, "{counts}");
    // Between its first file and its last, and after the exchange of the two.
    for half in [".new", ".old"] {
        fs::create_dir_all(plugins.join(half))?;
        fs::write(plugins.join(half).join("component.wasm"), &other[..100])?;
    }
    json(&node, &["plugin", "list", "--output", "json"], 0);
    node.weir(&add(&files[1])?)?;
    assert_eq!(installed(&node), digests[1]);
    let mut left: Vec<_> = fs::read_dir(plugins)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<_, _>>()?;
    left.sort();
    assert_eq!(left, [".key", "pinned-gateway"], "the next one clears away");
    Ok(())
}

/// The digest of the one installed plugin, whose files must be those in its manifest.
fn installed(node: &Node) -> String {
    let listed = json(node, &["plugin", "list", "--output", "json"], 0);
    let listed = listed.as_array().expect("a list").iter();
    let found: Vec<_> = listed
        .filter(|plugin| plugin["name"] == "pinned-gateway")
        .collect();
    assert_eq!(found.len(), 1);
    json(
        node,
        &["plugin", "inspect", "pinned-gateway", "--output", "json"],
        0,
    );
    found[0]["digest"].as_str().unwrap_or_default().to_owned()
}

/// Of several concurrent adds under a free name one succeeds, and the others are refused.
#[test]
fn one_of_several_takes_a_free_name() -> Result<()> {
    let node = Node::create()?;
    let file = component("pinned-gateway");
    let words = ["plugin", "add", "--name", "mine", path(&file)?];
    let mut children = Vec::new();
    for _ in 0..4 {
        children.push(start(&node, &words)?);
    }
    let mut succeeded = 0;
    for mut child in children {
        succeeded += usize::from(child.wait()?.success());
    }
    assert_eq!(succeeded, 1);
    node.weir(&["plugin", "inspect", "mine"])?;
    Ok(())
}
