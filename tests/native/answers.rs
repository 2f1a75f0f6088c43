//! What a native plugin answers, and what becomes of that.

use std::fs;

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{PLUGIN, World};

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
    assert_eq!(
        world.commands(),
        ["ADD"],
        "who says that it failed has undone itself"
    );
    let audit = world.node.audit();
    assert!(audit[0]["answer"].to_string().contains("room"), "{audit:?}");
    Ok(())
}

#[test]
fn what_is_no_answer_is_an_error_and_undone() -> Result<()> {
    for (probe, expected) in [
        (json!({ "answer": "" }), "it ended without a result"),
        (json!({ "answer": "attached" }), "its result is no JSON"),
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
        let world = World::listed()?;
        world.probe(probe.clone())?;
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

/// A failing plugin in a list: those before it are deleted.
#[test]
fn a_list_that_fails_is_taken_back() -> Result<()> {
    let world = World::listed()?;
    let good = world.with_files(json!({}));
    let bad = world.with_files(json!({
        "answer": json!({ "code": 100, "msg": "no" }).to_string(), "status": 1,
    }));
    world.network(json!([{ "type": PLUGIN, "probe": good }, { "type": PLUGIN, "probe": bad }]))?;
    world.fails("add")?;
    assert_eq!(world.commands(), ["ADD", "ADD", "DEL"]);
    Ok(())
}

/// What cannot be recorded is not done.
#[test]
fn an_add_that_cannot_be_recorded_does_not_run() -> Result<()> {
    let world = World::listed()?;
    world.probe(json!({}))?;
    let log = world.file("var/log/weir");
    fs::create_dir_all(log.parent().expect("a directory"))?;
    fs::write(&log, "in the way")?;
    let said = world.fails("add")?;
    assert!(
        said.contains("cannot be recorded in the audit log"),
        "{said}"
    );
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
