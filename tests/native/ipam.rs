//! A native IPAM plugin under a component: it runs where it is listed and the component's grant names it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{assert_contains, assert_lacks, binary};

use crate::listing::pasted;
use crate::world::{BRIDGE, NETWORK, PLUGIN, World, failed};

/// A network of a bridge whose IPAM plugin is the probe, which does this and is listed.
pub fn assigned(probe: Value) -> Result<World> {
    let world = World::listed()?;
    world.assigning(probe)?;
    Ok(world)
}

/// One in which it has assigned an address, and then another command has run.
fn assigned_then(command: &str) -> Result<World> {
    let world = assigned(json!({}))?;
    world.add()?;
    world.succeeds(command)?;
    Ok(world)
}

#[test]
fn cni_4_1_it_runs_for_each_command_with_the_main_plugins_configuration() -> Result<()> {
    let world = assigned(json!({}))?;
    let result = world.add()?;
    let ips = json!([{ "address": "192.0.2.7/24", "interface": 2 }]);
    assert_eq!(result["ips"], ips, "{result:#}");
    let shown = world.container.ip_json("addr show eth0")?;
    assert_eq!(shown[0]["addr_info"][0]["local"], "192.0.2.7");
    for command in ["check", "status", "del"] {
        world.succeeds(command)?;
    }
    world.add()?;
    world.succeeds("gc")?;
    assert_eq!(
        world.commands(),
        ["ADD", "CHECK", "STATUS", "DEL", "ADD", "DEL", "GC"],
        "GC deletes what is not valid"
    );
    for call in world.calls() {
        let config = &call["config"];
        let own = ["type", "bridge", "name", "cniVersion"].map(|key| config[key].clone());
        assert_eq!(json!(own), json!(["bridge", BRIDGE, NETWORK, "1.1.0"]));
        assert_eq!(config["ipam"]["type"], PLUGIN);
        let has_result = ["CHECK", "DEL"].contains(&call["command"].as_str().context("text")?);
        assert_eq!(config.get("prevResult").is_some(), has_result, "{call:#}");
    }
    let valid = |call: &Value| call["config"].get("cni.dev/valid-attachments").cloned();
    assert_eq!(valid(&world.calls()[6]), Some(json!([])));
    Ok(())
}

/// The same as of a native delegate: `calls` has the rest.
#[test]
fn the_environment_is_clean() -> Result<()> {
    let world = assigned_then("status")?;
    let calls = world.calls();
    assert_eq!(calls[0]["environment"], world.environment(None));
    assert_eq!(calls[0]["descriptors"], json!(["0", "1", "2"]));
    assert_eq!(calls[0]["directory"], "/");
    assert_eq!(calls[0]["session"], true);
    let of_status = calls[1]["environment"].as_object().context("variables")?;
    assert_eq!(of_status.len(), 4, "{of_status:?}");
    Ok(())
}

#[test]
fn each_run_is_recorded_as_the_components_and_as_its_own() -> Result<()> {
    let world = assigned_then("del")?;
    let audit = world.node.audit();
    let digest = world.digest(PLUGIN)?;
    for command in ["ADD", "DEL"] {
        let of = |operation: &str| {
            let mut records = audit.iter();
            let record = records.find(|r| r["operation"] == operation && r["command"] == command);
            record.with_context(|| format!("{operation} of {command}"))
        };
        let (asked, ran) = (of("ipam.run")?, of("native.execute")?);
        assert_eq!(asked["plugin"], "bridge");
        assert_eq!(asked["arguments"]["plugin"], PLUGIN);
        assert_eq!(ran["plugin"], PLUGIN);
        assert_eq!(ran["digest"], *digest);
        assert_eq!(ran["container_id"], *world.container.id);
        assert_eq!(ran["rules"], json!(["native[0]"]));
        for record in [asked, ran] {
            assert_eq!(record["verdict"], "allowed", "{record:#}");
            assert_eq!(record["network"], NETWORK);
        }
    }
    Ok(())
}

#[test]
fn the_grant_of_the_component_must_name_it() -> Result<()> {
    let world = World::listed()?;
    let ipam = json!({ "type": PLUGIN, "probe": world.with_files(json!({})) });
    world.network(json!([{ "type": "bridge", "bridge": BRIDGE, "ipam": ipam }]))?;
    world.fails_saying(
        "add",
        &["plugin `bridge`: the grant does not allow it to run IPAM plugin `probe` for ADD"],
    )?;
    assert!(world.calls().is_empty());
    assert!(world.records().is_empty(), "nothing was looked for");
    Ok(())
}

#[test]
fn one_that_is_not_listed_is_refused_with_what_to_paste() -> Result<()> {
    let world = World::create()?;
    world.assigning(json!({}))?;
    let digest = world.digest(PLUGIN)?;
    for command in ["add", "del", "status"] {
        let said = world.fails(command)?;
        let expected = format!(
            "network `net`: plugin `bridge`: ipam.type: native plugin `probe` ({digest}) is not listed (CNI error 221)"
        );
        assert_contains(&said, &[&expected]);
    }
    assert!(world.calls().is_empty());
    assert_eq!(world.container.links()?, ["lo"]);
    let said = world.fails("add")?;
    world.configure(&pasted(&said)?)?;
    world.add()?;
    Ok(())
}

