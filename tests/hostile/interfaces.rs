//! What a tenant's definition reaches of the interfaces that belong to the node: the uplink `nic0`, over which its default
//! route leads, and a second one, `lan0`.

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{State, assert_contains, with_keys};

use super::links::puppet;
use super::tenants::Cluster;

/// The plugins that make an interface over another.
const PLUGINS: [&str; 3] = ["macvlan", "ipvlan", "vlan"];

fn cluster(listed: &[&str]) -> Result<Cluster> {
    let cluster = Cluster::create()?;
    cluster.node.tools(
        "ip",
        &[
            "link add lan0 type veth peer name lan1",
            "link set lan0 up",
            "link set lan1 up",
        ],
    )?;
    list(&cluster, listed)?;
    Ok(cluster)
}

/// Writes weir's configuration; without interfaces there is none.
fn list(cluster: &Cluster, listed: &[&str]) -> Result<()> {
    if listed.is_empty() {
        return Ok(());
    }
    let file = cluster.node.root().join("etc/weir/weir.json");
    fs::create_dir_all(file.parent().context("a directory")?)?;
    let settings = json!({ "hostInterfaces": listed });
    Ok(fs::write(file, settings.to_string())?)
}

/// Over a master, with addresses, and more keys.
fn over(plugin: &str, master: &str, keys: Value) -> Value {
    let addresses = json!([{ "address": "198.51.100.7/24" }]);
    let mut config = json!({
        "type": plugin, "master": master, "ipam": { "type": "static", "addresses": addresses },
    });
    if plugin == "vlan" {
        config["vlanId"] = json!(7);
    }
    with_keys(config, keys)
}

/// Property: without a list no interface of the node is a tenant's, and the error names the line that would list it.
#[test]
fn no_interface_of_the_node_is_a_master_by_default() -> Result<()> {
    let cluster = cluster(&[])?;
    for plugin in PLUGINS {
        for master in ["nic0", "lan0", "cni0", "lo", "missing0"] {
            // As JSON has it.
            let line =
                format!(r#"add `\"hostInterfaces\": [\"{master}\"]` to /etc/weir/weir.json"#);
            let words = ["tenants.link[0]: names", line.as_str()];
            cluster.refuses(&over(plugin, master, json!({})), None, &words);
        }
    }
    Ok(())
}

/// Property: leaving the master out does not reach further: the default route's is not listed either.
#[test]
fn the_uplink_is_not_a_master_because_nobody_names_it() -> Result<()> {
    let cluster = cluster(&["lan*"])?;
    let before = State::of(&cluster.node)?;
    for plugin in ["macvlan", "ipvlan"] {
        let error = cluster.add(&over(plugin, "", json!({})), None)?.error();
        let text = error["msg"].as_str().unwrap_or_default();
        assert_contains(text, &["cannot use the interface of the default route"]);
        // The error does not even contain its name.
        assert!(!error.to_string().contains("nic0"), "{error:#}");
    }
    State::of(&cluster.node)?.assert_same(&before);
    Ok(())
}

/// Property: a list is for what it names. The same definition works over a listed interface, and over no other.
#[test]
fn a_listed_interface_is_a_master_and_no_other_is() -> Result<()> {
    let cluster = cluster(&["lan*"])?;
    cluster.refuses(
        &over("macvlan", "nic0", json!({})),
        None,
        &[
            "tenants.link[0]: names",
            r#"\"hostInterfaces\": [\"nic0\"]"#,
        ],
    );
    let result = cluster
        .add(&over("macvlan", "lan0", json!({})), None)?
        .result();
    assert_eq!(result["interfaces"][0]["name"], "eth0", "{result:#}");
    Ok(())
}

/// Property: what is listed to be shared stays the node's: a tenant does not take it whole, and has no MAC of its choice
/// there, which could be the gateway's.
#[test]
fn a_listed_uplink_is_not_taken_from_the_node() -> Result<()> {
    let cluster = cluster(&["nic0"])?;
    let words = ["nic0", "attributes"];
    for keys in [
        json!({ "mode": "passthru" }),
        json!({ "mac": "02:00:00:00:00:01" }),
        json!({ "runtimeConfig": { "mac": "02:00:00:00:00:01" } }),
        json!({ "args": { "cni": { "mac": "02:00:00:00:00:01" } } }),
    ] {
        cluster.refuses(&over("macvlan", "nic0", keys), None, &words);
    }
    let error = cluster
        .add(&over("macvlan", "nic0", json!({ "mtu": 9000 })), None)?
        .error();
    assert_eq!(error["code"], 7, "{error:#}");
    Ok(())
}

/// Property: `linkInContainer` reaches the tenant's own container, not the host or another one.
#[test]
fn a_master_in_the_container_is_the_tenants_own() -> Result<()> {
    let cluster = cluster(&[])?;
    // The pod of the node's own network has `eth0`; this container has none yet.
    for master in ["eth0", "nic0"] {
        let inside = over("macvlan", master, json!({ "linkInContainer": true }));
        let error = cluster.add(&inside, None)?.error();
        assert_eq!(error["code"], 101, "{error:#}");
    }
    cluster
        .container
        .ip("link add net1 type veth peer name net2")?;
    let inside = over("macvlan", "net1", json!({ "linkInContainer": true }));
    cluster.add(&inside, None)?.result();
    Ok(())
}

/// Property: a list that cannot be read gives nothing, and is not passed over; nor is one that someone else could have
/// written.
#[test]
fn a_list_that_is_not_valid_gives_nothing() -> Result<()> {
    let cluster = cluster(&["lan0"])?;
    let file = cluster.node.root().join("etc/weir/weir.json");
    let before = State::of(&cluster.node)?;
    for text in [
        r#"{ "hostInterfaces": "lan0" }"#,
        r#"{ "hostInterfaces": ["lan["] }"#,
        "[",
    ] {
        fs::write(&file, text)?;
        let error = cluster
            .add(&over("macvlan", "lan0", json!({})), None)?
            .error();
        assert_eq!(error["code"], 227, "{error:#}");
        assert_contains(&error.to_string(), &["weir.json"]);
    }
    State::of(&cluster.node)?.assert_same(&before);
    Ok(())
}

/// Property: a plugin that may make links over an interface neither takes it whole nor chooses MACs there.
#[test]
fn a_plugin_over_a_card_has_neither_its_frames_nor_its_macs() -> Result<()> {
    let puppet = puppet(
        r#"{ link: [ { namespace: host, names: [nic0], attributes: [ports], verbs: [read, update] },
                     { namespace: container } ] }"#,
    )?;
    let order = |keys: Value| {
        let order = json!({ "do": "link.create", "kind": "macvlan", "inside": true, "name": "own0", "other": "nic0" });
        with_keys(order, keys)
    };
    puppet.assert_denied(vec![
        order(json!({ "value": "passthru" })),
        order(json!({ "mac": true })),
    ])?;
    puppet.assert_each(vec![order(json!({}))], "ok").map(drop)
}
