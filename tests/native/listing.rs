//! What is listed runs, and nothing else.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{assert_contains, binary};

use crate::world::{NETWORK, PLUGIN, World, failed};

#[test]
fn a_plugin_that_is_listed_runs_and_is_recorded() -> Result<()> {
    let world = World::probed(json!({}))?;
    let result = world.add()?;
    assert_eq!(result["ips"][0]["address"], "192.0.2.7/24");
    world.succeeds("check")?;
    world.succeeds("status")?;
    world.succeeds("gc")?;
    assert_eq!(
        world.commands(),
        ["ADD", "CHECK", "STATUS", "DEL", "GC"],
        "GC deletes what is not valid"
    );
    let commands: Vec<_> = world.records().into_iter().map(|(c, ..)| c).collect();
    assert_eq!(commands, world.commands());
    for (command, verdict, rules) in world.records() {
        assert_eq!(verdict, "allowed", "{command}");
        assert_eq!(rules, "[\"native[0]\"]", "{command}");
    }
    let audit = world.node.audit();
    let record = audit.first().context("a record")?;
    assert_eq!(record["plugin"], PLUGIN);
    assert_eq!(record["network"], NETWORK);
    assert_eq!(record["container_id"], *world.container.id);
    assert_eq!(record["digest"], world.digest(PLUGIN)?);
    assert_eq!(record["capability"], "native");
    assert_eq!(record["answer"], "ok");

    let told = world.node.weir(&["audit", "--capability", "native"])?;
    let words = format!("run native plugin `{PLUGIN}` ({})", world.digest(PLUGIN)?);
    assert_eq!(told.matches(&words).count(), 5, "{told}");
    Ok(())
}

#[test]
fn one_that_is_not_listed_is_refused_with_what_to_paste() -> Result<()> {
    let world = World::create()?;
    world.probe(json!({}))?;
    for command in ["add", "del", "status"] {
        let said = world.fails(command)?;
        let digest = world.digest(PLUGIN)?;
        assert!(
            said.contains(&format!(
                "native plugin `{PLUGIN}` ({digest}) is not listed"
            )),
            "{said}"
        );
        assert!(said.contains("CNI error 221"), "{said}");
    }
    assert!(world.calls().is_empty());
    for (_, verdict, rules) in world.records() {
        assert_eq!((verdict.as_str(), rules.as_str()), ("denied", "[]"));
    }
    assert_eq!(world.records().len(), 3);

    // The whole file, where there is none, and an entry, where there is one.
    let said = world.fails("add")?;
    world.configure(&pasted(&said)?)?;
    world.add()?;
    world.configure(&json!({ "nativePlugins": [] }))?;
    let said = world.fails("add")?;
    world.configure(&json!({ "nativePlugins": [pasted(&said)?] }))?;
    world.succeeds("del")?;
    Ok(())
}

/// The JSON at the end of what was said.
pub fn pasted(said: &str) -> Result<Value> {
    let start = said.find("{\"").context("no JSON")?;
    let end = said.rfind('}').context("no JSON")?;
    Ok(serde_json::from_str(&said[start..=end])?)
}

#[test]
fn the_command_prints_the_entry() -> Result<()> {
    let world = World::create()?;
    world.probe(json!({}))?;
    let file = world.native().join(PLUGIN);
    let file = file.to_str().context("a path")?;
    let printed = world
        .node
        .weir(&["plugin", "native", file, "--network", NETWORK])?;
    let entry: Value = serde_json::from_str(&printed)?;
    assert_eq!(
        entry,
        json!({ "name": PLUGIN, "digest": world.digest(PLUGIN)?, "networks": [NETWORK] })
    );
    world.configure(&json!({ "nativePlugins": [entry] }))?;
    world.add()?;
    for words in [
        &["plugin", "native", file][..],
        &["plugin", "native", file, "--network", "["],
        &["plugin", "native", "/etc/passwd", "--network", "*"],
        &["plugin", "native", "/nowhere/x", "--network", "*"],
    ] {
        let output = world.node.command(words)?;
        assert!(!output.status.success(), "{words:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{words:?}: {output:?}");
    }
    Ok(())
}

#[test]
fn another_digest_is_refused_and_both_are_named() -> Result<()> {
    let world = World::probed(json!({}))?;
    let listed = world.digest(PLUGIN)?;
    // One byte more: it would still run.
    let file = world.native().join(PLUGIN);
    let mut bytes = fs::read(&file)?;
    bytes.push(0);
    fs::write(&file, bytes)?;
    let here = world.digest(PLUGIN)?;
    let said = world.fails("add")?;
    assert!(
        said.contains(&format!(
            "is {here}, but {listed} is listed (CNI error 222)"
        )),
        "{said}"
    );
    assert!(world.calls().is_empty());
    let audit = world.node.audit();
    let record = audit.first().context("a record")?;
    assert_eq!(record["verdict"], "denied");
    let missed = json!({ "rule": "native[0]", "field": "digest" });
    assert_eq!(record["closest"], missed);
    assert_eq!(record["digest"], here);
    Ok(())
}

