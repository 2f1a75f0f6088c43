//! Networks over interfaces of the node: what `hostInterfaces` of weir's configuration lists.

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::{assert_contains, with_keys};

use crate::world::{World, interfaces, names};

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
    // The node's own uplink.
    for line in [
        "link add nic0 up type veth peer name nic1",
        "link set nic1 up",
        "address add 192.168.50.2/24 dev nic0",
        "route add default via 192.168.50.1",
    ] {
        world.node.ip(line)?;
    }
    world.define_as("lan", "lan", macvlan(json!({})))?;
    for device in ["lan0", "nic0"] {
        let moved = json!({ "type": "host-device", "device": device });
        world.define_as(&format!("moved-{device}"), "moved", moved)?;
    }
    world.define_as("whole", "whole", macvlan(json!({ "mode": "passthru" })))?;
    Ok(world)
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

    world.list_interfaces(&["lan*"])?;
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
    world.list_interfaces(&["lan0"])?;
    let pod = world.pod("whole", "whole")?;
    let said = world.run("ADD", &pod)?.said();
    assert_contains(&said, &["passthru", "attributes"]);
    Ok(())
}

/// `host-device` takes what is listed, and gives it back.
#[test]
fn a_definition_moves_the_interfaces_that_the_node_lists() -> Result<()> {
    let world = world()?;
    let pod = world.pod("mover", "moved-lan0")?;
    let line = r#"add `"hostInterfaces": ["lan0"]` to /etc/weir/weir.json"#;
    world.refused(&pod, 100, &["host-device", line])?;
    world.node.ip("link show lan0")?;

    world.list_interfaces(&["lan?"])?;
    world.add(&pod);
    assert_eq!(names(&pod.container)?, ["eth0", "net1"]);
    assert!(world.node.ip("link show lan0").is_err(), "it is in the pod");
    let second = world.pod("second", "moved-lan0")?;
    world.refused(&second, 101, &["no interface `lan0` on the host"])?;
    world.del(&pod)?;
    world.node.ip("link show lan0")?;
    // It is the list of each call that counts.
    world.list_interfaces(&["lan1"])?;
    world.refused(&second, 100, &[line])?;
    Ok(())
}

/// The uplink that carries the default route stays, whatever a glob matches, until the list has its very name. To be a
/// master does not take it from the node.
#[test]
fn the_interface_of_the_default_route_is_moved_only_by_its_name() -> Result<()> {
    let world = world()?;
    let pod = world.pod("uplink", "moved-nic0")?;
    for listed in [&["*"][..], &["nic*", "lan0"], &["nic[0-9]"]] {
        world.list_interfaces(listed)?;
        let line = r#"add `"hostInterfaces": ["nic0"]`"#;
        world.refused(&pod, 103, &["default route", line])?;
        let routes = world.node.ip("route show default")?;
        assert!(routes.contains("dev nic0"), "{routes}");
    }
    world.define_as("over", "over", macvlan(json!({ "master": "nic0" })))?;
    let over = world.attached("over", "over")?;
    world.del(&over)?;

    world.list_interfaces(&["*", "nic0"])?;
    world.add(&pod);
    assert!(world.node.ip("link show nic0").is_err(), "it is in the pod");
    world.del(&pod)?;
    world.node.ip("link show nic0").map(drop)
}
