//! `macvlan`, `ipvlan` and `vlan`, over an interface of the host.

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::with_keys;

use super::{AttachedNode, strict};

/// A place whose host has the interface `eth1`.
fn fixture() -> Result<AttachedNode> {
    let fixture = AttachedNode::create()?;
    fixture.node.ip("link add eth1 type veth peer name wire1")?;
    Ok(fixture)
}

fn config(plugin: &str, keys: Value) -> Value {
    let config = json!({
        "cniVersion": "1.1.0", "name": "bad", "type": plugin, "master": "eth1",
        "ipam": { "type": "static", "addresses": [{ "address": "10.1.0.7/24" }] },
    });
    with_keys(config, keys)
}

#[test]
fn keys_of_all() -> Result<()> {
    let fixture = fixture()?;
    for plugin in ["macvlan", "ipvlan", "vlan"] {
        let with = |key: &str, value: Value| config(plugin, json!({ "vlanId": 7, key: value }));
        for (key, value, code, words) in [
            ("master", json!("a/b"), 7, ["master", "a/b"]),
            ("master", json!(7), 7, ["master", "7"]),
            (
                "master",
                json!("eth9"),
                101,
                ["no interface `eth9`", "on the host"],
            ),
            (
                "linkInContainer",
                json!(true),
                101,
                ["no interface `eth1`", "in the container"],
            ),
            (
                "linkInContainer",
                json!("yes"),
                7,
                ["linkInContainer", "yes"],
            ),
            ("mtu", json!(-1), 7, ["mtu", "-1"]),
        ] {
            fixture.refuses(&with(key, value), code, &words);
        }
        let unknown = with("masters", json!("eth1"));
        fixture.refuses(&strict(unknown), 7, &["masters", "did you mean `master`?"]);
    }
    Ok(())
}

#[test]
fn keys_of_macvlan() -> Result<()> {
    let fixture = fixture()?;
    for (keys, words) in [
        (json!({ "mode": "source" }), ["mode", "`passthru`"]),
        (json!({ "mtu": 1501 }), ["mtu", "the MTU of master `eth1`"]),
        (json!({ "bcqueuelen": "much" }), ["bcqueuelen", "much"]),
        (json!({ "mac": "01:00:00:00:00:01" }), ["mac", "unicast"]),
        (
            json!({ "runtimeConfig": { "mac": "x" } }),
            ["runtimeConfig.mac", "x"],
        ),
    ] {
        fixture.refuses(&config("macvlan", keys), 7, &words);
    }
    let nobodys = config("macvlan", json!({ "master": "" }));
    fixture.refuses(&nobodys, 101, &["no default route", "master"]);
    Ok(())
}

#[test]
fn keys_of_ipvlan() -> Result<()> {
    let fixture = fixture()?;
    let mode = config("ipvlan", json!({ "mode": "l4" }));
    fixture.refuses(&mode, 7, &["mode", "`l3s`"]);
    let mtu = config("ipvlan", json!({ "mtu": 1501 }));
    fixture.refuses(&mtu, 7, &["mtu", "the MTU of master `eth1`"]);
    let without = config("ipvlan", json!({ "ipam": {} }));
    fixture.refuses(&without, 7, &["ipam", "type"]);
    let several =
        json!({ "cniVersion": "1.1.0", "interfaces": [{ "name": "a" }, { "name": "b" }] });
    let chained = config("ipvlan", json!({ "master": "", "prevResult": several }));
    fixture.refuses(&chained, 7, &["master", "2 interfaces"]);
    Ok(())
}

#[test]
fn keys_of_vlan() -> Result<()> {
    let fixture = fixture()?;
    for id in [json!(0), json!(4095), json!(-1), json!(65_543)] {
        let words = ["vlanId: expected 1 to 4094", &id.to_string()];
        fixture.refuses(&config("vlan", json!({ "vlanId": id })), 7, &words);
    }
    fixture.refuses(&config("vlan", json!({})), 7, &["vlanId"]);
    let with = |key: &str, value: Value| config("vlan", json!({ "vlanId": 7, key: value }));
    fixture.refuses(&with("master", json!("")), 7, &["master: missing"]);
    fixture.refuses(&with("ipam", json!({})), 7, &["ipam", "type"]);
    let call = with("mtu", json!(0));
    fixture.refuses(&call, 11, &["master", "`eth1` is down"]);
    Ok(())
}