#[test]
fn a_network_that_is_not_listed_is_refused() -> Result<()> {
    let world = World::create()?;
    world.probe(json!({}))?;
    for networks in [json!(["other", "ne?"]), json!(["*"]), json!(["net"])] {
        world.list(PLUGIN, json!({ "networks": networks }))?;
        world.add()?;
        world.succeeds("del")?;
    }
    for networks in [json!(["other", "nets", "n"]), json!([])] {
        world.list(PLUGIN, json!({ "networks": networks }))?;
        world.fails_saying(
            "add",
            &["is not listed for the network `net` (CNI error 223)"],
        )?;
    }
    Ok(())
}

#[test]
fn what_is_no_program_is_refused() -> Result<()> {
    let world = World::create()?;
    world.probe(json!({}))?;
    let file = world.native().join(PLUGIN);
    let digest = format!("sha256:{}", "00".repeat(32));
    world.configure(&json!({
        "nativePlugins": [{ "name": PLUGIN, "digest": digest, "networks": ["*"] }]
    }))?;
    for (content, expected) in [
        ("#!/bin/sh\necho '{}'\n", "it is a script"),
        ("", "is not an ELF program"),
    ] {
        fs::write(&file, content)?;
        let said = world.fails("add")?;
        assert!(said.contains(expected), "{said}");
        assert!(said.contains("CNI error 224"), "{said}");
    }
    fs::remove_file(&file)?;
    fs::create_dir(&file)?;
    let said = world.fails("add")?;
    assert!(said.contains("a directory"), "{said}");
    fs::remove_dir(&file)?;
    world
        .node
        .tool("mkfifo", file.to_str().context("a path")?)?;
    let said = world.fails("add")?;
    assert!(said.contains("a device or a pipe"), "{said}");
    fs::remove_file(&file)?;
    let said = world.fails_saying("add", &["no such plugin: `probe` (CNI error 200)"])?;
    assert!(said.contains("no native plugin of that name in"), "{said}");
    Ok(())
}

#[test]
fn a_component_wins_and_a_link_to_weir_is_no_native_plugin() -> Result<()> {
    let world = World::with_native("loopback")?;
    world.network(json!([{ "type": "loopback" }]))?;
    let result = world.add()?;
    assert_eq!(result["ips"][0]["address"], "127.0.0.1/8");
    assert!(world.records().is_empty());

    // As a link to a component that was removed, and as a link to the weir that runs.
    world.network(json!([{ "type": "gone" }]))?;
    symlink("weir", world.node.bin_dir().join("gone"))?;
    symlink(binary(), world.native().join("gone"))?;
    for directory in [world.node.bin_dir(), world.native()] {
        let said = failed(&world.net_in("add", &directory)?)?;
        assert!(said.contains("is weir itself"), "{said}");
        assert!(said.contains("CNI error 224"), "{said}");
    }
    Ok(())
}

#[test]
fn without_a_directory_there_is_no_native_plugin() -> Result<()> {
    let world = World::probed(json!({}))?;
    let netns = world.container.netns();
    let words = ["net", "add", NETWORK, netns.to_str().context("a path")?];
    let said = failed(&world.node.inside(|| world.node.command(&words))?)?;
    assert_contains(&said, &["no such plugin: `probe` (CNI error 200)"]);
    assert!(!said.contains("native"), "{said}");
    assert!(world.calls().is_empty());
    Ok(())
}

/// Below weir's root, as all paths of configurations.
#[test]
fn the_listing_can_say_where_the_program_is() -> Result<()> {
    let world = World::create()?;
    world.probe(json!({}))?;
    world.list(PLUGIN, json!({ "binDir": "/native" }))?;
    let output = world.net_in("add", &world.file("empty"))?;
    assert!(output.status.success(), "{output:?}");
    let search = &world.calls()[0]["environment"]["CNI_PATH"];
    let expected = format!(
        "{}:{}",
        world.native().display(),
        world.file("empty").display()
    );
    assert_eq!(*search, expected);
    Ok(())
}

#[test]
fn a_configuration_that_others_can_write_is_not_trusted() -> Result<()> {
    let world = World::probed(json!({}))?;
    let file = world.file("etc/weir/weir.json");
    fs::set_permissions(&file, Permissions::from_mode(0o622))?;
    let expected = [
        "weir's configuration is not trusted",
        "chmod go-w",
        "CNI error 227",
    ];
    world.fails_saying("add", &expected)?;
    fs::set_permissions(&file, Permissions::from_mode(0o644))?;
    world.add()?;

    fs::write(&file, "{\n  \"nativePlugin\": []\n}\n")?;
    let said = world.fails("del")?;
    let place = format!("{}:2:3: unknown key `nativePlugin`", file.display());
    assert!(said.contains(&place), "{said}");
    assert!(said.contains("did you mean `nativePlugins`"), "{said}");
    Ok(())
}
