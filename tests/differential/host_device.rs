//! `host-device` with an end of a pair as the device, since this machine has no card to spare.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::case::{Case, cases};
use crate::side::{Side, Whose, with_previous};
use crate::subnets::{self, dual_stack, ipv4};

/// A device for each of the two containers.
fn devices(keys: Value) -> Case {
    Case::new(json!({"type": "host-device"}))
        .with("device", json!("nic0"))
        .of_second("device", json!("nic2"))
        .more(keys)
        .host("link add name nic0 address 02:00:00:00:00:01 type veth peer name nic1")
        .host("link add name nic2 address 02:00:00:00:00:03 type veth peer name nic3")
        .host("link set nic1 up")
        .host("link set nic3 up")
}

fn host_local(ipam: Value) -> Case {
    devices(json!({"ipam": ipam})).with_ipam("type", json!("host-local"))
}

cases! {
    a_device_alone: devices(json!({}));
    a_device_that_is_up: devices(json!({})).host("link set nic0 up");
    a_device_with_addresses: devices(json!({}))
        .host("link set nic0 up").host("address add 10.9.0.1/24 dev nic0");
    another_mtu: devices(json!({})).host("link set nic0 mtu 1400");
    by_mac: devices(json!({"device": "", "hwaddr": "02:00:00:00:00:01"}))
        .of_second("hwaddr", json!("02:00:00:00:00:03")).of_second("device", json!(""));
    ipv4_alone: host_local(ipv4());
    ipv4_with_routes: host_local(json!({
        "subnet": "10.1.0.0/24",
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "192.0.2.0/24", "gw": "10.1.0.9"}],
    }));
    dual_stack_addresses: host_local(dual_stack());
    ipv6_alone: host_local(subnets::ipv6());
    fixed_addresses: devices(json!({"ipam": {
        "type": "static", "addresses": [{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}],
    }}));
    ipv6_is_off_in_the_containers: host_local(dual_stack()).without_ipv6();
    dns_of_its_own: host_local(ipv4()).with("dns", json!({"nameservers": ["10.1.0.1"]}));
    version_0_4_0: host_local(ipv4()).with("cniVersion", json!("0.4.0"));
    version_0_3_1: host_local(ipv4()).with("cniVersion", json!("0.3.1"));
    version_0_2_0: host_local(ipv4()).with("cniVersion", json!("0.2.0"));
    no_key: Case::new(json!({"type": "host-device"})).fails();
    no_such_device: Case::new(json!({"type": "host-device", "device": "nic9"})).fails();
    no_such_pci_address:
        Case::new(json!({"type": "host-device", "pciBusID": "0000:7f:1f.7"})).fails();
    a_path_elsewhere: Case::new(json!({"type": "host-device", "kernelpath": "/sys/class/net"})).fails();
}

/// Gives the host the device `nic0`, with these words of `ip link add`.
fn add_device(side: &Side, words: &str) -> Result<()> {
    let add = format!("link add name nic0 {words} type veth peer name nic1");
    side.node.ip(&add).map(drop)
}

/// The configuration for it.
fn device(version: &str) -> Value {
    json!({"cniVersion": version, "name": "net", "type": "host-device", "device": "nic0"})
}

/// What one side has moved in, the other one moves back.
#[test]
fn del_of_what_the_other_side_made() -> Result<()> {
    for (from, to) in Whose::EACH_WAY {
        let side = Side::create(from, 1)?;
        add_device(&side, "")?;
        let config = device("1.0.0");
        let result = side.call("ADD", 0, &config, None)?.result();
        ensure!(
            side.node.ip("link show nic0").is_err(),
            "it is in the container"
        );
        let config = with_previous(&config, Some(&result));
        let deleted = side.call_of(to, "DEL", 0, &config, None)?;
        ensure!(deleted.succeeded(), "{from:?} to {to:?}: {deleted:?}");
        side.node.ip("link show nic0")?;
    }
    Ok(())
}

