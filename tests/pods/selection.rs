//! What a pod asks for, key by key (section 4), down to the kernel.

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::{Container, assert_contains};

use crate::world::{DEFAULT, World, bridge, interfaces, list, names, selection};

fn mac(container: &Container, ifname: &str) -> Result<String> {
    let link = container.ip_json(&format!("link show {ifname}"))?;
    Ok(link[0]["address"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn npwg_4_1_1_comma_delimited_with_namespace_and_interface() -> Result<()> {
    let world = World::with_bridge("a", "10.42.0.0/24")?;
    let own = &world.namespace;
    let pod = world.attached("comma", &format!("a, {own}/a@data0"))?;
    assert_eq!(names(&pod.container)?, ["data0", "eth0", "net1"]);
    world.del(&pod)
}

#[test]
fn npwg_4_1_2_1_1_a_network_that_does_not_exist_fails_the_pod_before_anything_is_attached()
-> Result<()> {
    let world = World::create()?;
    let pod = world.pod("missing", "nowhere")?;
    let named = format!("`{}/nowhere`", world.namespace);
    world.refused(&pod, 232, &[&named])?;
    assert!(world.records().is_empty());
    Ok(())
}

#[test]
fn npwg_4_1_2_1_3_2_requested_ips_are_assigned() -> Result<()> {
    let world = World::create()?;
    let mut plugin = bridge("bips", "10.42.1.0/24");
    plugin["ipam"]["ranges"] =
        json!([[{ "subnet": "10.42.1.0/24" }], [{ "subnet": "fd42:1::/64" }]]);
    world.define("ips", &list("ips", &[plugin]))?;
    let pod = world.attached(
        "ips",
        &selection("ips", json!({ "ips": ["10.42.1.77", "fd42:1::77"] })),
    )?;
    let assigned = interfaces(&pod.container)?["net1"].clone();
    assert_eq!(assigned, ["10.42.1.77", "fd42:1::77"]);
    world.del(&pod)
}

#[test]
fn npwg_4_1_2_1_3_2_ips_that_were_not_assigned_fail_the_attachment() -> Result<()> {
    let world = World::create()?;
    // Without an IPAM plugin nobody assigns anything.
    let plugin = json!({ "type": "bridge", "bridge": "bdeaf" });
    world.define("deaf", &list("deaf", &[plugin]))?;
    let pod = world.pod("deaf", &selection("deaf", json!({ "ips": ["10.42.2.77"] })))?;
    world.refused(&pod, 234, &["10.42.2.77", "/deaf"])?;
    Ok(())
}

#[test]
fn npwg_4_1_2_1_4_2_a_requested_mac_is_assigned() -> Result<()> {
    let world = World::with_bridge("mac", "10.42.3.0/24")?;
    let pod = world.attached(
        "mac",
        &selection("mac", json!({ "mac": "02:23:45:67:89:01" })),
    )?;
    assert_eq!(mac(&pod.container, "net1")?, "02:23:45:67:89:01");
    world.del(&pod)
}

#[test]
fn npwg_4_1_2_1_4_2_a_mac_that_was_not_assigned_fails_the_attachment() -> Result<()> {
    let world = World::create()?;
    // ptp takes no hardware address.
    let plugin = json!({
        "type": "ptp",
        "ipam": { "type": "host-local", "ranges": [[{ "subnet": "10.42.4.0/24" }]] },
    });
    world.define("deaf", &list("deaf", &[plugin]))?;
    let pod = world.pod(
        "deafmac",
        &selection("deaf", json!({ "mac": "02:23:45:67:89:02" })),
    )?;
    world.refused(&pod, 234, &["02:23:45:67:89:02", "/deaf"])?;
    assert!(world.taken("deaf").is_empty());
    Ok(())
}

#[test]
fn npwg_4_1_2_1_3_an_invalid_value_has_the_selection_ignored_and_an_event_tells() -> Result<()> {
    let world = World::with_bridge("fine", "10.42.5.0/24")?;
    for (name, keys) in [
        ("bad-ips", json!({ "ips": [] })),
        ("bad-mac", json!({ "mac": "02:23" })),
        (
            "bad-interface",
            json!({ "interface": "much/too/long/for/a/name" }),
        ),
    ] {
        let pod = world.attached(name, &selection("fine", keys))?;
        assert_eq!(names(&pod.container)?, ["eth0"], "{name}");
        let event = world.event(&pod, "NetworkSelectionIgnored")?;
        assert_eq!(event["type"], "Warning");
        let message = event["message"].as_str().unwrap_or_default();
        assert_contains(message, &[name.trim_start_matches("bad-")]);
        world.del(&pod)?;
    }
    Ok(())
}

#[test]
fn npwg_4_1_a_selection_that_is_no_json_fails_the_pod() -> Result<()> {
    let world = World::create()?;
    let pod = world.pod("nojson", "[{\"name\": ")?;
    world.refused(&pod, 231, &[])?;
    Ok(())
}

#[test]
fn npwg_4_1_2_1_5_1_a_requested_interface_is_cni_ifname() -> Result<()> {
    let world = World::with_bridge("named", "10.42.6.0/24")?;
    let text = json!([
        { "name": "named", "interface": "net2" },
        { "name": "named" },
        { "name": "named", "interface": "store0" },
    ]);
    let pod = world.attached("named", &text.to_string())?;
    // The second one would be net2, which the first one asks for.
    assert_eq!(names(&pod.container)?, ["eth0", "net2", "net3", "store0"]);
    world.del(&pod)
}

#[test]
fn npwg_4_1_2_1_5_an_interface_that_is_taken_fails_the_attachment() -> Result<()> {
    let world = World::with_bridge("taken", "10.42.7.0/24")?;
    let pod = world.pod("taken", &selection("taken", json!({ "interface": "eth0" })))?;
    world.refused(&pod, 231, &["eth0", "default-net"])?;
    Ok(())
}

#[test]
fn cni_args_reach_the_plugin() -> Result<()> {
    let world = World::with_bridge("args", "10.42.8.0/24")?;
    let keys = json!({ "cni-args": { "ips": ["10.42.8.99"] } });
    let pod = world.attached("args", &selection("args", keys))?;
    assert_eq!(interfaces(&pod.container)?["net1"], ["10.42.8.99"]);
    world.del(&pod)
}

/// A pod that selects a network with these keys has `word` in what a tool prints, and not after its DEL.
fn stands_while_attached(
    world: &World,
    network: &str,
    keys: Value,
    [tool, words, word]: &[&str; 3],
) -> Result<()> {
    let pod = world.attached(network, &selection(network, keys))?;
    let printed = || world.node.tool(tool, words);
    assert_contains(&printed()?, &[word]);
    world.del(&pod)?;
    let after = printed()?;
    assert!(!after.contains(word), "{after}");
    Ok(())
}

#[test]
fn bandwidth_reaches_the_plugin_that_declares_it() -> Result<()> {
    let world = World::create()?;
    let shaper = json!({ "type": "bandwidth", "capabilities": { "bandwidth": true } });
    world.define(
        "slow",
        &list("slow", &[bridge("bslow", "10.42.9.0/24"), shaper]),
    )?;
    let keys = json!({ "bandwidth": {
        "ingressRate": 8_000_000, "ingressBurst": 800_000,
        "egressRate": 8_000_000, "egressBurst": 800_000,
    }});
    stands_while_attached(&world, "slow", keys, &["tc", "qdisc show", "tbf"])
}

#[test]
fn port_mappings_reach_the_plugin_that_declares_them() -> Result<()> {
    let world = World::create()?;
    let portmap =
        json!({ "type": "portmap", "capabilities": { "portMappings": true }, "snat": false });
    world.define(
        "ports",
        &list("ports", &[bridge("bports", "10.42.10.0/24"), portmap]),
    )?;
    let keys =
        json!({ "portMappings": [{ "hostPort": 18080, "containerPort": 80, "protocol": "tcp" }] });
    stands_while_attached(&world, "ports", keys, &["nft", "list ruleset", "18080"])
}

#[test]
fn the_default_network_of_a_pod_can_be_another() -> Result<()> {
    let world = World::with_bridge("instead", "10.42.11.0/24")?;
    let pod = world.pod_with("instead", &[(DEFAULT, "instead")])?;
    let result = world.add(&pod);
    let address = result["ips"][0]["address"].as_str().unwrap_or_default();
    assert!(address.starts_with("10.42.11."), "{result:#}");
    assert_eq!(names(&pod.container)?, ["eth0"]);
    let status = world.status(&pod)?;
    assert_eq!(status[0]["default"], true);
    assert_eq!(status[0]["name"], format!("{}/instead", world.namespace));
    world.del(&pod)?;
    assert!(world.taken("instead").is_empty());
    Ok(())
}
