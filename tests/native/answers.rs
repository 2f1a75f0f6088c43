//! What a native plugin answers, and what becomes of that.

use std::fs;

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{NETWORK, PLUGIN, World};

#[test]
fn an_error_goes_on_with_the_plugins_name() -> Result<()> {
    let world = World::listed()?;
    let error =
        json!({ "cniVersion": "1.1.0", "code": 147, "msg": "no\u{1b} room", "details": "why" });
    world.probe(json!({ "answer": error.to_string(), "status": 1 }))?;
    let said = world.fails("add")?;
    assert!(
        said.contains(
            "network `net`: native plugin `probe`: no\\u{1b} room (CNI error 147)\n  why"
        ),
        "{said}"
    );
    assert_eq!(world.commands(), ["ADD", "DEL"]);
    let audit = world.node.audit();
    assert!(audit[0]["answer"].to_string().contains("room"), "{audit:?}");
    Ok(())
}

#[test]
fn what_is_no_answer_is_an_error_and_undone() -> Result<()> {
    for (probe, expected) in [
        (json!({ "answer": "" }), "it ended without a result"),
        (
            json!({ "answer": "attached" }),
            "its result is not valid JSON",
        ),
        (
            json!({ "answer": "{\"ips\": 7}" }),
            "its result cannot be used",
        ),
        (
            json!({ "answer": "", "status": 3, "say": "out of luck" }),
            "it ended with status 3 and no CNI error",
        ),
        (json!({ "act": "abort" }), "it was ended by signal 6"),
    ] {
        let world = World::probed(probe.clone())?;
        let said = world.fails("add")?;
        assert!(said.contains(expected), "{said}");
        assert!(said.contains("CNI error 225"), "{said}");
        if let Some(words) = probe["say"].as_str() {
            assert!(said.contains(&format!("standard error: {words}")), "{said}");
        }
        assert_eq!(world.commands(), ["ADD", "DEL"], "{said}");
    }
    Ok(())
}

#[test]
fn results_of_older_versions_are_converted() -> Result<()> {
    let world = World::listed()?;
    let result = json!({ "cniVersion": "0.2.0", "ip4": { "ip": "192.0.2.9/24" } });
    world.probe(json!({ "answer": result.to_string() }))?;
    let result = world.add()?;
    assert_eq!(result["cniVersion"], "1.1.0");
    assert_eq!(result["ips"], json!([{ "address": "192.0.2.9/24" }]));
    Ok(())
}

/// What the probe says that fails.
fn failing(world: &World) -> Value {
    let error = json!({ "code": 100, "msg": "no" }).to_string();
    world.with_files(json!({ "answer": error, "status": 1 }))
}

/// The calls of the probe: command, and the key `place` of its configuration.
fn places(world: &World) -> Vec<(String, u64)> {
    let calls = world.calls();
    let calls = calls.iter().map(|call| {
        let place = call["config"]["place"].as_u64();
        (call["command"].as_str(), place.expect("a place"))
    });
    calls
        .map(|(command, place)| (command.unwrap_or_default().to_owned(), place))
        .collect()
}

fn calls(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    let expected = expected.iter();
    expected
        .map(|(c, place)| ((*c).to_owned(), *place))
        .collect()
}

/// Of a list the failing plugin is deleted, then those before it, and the whole list by the runtime's DEL. What was not
/// called is not deleted at once.
#[test]
fn cni_3_a_delete_is_executed_even_if_the_add_fails() -> Result<()> {
    let world = World::listed()?;
    let (good, bad) = (world.with_files(json!({})), failing(&world));
    world.network(json!([
        { "type": PLUGIN, "place": 0, "probe": good },
        { "type": PLUGIN, "place": 1, "probe": bad },
        { "type": PLUGIN, "place": 2, "probe": good },
    ]))?;
    world.fails("add")?;
    let at_once = [("ADD", 0), ("ADD", 1), ("DEL", 1), ("DEL", 0)];
    assert_eq!(places(&world), calls(&at_once));
    let previous: Vec<bool> = world
        .calls()
        .iter()
        .map(|call| call["config"].get("prevResult").is_some())
        .collect();
    assert_eq!(
        previous,
        [false, true, true, true],
        "the result of the plugin before"
    );
    world.succeeds("del")?;
    let later = [("DEL", 2), ("DEL", 1), ("DEL", 0)];
    assert_eq!(places(&world)[at_once.len()..], calls(&later));
    Ok(())
}

/// weir has undone what a failing component did: no DEL of it. The native plugin before it gets one.
#[test]
fn a_component_that_fails_after_a_native_plugin() -> Result<()> {
    let (world, good) = World::with_probe()?;
    let outside = json!({
        "type": "bridge", "bridge": "nat1", "isGateway": true,
        "ipam": { "type": "host-local",
            "ranges": [[{ "subnet": "10.78.0.0/24", "gateway": "192.0.2.1" }]] },
    });
    world.network(json!([{ "type": PLUGIN, "place": 0, "probe": good }, outside]))?;
    let said = world.fails("add")?;
    assert!(said.contains("192.0.2.1"), "{said}");
    assert_eq!(places(&world), calls(&[("ADD", 0), ("DEL", 0)]));
    let audit = world.node.audit();
    let of_bridge = audit.iter().filter(|r| r["plugin"] == "bridge");
    let deleted: Vec<_> = of_bridge.filter(|r| r["command"] == "DEL").collect();
    assert!(deleted.is_empty(), "{deleted:#?}");
    Ok(())
}

