//! A native IPAM plugin whose answer is not valid, that does not end, or whose component fails after it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{assert_contains, assert_lacks, wait_for};

use crate::bounds::Started;
use crate::ipam::assigned;
use crate::world::{BRIDGE, NETWORK, PLUGIN, World};

/// Property: an answer that is not a result fails the ADD, DEL releases what it gave, and no link is left.
#[test]
fn what_is_no_result_is_an_error_and_undone() -> Result<()> {
    let two = json!({ "ips": [{ "address": "192.0.2.7/24" }] })
        .to_string()
        .repeat(2);
    let error = json!({ "code": 147, "msg": "no\u{1b} room" }).to_string();
    let elsewhere = json!({
        "interfaces": [{ "name": "eth0", "sandbox": "/run/netns/another" }],
        "ips": [{ "address": "192.0.2.7/24", "interface": 0 }],
    });
    for (probe, code, expected) in [
        (json!({ "answer": "" }), 225, "it ended without a result"),
        (
            json!({ "answer": two }),
            225,
            "its result is not valid JSON: trailing characters",
        ),
        (json!({ "answer": error }), 147, "no\\u{1b} room"),
        (
            json!({ "answer": error, "status": 1 }),
            147,
            "no\\u{1b} room",
        ),
        (
            json!({ "answer": "", "status": 1, "say": "oh" }),
            225,
            "it ended with status 1 and no CNI error",
        ),
        (json!({ "act": "abort" }), 225, "it was ended by signal 6"),
        (
            json!({ "act": "flood" }),
            226,
            "it printed more than 4194304 bytes and was killed",
        ),
        (
            ips(json!([{ "address": "192.0.2.700/24" }])),
            225,
            "its result cannot be used",
        ),
        (
            ips(json!([{ "address": "192.0.2.7/33" }])),
            225,
            "its result cannot be used",
        ),
        (ips(json!("192.0.2.7/24")), 225, "its result cannot be used"),
        (
            ips(json!([{ "address": "192.0.2.7/24", "gateway": "fd00::1" }])),
            999,
            "result: ips[0].gateway: fd00::1 is not of the address family of 192.0.2.7/24",
        ),
        (
            ips(json!([{ "address": "192.0.2.7/24", "interface": 2 }])),
            999,
            "result: ips[0].interface: no interface has the index 2",
        ),
        (
            json!({ "answer": elsewhere.to_string() }),
            999,
            "`/run/netns/another` is not this invocation's container",
        ),
    ] {
        let world = assigned(probe.clone())?;
        let said = world.fails("add")?;
        let prefix = "network `net`: plugin `bridge`: native plugin `probe`: ";
        assert_contains(&said, &[prefix, expected, &format!("(CNI error {code})")]);
        assert_eq!(world.commands(), ["ADD", "DEL"], "{probe}");
        assert_eq!(world.container.links()?, ["lo"], "{probe}");
        let verdicts: Vec<String> = world.records().into_iter().map(|r| r.1).collect();
        assert_eq!(verdicts, ["allowed", "undo"], "{probe}");
    }
    Ok(())
}

/// What the probe answers: a result of these addresses.
fn ips(ips: Value) -> Value {
    json!({ "answer": json!({ "cniVersion": "1.0.0", "ips": ips }).to_string() })
}

#[test]
fn no_address_at_all_is_the_components_error_and_undone() -> Result<()> {
    let world = assigned(ips(json!([])))?;
    world.add_is_undone(&["IPAM plugin `probe` returned no IP address (CNI error 107)"])?;
    Ok(())
}

/// Its result may be of any version, and the network's must have room for it.
#[test]
fn results_of_older_versions_are_converted() -> Result<()> {
    let old = json!({ "cniVersion": "0.2.0", "ip4": { "ip": "192.0.2.9/24", "gateway": "192.0.2.1",
        "routes": [{ "dst": "198.51.100.0/24" }] } });
    let world = assigned(json!({ "answer": old.to_string() }))?;
    let result = world.add()?;
    assert_eq!(
        result["ips"],
        json!([{ "address": "192.0.2.9/24", "gateway": "192.0.2.1", "interface": 2 }])
    );
    assert_eq!(result["routes"], json!([{ "dst": "198.51.100.0/24" }]));

    let several = ips(json!([{ "address": "192.0.2.7/24" }, { "address": "192.0.2.8/24" }]));
    let world = assigned(several.clone())?;
    let ipam = json!({ "type": PLUGIN, "probe": world.with_files(several) });
    let list = json!({ "cniVersion": "0.2.0", "name": NETWORK,
        "plugins": [{ "type": "bridge", "bridge": BRIDGE, "ipam": ipam }] });
    world.write("etc/cni/net.d/net.conflist", &list.to_string())?;
    world.add_is_undone(&["cniVersion 0.2.0 does not support more than 1 address per family"])?;
    Ok(())
}

