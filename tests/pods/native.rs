//! Native plugins of a pod's networks whose ADD fails: each gets its DEL, then and with the pod's.

use std::fs;

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::probe::{BIN_DIR, PROBE};
use weir_kit::{Outcome, Probe, assert_contains};

use crate::world::{Pod, World, bridge, interfaces, list, names};

/// A cluster whose node has the probe, listed for these networks.
fn listed(networks: &[&str]) -> Result<(World, Probe)> {
    let world = World::create()?;
    let probe = Probe::on(&world.node)?;
    let of_cluster: Vec<String> = networks
        .iter()
        .map(|n| format!("{}/{n}", world.namespace))
        .collect();
    let mut all: Vec<&str> = of_cluster.iter().map(String::as_str).collect();
    all.push("default-net");
    probe.list(&world.node, &all)?;
    Ok((world, probe))
}

fn run(world: &World, command: &str, pod: &Pod) -> Result<Outcome> {
    world.run_with(
        command,
        pod,
        &world.config_with(json!({ "binDir": BIN_DIR })),
    )
}

/// The attachments in the only record: network, interface and how many plugins.
fn recorded(world: &World) -> Result<Vec<(String, String, usize)>> {
    let records = world.records();
    assert_eq!(records.len(), 1, "{records:?}");
    let record: Value = serde_json::from_slice(&fs::read(&records[0])?)?;
    let attachments = record["attachments"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(attachments
        .map(|one| {
            let plugins = one["config"]["plugins"].as_array().map_or(0, Vec::len);
            (text(&one["network"]), text(&one["ifname"]), plugins)
        })
        .collect())
}

/// DEL succeeds, and nothing of the pod is recorded any more.
fn is_deleted(world: &World, pod: &Pod) -> Result<()> {
    let deleted = run(world, "DEL", pod)?;
    assert!(deleted.succeeded(), "{deleted:?}");
    assert!(world.records().is_empty());
    Ok(())
}

/// After a failed ADD, whose native plugin has had its DEL: so many plugins of a network are recorded, and the pod's DEL runs the
/// plugin's again.
fn is_deleted_again(
    world: &World,
    probe: &Probe,
    pod: &Pod,
    network: &str,
    plugins: usize,
) -> Result<()> {
    assert_eq!(probe.calls(), ["ADD net1", "DEL net1"]);
    let network = format!("{}/{network}", world.namespace);
    assert_eq!(recorded(world)?, [(network, "net1".to_owned(), plugins)]);
    is_deleted(world, pod)?;
    assert_eq!(probe.calls(), ["ADD net1", "DEL net1", "DEL net1"]);
    Ok(())
}

#[test]
fn cni_3_a_native_plugin_whose_add_fails_is_deleted_then_and_with_the_pod() -> Result<()> {
    let (world, probe) = listed(&["fails"])?;
    world.define_bridge("before", "10.61.1.0/24")?;
    world.define("fails", &list("fails", &[probe.failing()]))?;
    let pod = world.pod("half", "before,fails")?;
    let error = run(&world, "ADD", &pod)?.error();
    let network = format!("{}/fails", world.namespace);
    assert!(error["msg"].to_string().contains(&network), "{error:#}");
    assert_eq!(probe.calls(), ["ADD net2", "DEL net2"]);
    assert!(interfaces(&pod.container)?.is_empty());
    assert_eq!(recorded(&world)?, [(network, "net2".to_owned(), 1)]);

    let deleted = run(&world, "DEL", &pod)?;
    assert!(deleted.succeeded(), "{deleted:?}");
    assert_eq!(probe.calls(), ["ADD net2", "DEL net2", "DEL net2"]);
    assert!(world.records().is_empty());
    let deleted = run(&world, "DEL", &pod)?;
    assert!(deleted.succeeded(), "{deleted:?}");
    assert_eq!(probe.calls().len(), 3, "nothing is owed any more");
    Ok(())
}

#[test]
fn cni_3_the_default_networks_native_plugin_is_deleted_then_and_with_the_pod() -> Result<()> {
    let (world, probe) = listed(&[])?;
    let default = list("default-net", &[probe.failing()]);
    let config = world.config_with(json!({ "binDir": BIN_DIR, "delegates": [default] }));
    let pod = world.pod_with("none", &[])?;
    world.run_with("ADD", &pod, &config)?.error();
    assert_eq!(probe.calls(), ["ADD eth0", "DEL eth0"]);
    world.del_with(&pod, &config)?;
    assert_eq!(probe.calls(), ["ADD eth0", "DEL eth0", "DEL eth0"]);
    assert!(world.records().is_empty());
    Ok(())
}

/// Those before it are deleted after it. Those after it have not run: a DEL of theirs, which nothing lets run, would
/// keep the pod from being deleted.
#[test]
fn of_a_list_what_was_called_is_deleted_and_nothing_else() -> Result<()> {
    let (world, probe) = listed(&["mixed"])?;
    let plugins = [
        bridge("bmixed", "10.61.2.0/24"),
        probe.failing(),
        json!({ "type": "nowhere" }),
    ];
    world.define("mixed", &list("mixed", &plugins))?;
    let pod = world.pod("mixed", "mixed")?;
    run(&world, "ADD", &pod)?.error();
    assert!(names(&pod.container)?.is_empty());
    assert!(world.taken("mixed").is_empty());
    is_deleted_again(&world, &probe, &pod, "mixed", 2)
}

/// A native plugin that succeeded has had its DEL when a network after it fails: nothing is left to record.
#[test]
fn a_native_plugin_before_the_failure_is_deleted_once() -> Result<()> {
    let (world, probe) = listed(&["good"])?;
    world.define("good", &list("good", &[probe.plugin(json!({}))]))?;
    world.define("bad", &list("bad", &[json!({ "type": "nowhere" })]))?;
    let pod = world.pod("after", "good,bad")?;
    run(&world, "ADD", &pod)?.error();
    assert_eq!(probe.calls(), ["ADD net1", "DEL net1"]);
    assert!(world.records().is_empty());
    let deleted = run(&world, "DEL", &pod)?;
    assert!(deleted.succeeded(), "{deleted:?}");
    assert_eq!(probe.calls(), ["ADD net1", "DEL net1"]);
    Ok(())
}

/// One that is not listed has not run: the pod can be deleted although nothing lists it.
#[test]
fn a_native_plugin_that_is_not_listed_keeps_no_pod() -> Result<()> {
    let (world, probe) = listed(&[])?;
    world.define("unlisted", &list("unlisted", &[probe.failing()]))?;
    let pod = world.pod("unlisted", "unlisted")?;
    assert_contains(&run(&world, "ADD", &pod)?.message(), &["not listed"]);
    assert!(world.records().is_empty());
    is_deleted(&world, &pod)?;
    assert!(probe.calls().is_empty());
    Ok(())
}

/// Its DEL fails, too: the pod stays known until one succeeds.
#[test]
fn a_delete_that_fails_is_repeated_with_each_of_the_pods() -> Result<()> {
    let (world, probe) = listed(&["broken"])?;
    let error = json!({ "code": 100, "msg": "always broken" }).to_string();
    let broken = probe.plugin(json!({ "answer": error, "status": 1, "of": "all" }));
    world.define("broken", &list("broken", &[broken]))?;
    let pod = world.pod("broken", "broken")?;
    let error = run(&world, "ADD", &pod)?.error();
    assert!(
        error["details"]
            .to_string()
            .contains("and then DEL: always broken"),
        "{error:#}"
    );
    for deletes in [2, 3] {
        assert_contains(&run(&world, "DEL", &pod)?.message(), &["always broken"]);
        let calls = probe.calls();
        assert_eq!(
            calls.iter().filter(|call| *call == "DEL net1").count(),
            deletes
        );
        assert_eq!(world.records().len(), 1);
    }
    Ok(())
}

/// A component's IPAM plugin: what its failed ADD has reserved, only it knows.
#[test]
fn cni_4_2_a_native_ipam_plugin_whose_add_fails_is_deleted_then_and_with_the_pod() -> Result<()> {
    let (world, probe) = listed(&["fails"])?;
    let plugin = bridge_with("bfails", probe.failing());
    world.node.let_run_ipam("bridge", PROBE)?;
    world.define("fails", &list("fails", &[plugin]))?;
    let pod = world.pod("half", "fails")?;
    let message = run(&world, "ADD", &pod)?.message();
    let expected = format!(
        "network `{}/fails`: plugin `bridge`: native plugin `probe`: the probe fails",
        world.namespace
    );
    assert_contains(&message, &[&expected]);
    is_deleted_again(&world, &probe, &pod, "fails", 1)
}

/// The component fails later, and the IPAM plugin cannot give back: the pod stays known until it can.
#[test]
fn an_address_that_cannot_be_given_back_is_tried_again_with_the_pod() -> Result<()> {
    let (world, probe) = listed(&[])?;
    world.node.let_run_ipam("bridge", PROBE)?;
    for words in [
        "link add bway type bridge",
        "addr add 192.0.2.200/24 dev bway",
    ] {
        world.node.ip(words)?;
    }
    let error = json!({ "code": 11, "msg": "the API is down" }).to_string();
    let config = |probe: Value| {
        let mut plugin = bridge_with("bway", probe);
        plugin["isGateway"] = json!(true);
        let default = list("default-net", &[plugin]);
        world.config_with(json!({ "binDir": BIN_DIR, "delegates": [default] }))
    };
    let down = config(probe.plugin(json!({ "of": "DEL", "answer": error, "status": 1 })));
    let pod = world.pod_with("stuck", &[])?;
    world
        .run_with("ADD", &pod, &down)?
        .refused(110, &["`bway`"]);
    assert_eq!(probe.calls(), ["ADD eth0", "DEL eth0"]);
    let network = "default-net".to_owned();
    assert_eq!(recorded(&world)?, [(network, "eth0".to_owned(), 1)]);
    // By the record, in which the API is still down.
    world
        .run_with("DEL", &pod, &down)?
        .told(11, &["the API is down"]);
    assert_eq!(world.records().len(), 1);
    Ok(())
}

/// Property: whatever a tenant calls a network, only what is listed for the tenant's assigns addresses there.
#[test]
fn a_native_ipam_plugin_is_not_listed_for_who_calls_a_network_so() -> Result<()> {
    let (world, probe) = listed(&["other"])?;
    world.node.let_run_ipam("bridge", PROBE)?;
    let plugin = bridge_with("bforged", probe.plugin(json!({})));
    world.define("forged", &list("default-net", &[plugin]))?;
    let pod = world.pod("forged", "forged")?;
    let expected = format!(
        "plugin `bridge`: ipam.type: native plugin `probe` is not listed for the network `{}/forged`",
        world.namespace
    );
    run(&world, "ADD", &pod)?.told(223, &[&expected]);
    assert!(probe.calls().is_empty(), "it ran");
    assert!(world.records().is_empty());
    is_deleted(&world, &pod)
}

/// The configuration of a bridge with another IPAM plugin.
fn bridge_with(name: &str, ipam: Value) -> Value {
    let mut plugin = bridge(name, "192.0.2.0/24");
    plugin["ipam"] = ipam;
    plugin
}