/// A component before it is deleted after it, at once.
#[test]
fn a_native_plugin_that_fails_after_a_component() -> Result<()> {
    let world = World::listed()?;
    let bridge = json!({ "type": "bridge", "bridge": "nat2", "ipam": {
        "type": "host-local", "ranges": [[{ "subnet": "10.79.0.0/24" }]] } });
    world.network(json!([bridge, { "type": PLUGIN, "place": 1, "probe": failing(&world) }]))?;
    world.fails("add")?;
    assert_eq!(places(&world), calls(&[("ADD", 1), ("DEL", 1)]));
    assert!(world.node.taken(NETWORK).is_empty());
    let audit = world.node.audit();
    let first = |is_it: &dyn Fn(&Value) -> bool| audit.iter().position(is_it);
    let own = first(&|r| r["plugin"] == PLUGIN && r["arguments"]["command"] == "DEL");
    let of_bridge = first(&|r| r["plugin"] == "bridge" && r["command"] == "DEL");
    assert!(own.is_some() && own < of_bridge, "{own:?}, {of_bridge:?}");
    Ok(())
}

/// The DEL at once fails as well: both errors are reported.
#[test]
fn what_the_delete_of_a_failed_add_says_is_reported() -> Result<()> {
    let world = World::listed()?;
    let error = json!({ "code": 100, "msg": "always broken" }).to_string();
    world.probe(json!({ "answer": error, "status": 1, "of": "all" }))?;
    let said = world.fails("add")?;
    let expected = "native plugin `probe`: always broken (CNI error 100)";
    assert!(said.contains(expected), "{said}");
    assert!(said.contains("and then DEL: always broken"), "{said}");
    assert_eq!(world.commands(), ["ADD", "DEL"]);
    Ok(())
}

/// What did not run is not deleted: not listed, or not a program.
#[test]
fn what_was_refused_is_not_deleted() -> Result<()> {
    let world = World::create()?;
    world.probe(json!({}))?;
    world.fails("add")?;
    let commands: Vec<_> = world.records().into_iter().map(|record| record.0).collect();
    assert_eq!(commands, ["ADD"]);
    assert!(world.calls().is_empty());
    Ok(())
}

/// The program that has run is deleted, not what took its place meanwhile.
#[test]
fn the_program_that_failed_is_the_one_that_is_deleted() -> Result<()> {
    let world = World::listed()?;
    let shown = world.native().join(PLUGIN);
    let error = json!({ "code": 100, "msg": "no" }).to_string();
    world.probe(json!({ "answer": error, "status": 1, "remove": shown }))?;
    let said = world.fails("add")?;
    assert!(!shown.exists(), "it did not remove itself");
    assert!(!said.contains("and then DEL"), "{said}");
    assert_eq!(world.commands(), ["ADD", "DEL"]);
    Ok(())
}

/// What cannot be recorded is not done.
#[test]
fn an_add_that_cannot_be_recorded_does_not_run() -> Result<()> {
    let world = World::probed(json!({}))?;
    let log = world.file("var/log/weir");
    fs::create_dir_all(log.parent().expect("a directory"))?;
    fs::write(&log, "in the way")?;
    world.fails_saying("add", &["cannot be recorded in the audit log"])?;
    assert!(world.calls().is_empty());
    world.succeeds("del")?;
    Ok(())
}

/// By the protocol, with `CNI_PATH` for the directory.
#[test]
fn the_delegating_plugin_runs_native_delegates() -> Result<()> {
    let world = World::listed()?;
    let config = json!({
        "cniVersion": "1.1.0", "name": "all", "type": "weir",
        "delegates": [{ "name": "net", "type": PLUGIN, "probe": world.with_files(json!({})) }],
    });
    let run = |command: &str, config: &Value| {
        let mut call = weir_kit::weir(&world.node, "weir", command, &world.container, config);
        call.set("CNI_PATH", world.native());
        world.node.run(&call)
    };
    let result = run("ADD", &config)?.result();
    assert_eq!(result["ips"][0]["address"], "192.0.2.7/24");
    run("DEL", &config)?.result();

    // As a configuration names the directory, below weir's root, whatever CNI_PATH says.
    let mut with_bin_dir = config;
    with_bin_dir["binDir"] = json!("/native");
    let mut call = weir_kit::weir(&world.node, "weir", "ADD", &world.container, &with_bin_dir);
    call.set("CNI_PATH", "/nowhere");
    world.node.run(&call)?.result();
    let calls = world.calls();
    assert_eq!(calls[2]["environment"]["CNI_PATH"], json!(world.native()));
    Ok(())
}
