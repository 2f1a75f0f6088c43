//! Configurations of `ipvlan`. The reference is older than `linkInContainer`, and changes the mode of others.

use anyhow::Result;
use serde_json::{Value, json};

use crate::case::{Case, in_machine_cases};
use crate::side::{Side, Whose};
use crate::subnets::{ipv4, with_default_routes};

fn over_default_route(keys: Value) -> Case {
    super::over_default_route("ipvlan", keys)
}

fn ipvlan(keys: Value, ipam: Value) -> Case {
    super::addressed("ipvlan", keys, ipam)
}

/// The result of a plugin before, with these interfaces of the host and this address.
fn after(interfaces: &[&str], address: &str) -> Value {
    let interfaces = interfaces.iter().map(|name| json!({"name": name}));
    json!({
        "cniVersion": "1.0.0",
        "interfaces": interfaces.collect::<Vec<_>>(),
        "ips": [{"address": address, "gateway": "10.9.0.1"}],
        "routes": [{"dst": "0.0.0.0/0"}],
    })
}

in_machine_cases! {
    dual_stack_with_default_routes: ipvlan(json!({"mode": "l2"}), with_default_routes()).deleted_twice();
    l3: ipvlan(json!({"mode": "l3"}), ipv4());
    l3s: ipvlan(json!({"mode": "l3s"}), ipv4());
    an_unknown_mode: ipvlan(json!({"mode": "l4"}), ipv4()).fails();
    a_small_mtu: ipvlan(json!({"mtu": 1400}), ipv4());
    no_such_master: ipvlan(json!({}), ipv4()).with("master", json!("eth9")).fails();
    a_master_that_is_a_bridge_port:
        ipvlan(json!({}), ipv4())
            .host("link add name br0 type bridge")
            .host("link set eth1 master br0")
            .fails();
    the_master_of_the_default_route:
        over_default_route(json!({"ipam": {"type": "host-local", "subnet": "10.1.0.0/24"}}))
            .host("address add 192.0.2.1/24 dev eth2")
            .host("route add default via 192.0.2.2 dev eth2");
    the_master_and_the_addresses_of_the_plugin_before:
        over_default_route(json!({"prevResult": after(&["eth2"], "10.9.0.7/24")}))
            .of_second("prevResult", after(&["eth2"], "10.9.0.8/24"));
    several_interfaces_of_the_plugin_before:
        over_default_route(json!({"prevResult": after(&["eth1", "eth2"], "10.9.0.7/24")})).fails();
    without_ipam: super::over_eth1("ipvlan", json!({})).fails();
    addresses_of_static: super::over_eth1("ipvlan", json!({"ipam": super::of_static("10.1.0.7/24")}))
        .of_second("ipam", super::of_static("10.1.0.8/24"));
    the_master_of_an_ipv6_default_route:
        over_default_route(json!({"ipam": {"type": "host-local", "subnet": "10.1.0.0/24"}}))
            .host("address add 2001:db8::1/64 dev eth2 nodad")
            .host("route add default via 2001:db8::2 dev eth2");
    dns_of_its_own: ipvlan(json!({"dns": {"nameservers": ["10.1.0.1"]}}), ipv4());
    an_interface_of_that_name_exists:
        ipvlan(json!({}), ipv4())
            .in_containers("link add net1 type dummy")
            .in_containers("link add eth0 link net1 type ipvlan")
            .fails();
}

super::common_cases!(in_machine_cases, ipvlan, json!({}));

#[test]
#[ignore = "needs a kernel with ipvlan: `machine` runs it"]
fn a_master_in_the_container() -> Result<()> {
    let link = super::in_container("ipvlan", json!({"mode": "l3"}))?;
    assert_eq!(link["link"], "net1", "{link:#}");
    assert_eq!(link["linkinfo"]["info_data"]["mode"], "l3", "{link:#}");
    Ok(())
}

/// A device has one mode, which a new interface must not change: not over it, and not over one of its own.
#[test]
#[ignore = "needs a kernel with ipvlan: `machine` runs it"]
fn a_mode_that_would_change_that_of_others_is_refused() -> Result<()> {
    let side = Side::create(Whose::Weir, 3)?;
    side.node.ip("link add eth1 type dummy")?;
    side.node.ip("link set eth1 up")?;
    let config = |mode: &str| {
        json!({
            "cniVersion": "1.1.0", "name": "net", "type": "ipvlan", "master": "eth1", "mode": mode,
            "ipam": {"type": "host-local", "subnet": "10.1.0.0/24"},
        })
    };
    let mode = || -> Result<Value> {
        let link = side.containers[0].ip_json("-d link show dev eth0")?;
        Ok(link[0]["linkinfo"]["info_data"]["mode"].clone())
    };
    side.call("ADD", 0, &config("l2"), None)?.result();
    side.call("ADD", 1, &config("l2"), None)?.result();
    let error = side.call("ADD", 2, &config("l3"), None)?.error();
    assert_eq!(error["code"], 11, "{error:#}");
    let text = error["msg"].as_str().unwrap_or_default();
    assert!(text.contains("has ipvlan links in mode l2"), "{error:#}");
    let mut inside = config("l3");
    (inside["master"], inside["linkInContainer"]) = (json!("eth0"), json!(true));
    let error = side.call("ADD", 0, &inside, None)?.error();
    assert_eq!(error["code"], 11, "{error:#}");
    assert_eq!(mode()?, "l2");
    // With the last of them goes the mode.
    for container in [0, 1] {
        side.call("DEL", container, &config("l2"), None)?.result();
    }
    side.call("ADD", 2, &config("l3"), None)?.result();
    Ok(())
}
