//! Networks over interfaces of the node: what `hostInterfaces` of weir's configuration lists.

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{assert_contains, with_keys};

use crate::world::{World, interfaces};

/// `macvlan` over the node's `lan0`.
fn macvlan(keys: Value) -> Value {
    let config = json!({
        "type": "macvlan", "master": "lan0",
        "ipam": { "type": "host-local", "subnet": "10.44.0.0/24" },
    });
    with_keys(config, keys)
}

fn world() -> Result<World> {
    let world = World::create()?;
    world.node.ip("link add lan0 type veth peer name lan1")?;
    world.node.ip("link set lan0 up")?;
    world.define_as("lan", "lan", macvlan(json!({})))?;
    world.define_as("whole", "whole", macvlan(json!({ "mode": "passthru" })))?;
    Ok(world)
}

fn list(world: &World, names: &[&str]) -> Result<()> {
    let file = world.node.root().join("etc/weir/weir.json");
    fs::create_dir_all(file.parent().context("a directory")?)?;
    let settings = json!({ "hostInterfaces": names });
    Ok(fs::write(file, settings.to_string())?)
}

/// The owner of the node lists the interface; until then the pod's error names the line, and nothing is left.
#[test]
fn a_definition_reaches_the_interfaces_that_the_node_lists() -> Result<()> {
    let world = world()?;
    let pod = world.pod("first", "lan")?;
    let said = world.run("ADD", &pod)?.said();
    assert_contains(
        &said,
        &["macvlan", "lan0", "hostInterfaces", "/etc/weir/weir.json"],
    );
    world.no_lease_stays("lan");

    list(&world, &["lan*"])?;
    let pod = world.attached("second", "lan")?;
    let addresses = interfaces(&pod.container)?.remove("net1");
    assert_eq!(addresses.unwrap_or_default(), ["10.44.0.2"]);
    let status = world.status(&pod)?;
    assert_eq!(status[1]["interface"], "net1", "{status:#?}");
    world.del(&pod)?;
    world.no_lease_stays("lan");
    Ok(())
}

/// What is listed is shared: no pod takes it whole.
#[test]
fn a_definition_does_not_take_an_interface_whole() -> Result<()> {
    let world = world()?;
    list(&world, &["lan0"])?;
    let pod = world.pod("whole", "whole")?;
    let said = world.run("ADD", &pod)?.said();
    assert_contains(&said, &["passthru", "attributes"]);
    Ok(())
}