/// The reference has lost the device then: its namespace for renaming is gone.
#[test]
fn a_name_that_the_container_has_is_refused() -> Result<()> {
    let side = Side::create(Whose::Weir, 1)?;
    add_device(&side, "")?;
    side.node.ip("link set nic0 up")?;
    side.containers[0].ip("link add name eth0 type veth peer name other0")?;
    let config = device("1.0.0");
    let added = side.call("ADD", 0, &config, None)?;
    assert_eq!(added.code(), 102, "{added:?}");
    let deleted = side.call("DEL", 0, &config, None)?;
    ensure!(deleted.succeeded(), "{deleted:?}");
    let link = side.node.ip_json("link show nic0")?;
    assert!(link[0]["flags"].to_string().contains("\"UP\""), "{link}");
    side.containers[0].ip("link show eth0").map(drop)
}

/// The reference sets neither back.
#[test]
fn the_mtu_and_the_alias_are_as_before() -> Result<()> {
    let side = Side::create(Whose::Weir, 1)?;
    add_device(&side, "mtu 1400")?;
    let alias = "uplink of rack 7";
    side.node.inside(|| set_alias("nic0", alias))?;
    let config = device("1.1.0");
    side.call("ADD", 0, &config, None)?.result();
    let container = &side.containers[0];
    container.ip("link set eth0 down")?;
    container.ip("link set eth0 mtu 1300 name data0")?;
    container.ip("address add 10.9.0.1/24 dev data0")?;
    let deleted = side.call("DEL", 0, &config, None)?;
    ensure!(deleted.succeeded(), "{deleted:?}");
    let link = side.node.ip_json("address show dev nic0")?;
    assert_eq!(
        (&link[0]["mtu"], &link[0]["ifalias"]),
        (&json!(1400), &json!(alias))
    );
    assert_eq!(
        (&link[0]["operstate"], &link[0]["addr_info"]),
        (&json!("DOWN"), &json!([]))
    );
    Ok(())
}

/// The kernel has destroyed the device with the namespace; the lease is free all the same.
#[test]
fn the_address_is_free_when_the_device_is_gone() -> Result<()> {
    for is_namespace in [false, true] {
        let side = Side::create(Whose::Weir, 1)?;
        add_device(&side, "")?;
        let config = json!({"cniVersion": "1.1.0", "name": "net", "type": "host-device", "device": "nic0",
            "ipam": {"type": "host-local", "subnet": "10.1.0.0/24"}});
        side.call("ADD", 0, &config, None)?.result();
        assert_eq!(side.node.taken("net"), ["10.1.0.2"]);
        let container = &side.containers[0];
        container.ip("link delete eth0")?;
        let mut del = weir_kit::weir(&side.node, "host-device", "DEL", container, &config);
        if is_namespace {
            del.set("CNI_NETNS", "");
        }
        let deleted = side.node.run(&del)?;
        ensure!(deleted.succeeded(), "{deleted:?}");
        assert!(side.node.taken("net").is_empty());
    }
    Ok(())
}

/// As hardware, which the kernel returns to the host when the namespace goes.
#[test]
fn a_device_that_came_back_with_the_namespace_gets_its_name_back() -> Result<()> {
    let side = Side::create(Whose::Weir, 1)?;
    add_device(&side, "mtu 1400")?;
    let config = device("1.1.0");
    side.call("ADD", 0, &config, None)?.result();
    let container = &side.containers[0];
    container.ip("link set eth0 mtu 1300")?;
    let host = side.node.netns().display().to_string();
    container.ip(&format!("link set eth0 netns {host} name dev7"))?;
    side.node.ip("link set dev7 up")?;
    let mut del = weir_kit::weir(&side.node, "host-device", "DEL", container, &config);
    del.set("CNI_NETNS", "");
    let deleted = side.node.run(&del)?;
    ensure!(deleted.succeeded(), "{deleted:?}");
    let link = side.node.ip_json("link show nic0")?;
    assert_eq!(
        (&link[0]["mtu"], &link[0]["operstate"]),
        (&json!(1400), &json!("DOWN"))
    );
    Ok(())
}

/// `ip` takes one word, and weir clears what looks like a mark of its own on a link that comes from a container.
fn set_alias(link: &str, alias: &str) -> Result<()> {
    let set = std::process::Command::new("ip")
        .args(["link", "set", link, "alias", alias])
        .status()?;
    ensure!(set.success(), "ip link set {link} alias");
    Ok(())
}