#[test]
fn another_digest_and_another_network_are_refused() -> Result<()> {
    let world = assigned(json!({}))?;
    let file = world.native().join(PLUGIN);
    let mut bytes = fs::read(&file)?;
    bytes.push(0);
    fs::write(&file, bytes)?;
    world.fails_saying("add", &["plugin `bridge`: ipam.type: ", "(CNI error 222)"])?;
    world.list(PLUGIN, json!({ "networks": ["others", "*/*"] }))?;
    let said = world.fails("add")?;
    let expected =
        "ipam.type: native plugin `probe` is not listed for the network `net` (CNI error 223)";
    assert_contains(&said, &[expected]);
    assert!(world.calls().is_empty());
    Ok(())
}

#[test]
fn one_that_is_not_there_is_reported_with_where_it_was_searched() -> Result<()> {
    let world = World::create()?;
    world.bridge(json!({ "type": "dhpc" }))?;
    let said = world.fails("add")?;
    let nor = format!(
        "no native plugin of that name in `{}` either",
        world.native().display()
    );
    assert_contains(
        &said,
        &[
            "plugin `bridge`: ipam.type: no such plugin: `dhpc` (CNI error 200)",
            &nor,
        ],
    );
    // A link to weir is no native plugin.
    symlink(binary(), world.native().join("dhpc"))?;
    world.fails_saying("add", &["ipam.type: ", "is weir itself", "(CNI error 224)"])?;
    Ok(())
}

/// Property: a grant that names more than plugins gives no way out of the directory.
#[test]
fn a_name_that_is_a_path_runs_nothing() -> Result<()> {
    let world = World::listed()?;
    for name in ["../native/probe", "./probe", "/bin/true", "..", "probe\0"] {
        let grant = format!("{{ ipam: [{}], link: [{{}}] }}", json!(name));
        world.node.put_grant_of_standard("bridge", &grant)?;
        let ipam = json!({ "type": name, "probe": world.with_files(json!({})) });
        world.network(json!([{ "type": "bridge", "bridge": BRIDGE, "ipam": ipam }]))?;
        let said = world.fails("add")?;
        assert_lacks(&said, &["is not listed"]);
        assert!(world.calls().is_empty(), "{name}: {said}");
        assert!(world.records().is_empty(), "{name}: {said}");
    }
    Ok(())
}

/// The same as of delegates.
#[test]
fn a_component_of_the_name_takes_precedence() -> Result<()> {
    let world = World::with_native("static")?;
    let addresses = json!([{ "address": "10.74.0.9/24" }]);
    let ipam = json!({ "type": "static", "addresses": addresses });
    world.network(json!([{ "type": "bridge", "bridge": BRIDGE, "ipam": ipam }]))?;
    let result = world.add()?;
    assert_eq!(result["ips"][0]["address"], "10.74.0.9/24");
    assert!(world.records().is_empty());
    Ok(())
}

/// As a runtime calls that has a link `bridge` to weir.
#[test]
fn a_plugin_called_by_its_name_finds_it_by_cni_path() -> Result<()> {
    let world = assigned(json!({}))?;
    let mut config = world.called_bridge("1.0.0", json!({}));
    let run = |command: &str, path: &Path, config: &Value| {
        world.node.run(&world.call(command, path, config))
    };
    let native = world.native();
    let result = run("ADD", &native, &config)?.result();
    assert_eq!(result["ips"][0]["address"], "192.0.2.7/24");
    assert!(run("DEL", &native, &config)?.succeeded());
    assert_eq!(world.commands(), ["ADD", "DEL"]);
    let empty = world.file("empty");
    run("ADD", &empty, &config)?.refused(200, &["no such plugin: `probe`", "empty"]);
    // Multus is on the node, and its definitions are anyone's: another network.
    let multus = json!({ "cniVersion": "1.0.0", "name": "all", "type": "multus" });
    world.write("etc/cni/net.d/00-multus.conf", &multus.to_string())?;
    config["bridge"] = json!("other0");
    run("ADD", &native, &config)?.told(223, &["is not listed for the network `-/net`"]);
    assert_eq!(world.commands(), ["ADD", "DEL"]);
    Ok(())
}

#[test]
fn without_a_directory_there_is_none() -> Result<()> {
    let world = assigned(json!({}))?;
    let netns = world.container.netns();
    let words = ["net", "add", NETWORK, netns.to_str().context("a path")?];
    let said = failed(&world.node.inside(|| world.node.command(&words))?)?;
    assert_contains(
        &said,
        &["plugin `bridge`: no such plugin: `probe` (CNI error 200)"],
    );
    assert!(world.calls().is_empty());
    Ok(())
}
