//! How a native plugin is called: CNI sections 2 to 4, and nothing else.

use std::process::Command;

use anyhow::{Context, Result};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use weir_kit::binary;

use crate::world::{NETWORK, PLUGIN, World};

/// Whatever weir itself was started with.
#[test]
fn the_environment_is_clean() -> Result<()> {
    let world = World::probed(json!({}))?;
    let script = "umask 077; trap '' INT HUP; exec 7</etc/passwd 9</etc/passwd; exec \"$@\"";
    let mut weir = Command::new("sh");
    weir.args(["-c", script, "sh"])
        .arg(binary())
        .args(["net", "add", NETWORK])
        .arg(world.container.netns())
        .arg("--bin-dir")
        .arg(world.native())
        .args(["--container-id", &world.container.id])
        .args(["--args", "IgnoreUnknown=1;K8S_POD_NAME=web"])
        .env("WEIR_ROOT", world.node.root())
        .env("LD_PRELOAD", "/nowhere.so")
        .env("SECRET", "x")
        .current_dir("/tmp");
    let output = world.node.inside(|| Ok(weir.output()?))?;
    assert!(output.status.success(), "{output:?}");
    let calls = world.calls();
    let [call] = &calls[..] else {
        panic!("{calls:?}");
    };
    assert_eq!(
        call["environment"],
        world.environment(Some("IgnoreUnknown=1;K8S_POD_NAME=web"))
    );
    let file = world.native().join(PLUGIN);
    assert_eq!(call["arguments"], json!([file]));
    assert_eq!(call["directory"], "/");
    assert_eq!(call["descriptors"], json!(["0", "1", "2"]));
    assert_eq!(call["umask"], "0022");
    assert_eq!(call["blocked"], "0000000000000000");
    let ignored = call["ignored"].as_str().context("a mask")?;
    let of_shell = (1 << (Signal::SIGINT as u32 - 1)) | (1 << (Signal::SIGHUP as u32 - 1));
    assert_eq!(u64::from_str_radix(ignored, 16)? & of_shell, 0, "{ignored}");
    assert_eq!(call["session"], true);
    Ok(())
}

/// CNI section 3: what each plugin of a list reads.
#[test]
fn cni_3_the_execution_configuration() -> Result<()> {
    let (world, probe) = World::with_probe()?;
    world.network(json!([
        { "type": PLUGIN, "probe": probe, "first": true },
        { "type": PLUGIN, "probe": probe, "capabilities": { "mac": true } },
    ]))?;
    let netns = world.container.netns();
    let netns = netns.to_str().context("a path")?;
    let native = world.native();
    let native = native.to_str().context("a path")?;
    let id = world.container.id.as_str();
    let mac = r#"{"mac": "0a:00:00:00:00:01", "ips": []}"#;
    let words = |command| {
        vec![
            "net",
            command,
            NETWORK,
            netns,
            "--container-id",
            id,
            "--bin-dir",
            native,
            "--capability-args",
            mac,
        ]
    };
    for command in ["add", "check", "del"] {
        world.node.weir(&words(command))?;
    }
    let result = json!({ "cniVersion": "1.1.0", "ips": [{ "address": "192.0.2.7/24" }] });
    let calls = world.calls();
    let shown: Vec<Value> = calls.iter().map(shown).collect();
    let mac = json!({ "mac": "0a:00:00:00:00:01" });
    let expected = [
        ("ADD", true, Value::Null, Value::Null),
        ("ADD", false, result.clone(), mac.clone()),
        ("CHECK", true, result.clone(), Value::Null),
        ("CHECK", false, result.clone(), mac.clone()),
        ("DEL", false, result.clone(), mac),
        ("DEL", true, result, Value::Null),
    ];
    let expected = expected.map(|(command, first, previous, runtime)| {
        json!([command, first, previous, runtime, "net", "1.1.0", false])
    });
    assert_eq!(shown, expected);
    Ok(())
}

fn shown(call: &Value) -> Value {
    let config = &call["config"];
    json!([
        call["command"],
        config["first"] == true,
        config["prevResult"],
        config["runtimeConfig"],
        config["name"],
        config["cniVersion"],
        config.get("capabilities").is_some(),
    ])
}

#[test]
fn status_and_gc_are_about_no_attachment() -> Result<()> {
    let world = World::probed(json!({}))?;
    world.succeeds("status")?;
    world.succeeds("gc")?;
    let calls = world.calls();
    assert_eq!(world.commands(), ["STATUS", "GC"]);
    for call in &calls {
        let environment = call["environment"].as_object().context("variables")?;
        let names: Vec<&str> = environment.keys().map(String::as_str).collect();
        let own = ["CNI_COMMAND", "CNI_PATH", "PATH", "WEIR_NETWORK_SOURCE"];
        assert_eq!(names, own);
    }
    assert_eq!(calls[1]["config"]["cni.dev/valid-attachments"], json!([]));
    Ok(())
}

/// A component before it, and libcni's cache after it.
#[test]
fn a_native_plugin_in_a_list_with_components() -> Result<()> {
    let (world, probe) = World::with_probe()?;
    world.network(json!([
        { "type": "bridge", "bridge": "nat0", "ipam": {
            "type": "host-local", "ranges": [[{ "subnet": "10.77.0.0/24" }]] } },
        { "type": PLUGIN, "probe": probe },
    ]))?;
    let result = world.add()?;
    assert_eq!(result["ips"][0]["address"], "10.77.0.2/24");
    let cached = world.file(&format!(
        "var/lib/cni/results/{NETWORK}-{}-eth0",
        world.container.id
    ));
    assert!(cached.exists());
    let previous = &world.calls()[0]["config"]["prevResult"];
    assert_eq!(previous["ips"], result["ips"]);
    world.succeeds("check")?;
    world.succeeds("del")?;
    assert!(!cached.exists());
    assert!(world.node.taken(NETWORK).is_empty());
    Ok(())
}
