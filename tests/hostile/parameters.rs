//! Kernel parameters by names and values that are meant to be taken for others.

use std::fs;
use std::os::unix::fs::symlink;

use anyhow::Result;
use serde_json::json;

use super::puppet::Puppet;

/// A link has three segments before its own, so that these globs reach for whatever has as many.
const ONE_VALUE: &str = r#"{ sysctl: [
    { namespace: host, keys: ["net.ipv4.conf.*.arp_filter", "net.*.*"], values: ["1"] } ] }"#;

/// Property: a key is one parameter below `net.` and a parameter one key: no spelling leads anywhere
/// else.
#[test]
fn no_key_leads_out_of_the_tree() -> Result<()> {
    let puppet = Puppet::under(ONE_VALUE)?;
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern")?;
    let malformed = [
        "net.ipv4.conf.//.arp_filter",
        "net.ipv4.conf./.arp_filter",
        "net.ipv4.conf.lo\0.arp_filter",
        "net.ipv4.conf.lo\n.arp_filter",
        "net.ipv4.conf.lo .arp_filter",
        "net.//.//",
        "net.//.kernel",
        "net..ipv4",
        "net.ipv4.",
        "net.ipv4.ip_forward ",
    ];
    let denied = [
        "net.../../kernel.core_pattern",
        "net/ipv4/ip_forward",
        "net.ipv4.conf.lo/arp_filter",
        "NET.ipv4.conf.lo.arp_filter",
        "net.IPV4.conf.lo.arp_filter",
        "net.ipv4.conf.lo.ARP_FILTER",
        "net.ipv4.conf.lo.arp%5ffilter",
        "net.ipv4.conf.lo.arp_filter.",
        ".net.ipv4.conf.lo.arp_filter",
        "net.ipv4.conf.lo%2f..arp_filter",
        "kernel.core_pattern",
        "kernel.net.core",
        "net",
        "",
    ];
    let nowhere = [
        "net.ipv4.conf.LO.arp_filter",
        "net.ipv4.conf.%2e%2e.arp_filter",
        "net.ipv4.conf.*.arp_filter",
        "net.ipv4.ip_forward%00",
    ];
    for (keys, answer) in [
        (&malformed[..], "invalid"),
        (&denied[..], "denied"),
        (&nowhere[..], "not-found"),
    ] {
        for function in ["sysctl.read", "sysctl.write"] {
            let orders = keys
                .iter()
                .map(|key| json!({ "do": function, "key": key, "value": "1" }));
            puppet.assert_each(orders.collect(), answer)?;
        }
    }
    assert_eq!(
        fs::read_to_string("/proc/sys/kernel/core_pattern")?,
        pattern
    );
    Ok(())
}

/// Property: a value is allowed as it is written, not as the kernel would read it.
#[test]
fn a_value_that_only_reads_like_a_granted_one_is_denied() -> Result<()> {
    let puppet = Puppet::under(ONE_VALUE)?;
    let key = "net.ipv4.conf.lo.arp_filter";
    let values = [
        "0", " 1", "1 ", "01", "+1", "0x1", "1\n0", "1\0", "1,0", "", "one",
    ];
    let write = |value: &str| json!({ "do": "sysctl.write", "key": key, "value": value });
    puppet.assert_denied(values.map(write).into())?;
    puppet.assert_each(vec![write("1")], "ok").map(drop)
}

/// Property: however a plugin names a device, it reads a directory below `/sys/devices` and no other.
#[test]
fn a_devices_name_leads_nowhere_else() -> Result<()> {
    let puppet = Puppet::under("{ device: [ {} ] }")?;
    let root = puppet.fixture.node.root().join("sys");
    let card = root.join("devices/pci0000:00/0000:00:1f.6");
    fs::create_dir_all(card.join("net/nic0"))?;
    for directory in ["bus/pci/devices", "bus/auxiliary/devices", "class/net"] {
        fs::create_dir_all(root.join(directory))?;
    }
    let link = |target: &str, at: &str| symlink(target, root.join(at));
    link(
        "../../../../bus/pci",
        "devices/pci0000:00/0000:00:1f.6/subsystem",
    )?;
    link(
        "../../..",
        "devices/pci0000:00/0000:00:1f.6/net/nic0/device",
    )?;
    link(
        "../../../devices/pci0000:00/0000:00:1f.6",
        "bus/pci/devices/0000:00:1f.6",
    )?;
    link(
        "../../devices/pci0000:00/0000:00:1f.6/net/nic0",
        "class/net/nic0",
    )?;
    link("/etc", "devices/pci0000:00/etc")?;
    link("/etc", "bus/pci/devices/0000:00:0e.0")?;
    link("/etc", "bus/auxiliary/devices/mlx5_core.sf.7")?;
    link("/etc", "class/net/evil0")?;
    let by_path = |path: &str| json!({ "do": "device.by-kernel-path", "path": path });
    let by_address = |address: &str| json!({ "do": "device.by-pci-address", "name": address });
    let by_name = |name: &str| json!({ "do": "device.by-auxiliary-name", "name": name });
    let by_link = |name: &str| json!({ "do": "device.by-link", "link": name });
    let within = vec![
        by_path("/sys/devices/pci0000:00/0000:00:1f.6"),
        by_path("/sys/devices/pci0000:00/0000:00:1f.6/net/nic0"),
        by_address("0000:00:1f.6"),
        by_link("nic0"),
    ];
    puppet.assert_each(within, "ok")?;
    let beyond = vec![
        by_path("/sys/devices/../../etc"),
        by_path("/sys/devices/pci0000:00/etc"),
        by_path("/sys/devices/pci0000:00/etc/ssh"),
        by_path("/sys/devices/pci0000:00/0000:00:1f.6/net/nic0/device"),
        by_path("/sys/class/net/nic0"),
        by_path("/etc"),
        by_path("/sys/devices/pci0000:00/0000:00:1f.6/\0"),
        by_address("../../../etc"),
        by_address("0000:00:0e.0"),
        by_address("0000:00:1f.6/net"),
        by_name("mlx5_core.sf.7"),
        by_name("../../pci/devices/0000:00:1f.6"),
        by_name("mlx5_core.sf.7/net"),
        by_link("../../devices/pci0000:00"),
        by_link("evil0"),
        by_link(".."),
    ];
    puppet.assert_each(beyond, "invalid")?;
    Ok(())
}
