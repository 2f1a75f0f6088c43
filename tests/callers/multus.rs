//! Calls that Multus 4.2.4 makes of weir's links for one pod, each with the environment and the standard input that it gives
//! its delegates: the cluster's default network, then `macvlan`, the list `macvlan`, `sbr`, `tuning`, and `host-device` twice, once
//! with a device that a device plugin has assigned.
//!
//! Recorded from its thin plugin, built from k8snetworkplumbingwg/multus-cni at v4.2.4 (705a59eaf96c86e1e977a2fe7b4f5cb19c96c4e6),
//! in `multus-4.2.4.jsonl`, a call in each line. `{root}`, `{netns}` and `{container}` stand for the node's root, the container's
//! namespace and its id.

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use weir_kit::{Outcome, weir};

use super::{World, own};

const RECORDED: &str = include_str!("multus-4.2.4.jsonl");

/// A call of a plugin.
#[derive(Deserialize)]
struct Call {
    plugin: String,
    environment: Map<String, Value>,
    input: Value,
}

impl Call {
    fn command(&self) -> &str {
        self.environment["CNI_COMMAND"].as_str().unwrap_or_default()
    }
}

/// The calls on a node, for its container.
fn recorded(world: &World) -> Result<Vec<Call>> {
    let mut text = RECORDED.to_owned();
    for (placeholder, value) in [
        ("{root}", world.node.root().display().to_string()),
        ("{netns}", world.container.netns().display().to_string()),
        ("{container}", world.container.id.clone()),
    ] {
        text = text.replace(placeholder, &value);
    }
    let calls = text.lines().map(serde_json::from_str);
    Ok(calls.collect::<Result<_, _>>()?)
}

/// The node on which they were recorded: two cards beside the one for macvlan, of which one is a PCI function.
fn node() -> Result<World> {
    let world = World::create()?.with_multus()?;
    for pair in [
        "eth1 up type veth peer name eth1-wire",
        "nic0 up address 02:00:00:00:00:01 type veth peer name nic1",
        "vf1 address 02:00:00:00:00:02 type veth peer name vf1-wire",
    ] {
        world.node.ip(&format!("link add {pair}"))?;
    }
    let mut default = own();
    default["name"] = json!("pods");
    default["plugins"][0]["ipam"]["routes"] = json!([{ "dst": "0.0.0.0/0" }]);
    world.configure("10-pods.conflist", &default)?;
    let listed = json!({ "hostInterfaces": ["eth1", "nic0", "vf1"] });
    world.node.write("etc/weir/weir.json", listed.to_string())?;
    world.node.put_device("pci", "0000:03:00.1", "vf1")?;
    Ok(world)
}

/// Makes a call, with nothing in its environment but what Multus gave it.
fn make(world: &World, call: &Call) -> Result<Outcome> {
    let (command, config) = (call.command(), &call.input);
    let mut made = weir(&world.node, &call.plugin, command, &world.container, config);
    for (name, value) in &call.environment {
        made.set(name, value.as_str().context("text")?);
    }
    world.node.run(&made)
}

/// The same, where the plugin must succeed.
fn succeed(world: &World, call: &Call) -> Result<()> {
    let outcome = make(world, call)?;
    let what = format!(
        "{} {} on {}",
        call.plugin,
        call.command(),
        call.input["name"]
    );
    assert!(outcome.succeeded(), "{what}: {outcome:?}");
    Ok(())
}

#[test]
fn a_pod_of_multus_has_its_networks_and_leaves_nothing() -> Result<()> {
    let world = node()?;
    let (adds, dels): (Vec<Call>, Vec<Call>) =
        (recorded(&world)?.into_iter()).partition(|call| call.command() == "ADD");
    assert_eq!((adds.len(), dels.len()), (8, 8));
    for add in &adds {
        succeed(&world, add)?;
    }
    let shown = world.container.ip("-4 -brief address show")?;
    for (interface, address) in [
        ("eth0", "10.61.0.2/24"),
        ("net1", "192.0.2.77/24"),
        ("net2", "192.0.2.2/24"),
        ("net3", "198.51.100.7/24"),
        ("net4", "203.0.113.7/24"),
    ] {
        let line = shown.lines().find(|line| line.starts_with(interface));
        assert!(line.is_some_and(|line| line.contains(address)), "{shown}");
    }
    let rules = world.container.ip("rule show")?;
    assert!(rules.contains("from 192.0.2.2 lookup 100"), "{rules}");
    let routes = world.container.ip("route show table 100")?;
    assert!(
        routes.contains("default via 192.0.2.1 dev net2"),
        "{routes}"
    );
    let tuned = world.container.ip_json("link show net2")?;
    assert_eq!(tuned[0]["mtu"], 1400);
    assert_eq!(world.node.taken("pods"), ["10.61.0.2"]);
    assert_eq!(world.node.taken("-/routed"), ["192.0.2.2"]);

    // In the reverse order, and the default network's without the keys that libcni does not know.
    for del in &dels {
        succeed(&world, del)?;
    }
    assert_eq!(world.container.links()?, ["lo"]);
    for (card, mac) in [("nic0", "02:00:00:00:00:01"), ("vf1", "02:00:00:00:00:02")] {
        let link = world.node.ip_json(&format!("link show {card}"))?;
        assert_eq!(
            (&link[0]["address"], &link[0]["mtu"]),
            (&json!(mac), &json!(1500))
        );
    }
    let rules = world.container.ip("rule show")?;
    assert!(!rules.contains("192.0.2.2"), "{rules}");
    for network in ["pods", "-/pods", "-/routed"] {
        assert!(world.node.taken(network).is_empty(), "{network}");
    }
    Ok(())
}

/// Multus tells nobody whose a network is. So weir judges each as a tenant's that no file of the node has, and a card that the
/// node does not list is not the pod's.
#[test]
fn a_definition_of_multus_has_no_card_that_is_not_listed() -> Result<()> {
    let world = node()?;
    let nothing = json!({ "hostInterfaces": [] }).to_string();
    world.node.write("etc/weir/weir.json", nothing)?;
    let adds = recorded(&world)?.into_iter();
    let over = |call: &Call| ["macvlan", "host-device"].contains(&call.plugin.as_str());
    for add in adds.filter(|call| call.command() == "ADD" && over(call)) {
        let outcome = make(&world, &add)?;
        outcome.told(
            100,
            &["tenants.link[0]: names", "add `\"hostInterfaces\": ["],
        );
    }
    assert_eq!(world.container.links()?, ["lo"]);
    Ok(())
}
