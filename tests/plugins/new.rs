//! `weir plugin new`: the project builds and passes its test.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use anyhow::{Context, Result};
use weir_kit::{Node, assert_contains, binary, house, program};

use crate::{json, path, said};

#[test]
fn a_new_project_builds_and_passes_its_own_test() -> Result<()> {
    let node = Node::create()?;
    let project = node.root().join("mtu-clamp");
    let (sdk, directory) = (house(), path(&project)?);
    let words = [
        "plugin",
        "new",
        "mtu-clamp",
        directory,
        "--sdk",
        path(&sdk)?,
        "--output",
        "json",
    ];
    let written = json(&node, &words, 0);
    let files = written["files"].as_array().context("a list")?;
    assert!(
        files
            .iter()
            .all(|file| project.join(file.as_str().unwrap_or_default()).is_file())
    );

    // Most of what it needs is built already, with the house's profile `dev`.
    let target = house().join("target");
    symlink(target.canonicalize()?, project.join("target"))?;
    // The lock file of this repository: the test needs no network.
    fs::copy(house().join("Cargo.lock"), project.join("Cargo.lock"))?;
    let output = Command::new("cargo")
        .args(["test", "--offline", "--target-dir", "target", "--config"])
        .arg(house().join("Cargo.toml"))
        .current_dir(&project)
        .env("WEIR", binary())
        .env("CARGO_NET_OFFLINE", "true")
        .output()
        .context("run cargo")?;
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    assert_contains(
        &text,
        &[
            "test tests::only_more_than_the_configuration_allows_is_changed ... ok",
            "test it_attaches_and_leaves_nothing_behind ... ok",
        ],
    );

    // Its test can fail: the plugin may not change the interface.
    let grant = fs::read_to_string(project.join("grant.yaml"))?;
    let narrow = grant.replace("verbs: [read, update]", "verbs: [read]");
    assert_ne!(grant, narrow);
    fs::write(project.join("grant.yaml"), narrow)?;
    let output = Command::new(binary())
        .args(["plugin", "test"])
        .arg(project.join("target/wasm32-wasip2/release/mtu_clamp.wasm"))
        .arg(project.join("network.conflist"))
        .output()?;
    let text = said(&output);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("denied  link.update"), "{text}");
    Ok(())
}

#[test]
fn a_new_project_in_c_builds_and_passes_its_own_test() -> Result<()> {
    let node = Node::create()?;
    let project = node.root().join("mtu-limit");
    let (sdk, directory) = (house(), path(&project)?);
    let words = ["plugin", "new", "mtu-limit", directory, "--language", "c"];
    let text = node.weir(&[&words[..], &["--sdk", path(&sdk)?]].concat())?;
    assert_contains(&text, &["mtu_limit.c", "make test"]);
    let make = |target: &str| {
        let mut command = Command::new("make");
        command.arg(target).current_dir(&project);
        command
            .env("WEIR", binary())
            .env("WEIR_C", program("weir-c"));
        command.output().context("run make")
    };
    let output = make("test")?;
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    assert_contains(&text, &["allowed link.update", "mtu=1400", "passed"]);

    // Its test can fail: the plugin may not change the interface.
    let grant = fs::read_to_string(project.join("grant.yaml"))?;
    let narrow = grant.replace("verbs: [read, update]", "verbs: [read]");
    assert_ne!(grant, narrow);
    fs::write(project.join("grant.yaml"), narrow)?;
    let output = make("test")?;
    let text = said(&output);
    assert!(!output.status.success(), "{text}");
    assert_contains(&text, &["denied  link.update", "cannot set the MTU"]);

    // A value of another type is the configuration's fault.
    fs::write(project.join("grant.yaml"), grant)?;
    let network = fs::read_to_string(project.join("network.conflist"))?;
    for (value, why) in [
        ("\"1400\"", "mtu: expected a whole number of 0 or more"),
        ("67", "mtu: expected 68 to 65535, found 67"),
    ] {
        let wrong = network.replace("\"mtu\": 1400", &format!("\"mtu\": {value}"));
        assert_ne!(network, wrong);
        fs::write(project.join("network.conflist"), wrong)?;
        assert_contains(&said(&make("test")?), &["error 7", why]);
    }
    Ok(())
}

#[test]
fn the_sdk_for_c_is_used_from_a_checkout() -> Result<()> {
    let node = Node::create()?;
    let url = "https://example.org/weir.git";
    let words = [
        "plugin",
        "new",
        "mine",
        "unused",
        "--language",
        "c",
        "--sdk",
        url,
    ];
    assert_contains(&node.exits(&words, 1)?, &["--language c", "`--sdk PATH`"]);
    assert!(!node.root().join("unused").exists());
    Ok(())
}

#[test]
fn a_project_is_written_only_where_there_is_nothing() -> Result<()> {
    let node = Node::create()?;
    node.write("taken/mine", "")?;
    let project = node.root().join("taken");
    let house = house();
    let sdk = ["--sdk", path(&house)?];
    for (name, directory, why) in [
        ("taken", path(&project)?, "is not empty"),
        ("bridge", "unused", "is built into weir"),
        ("Not_A_Crate", "unused", "small letters"),
    ] {
        let words = [&["plugin", "new", name, directory][..], &sdk].concat();
        assert_contains(&node.exits(&words, 1)?, &[why]);
    }
    let output = node.command(&["plugin", "new", "mine", "unused", "--sdk", "/nowhere"])?;
    assert!(said(&output).contains("/nowhere"), "{}", said(&output));
    Ok(())
}