#[test]
fn one_that_hangs_is_killed_with_what_it_has_started() -> Result<()> {
    let world = World::create()?;
    world.list(PLUGIN, json!({ "limits": { "time": "300ms" } }))?;
    world.assigning(json!({ "act": "hang" }))?;
    world.fails_saying(
        "add",
        &["it did not end within 300ms and was killed (CNI error 226)"],
    )?;
    assert!(Started::by_probe(&world)?.is_gone());
    assert_eq!(world.commands(), ["ADD", "DEL"]);
    assert_eq!(world.container.links()?, ["lo"]);
    Ok(())
}

/// Its time is part of the component's, and its DEL has a time of its own.
#[test]
fn the_time_of_the_component_is_its_time() -> Result<()> {
    let world = assigned(json!({ "act": "hang" }))?;
    let file = world.file("etc/weir/grants.d/bridge.yaml");
    let grant = fs::read_to_string(&file)?;
    fs::write(&file, grant.replace("time: 60s", "time: 500ms"))?;
    world.fails_saying(
        "add",
        &["plugin `bridge`", "500ms", "its last call was `ipam.run`"],
    )?;
    assert!(Started::by_probe(&world)?.is_gone());
    assert_eq!(world.commands(), ["ADD", "DEL"]);
    let answers: Vec<Value> = native_answers(&world);
    assert_contains(&answers[0].to_string(), &["it did not end within"]);
    assert_eq!(answers[1], "ok");
    Ok(())
}

fn native_answers(world: &World) -> Vec<Value> {
    let audit = world.node.audit().into_iter();
    let native = audit.filter(|record| record["operation"] == "native.execute");
    native.map(|record| record["answer"].clone()).collect()
}

/// A bridge that has another address: `bridge` finds out once it knows the gateway.
fn in_the_way(world: &World) -> Result<Value> {
    for words in [
        format!("link add {BRIDGE} type bridge"),
        format!("addr add 192.0.2.200/24 dev {BRIDGE}"),
    ] {
        world.node.ip(&words)?;
    }
    let mut bridge = json!({ "type": "bridge", "bridge": BRIDGE, "isGateway": true });
    bridge["ipam"] = json!({ "type": PLUGIN });
    Ok(bridge)
}

/// The program that has run is the one that gives back, whatever has taken its place.
#[test]
fn a_component_that_fails_later_gives_back_by_the_program_that_ran() -> Result<()> {
    let world = assigned(json!({}))?;
    let mut bridge = in_the_way(&world)?;
    let shown = world.native().join(PLUGIN);
    bridge["ipam"]["probe"] = world.with_files(json!({ "remove": shown }));
    world.network(json!([bridge]))?;
    world.fails_saying("add", &["plugin `bridge`: ", "(CNI error 110)"])?;
    assert!(!shown.exists(), "it did not remove itself");
    assert_eq!(world.commands(), ["ADD", "DEL"]);
    assert_eq!(native_answers(&world), ["ok", "ok"]);
    assert_eq!(world.container.links()?, ["lo"]);
    Ok(())
}

/// weir is killed while the program runs: the program ends with it, and the runtime's DEL calls it again.
#[test]
fn a_kill_of_weir_ends_it_and_del_calls_it() -> Result<()> {
    let world = assigned(json!({}))?;
    let mut config = world.called_bridge("1.1.0", json!({ "act": "hang" }));
    let call = |command: &str, config: &Value| world.call(command, &world.native(), config);
    let mut weir = world.node.inside(|| call("ADD", &config).start())?;
    let started = wait_for("the program", || Ok(Started::by_probe(&world).ok()))?;
    weir.kill()?;
    weir.wait()?;
    let file = fs::canonicalize(world.native().join(PLUGIN))?;
    wait_for("the end of the program", || {
        Ok((!runs(&file)?).then_some(()))
    })?;
    drop(started);
    config["ipam"]["probe"] = world.with_files(json!({}));
    assert!(world.node.run(&call("DEL", &config))?.succeeded());
    assert_eq!(world.commands(), ["ADD", "DEL"]);
    assert_eq!(world.container.links()?, ["lo"]);
    world.node.run(&call("ADD", &config))?.result();
    Ok(())
}

/// Whether a process was called by this name.
fn runs(file: &Path) -> Result<bool> {
    let name = file.to_str().context("a path")?.as_bytes();
    let processes = fs::read_dir("/proc")?.flatten();
    let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    Ok(lines.any(|line| line.split(|byte| *byte == 0).next() == Some(name)))
}

/// The error of the ADD is the component's.
#[test]
fn the_error_of_giving_back_is_recorded() -> Result<()> {
    let world = assigned(json!({}))?;
    let mut bridge = in_the_way(&world)?;
    let error = json!({ "code": 11, "msg": "the API is down" }).to_string();
    bridge["ipam"]["probe"] =
        world.with_files(json!({ "of": "DEL", "answer": error, "status": 1 }));
    world.network(json!([bridge]))?;
    let said = world.fails_saying("add", &["(CNI error 110)"])?;
    assert_lacks(&said, &["the API is down"]);
    assert_eq!(world.commands(), ["ADD", "DEL"]);
    assert_contains(&native_answers(&world)[1].to_string(), &["the API is down"]);
    assert_contains(&world.node.log()?, &["the API is down"]);
    Ok(())
}
