//! What the cases of plugins over an interface of the host share: `eth1` and `eth2`, each with a wire of its own.

mod announced;
mod ipvlan;
mod macvlan;
mod vlan;

use serde_json::{Value, json};
use weir_kit::with_keys;

use anyhow::{Result, ensure};

use crate::case::Case;
use crate::side::{Side, Whose, with_previous};

/// The families of addresses, their announcement and the older versions of the specification, for the function that makes a
/// plugin's case of its keys and its IPAM configuration, and for the keys that it needs. A result before 0.3.0 has one address of each family.
macro_rules! common_cases {
    ($cases:ident, $plugin:ident, $keys:expr) => {
        crate::case::$cases! {
            its_neighbours_hear_of_its_addresses: super::announced::Announced {
                plugin: stringify!($plugin),
                keys: $keys,
            };
            ipv4_alone: $plugin(json!({}), crate::subnets::ipv4());
            ipv6_alone: $plugin(json!({}), crate::subnets::ipv6_with_default_route());
            ipv6_is_off_in_the_containers: $plugin(json!({}), crate::subnets::ipv6()).without_ipv6();
            the_oldest_version: $plugin(json!({"cniVersion": "0.1.0"}), crate::subnets::ipv4());
            version_0_2: $plugin(json!({"cniVersion": "0.2.0"}), crate::subnets::ipv4());
            version_0_3_1:
                $plugin(json!({"cniVersion": "0.3.1"}), crate::subnets::with_default_routes());
            version_0_4:
                $plugin(json!({"cniVersion": "0.4.0"}), crate::subnets::with_default_routes());
        }
    };
}

use common_cases;

/// A plugin with these keys over `eth1`.
pub fn over_eth1(plugin: &str, keys: Value) -> Case {
    over_default_route(plugin, keys).with("master", json!("eth1"))
}

/// The same without `master`.
pub fn over_default_route(plugin: &str, keys: Value) -> Case {
    over_what_is_down(plugin, keys)
        .host("link set eth1 up")
        .host("link set wire1 up")
        .host("link set eth2 up")
        .host("link set wire2 up")
}

/// The same, where both are down.
pub fn over_what_is_down(plugin: &str, keys: Value) -> Case {
    Case::new(keys)
        .with("type", json!(plugin))
        .host("link add eth1 type veth peer name wire1")
        .host("link add eth2 type veth peer name wire2")
}

/// A plugin with these keys over `eth1`, and host-local with those.
pub fn addressed(plugin: &str, keys: Value, ipam: Value) -> Case {
    let case = over_eth1(plugin, keys).with("ipam", ipam);
    case.with_ipam("type", json!("host-local"))
}

/// The interface that weir makes over the container's own `net1` with these keys, as the kernel shows it. CHECK and DEL
/// succeed.
pub fn in_container(plugin: &str, keys: Value) -> Result<Value> {
    let config = json!({
        "cniVersion": "1.1.0", "name": "net", "type": plugin, "master": "net1", "linkInContainer": true,
        "ipam": {"type": "host-local", "subnet": "10.1.0.0/24"},
    });
    let config = with_keys(config, keys);
    let side = Side::create(Whose::Weir, 1)?;
    let container = &side.containers[0];
    for line in [
        "link add net1 type veth peer name wire",
        "link set net1 up",
        "link set wire up",
    ] {
        container.ip(line)?;
    }
    container.ip("route add default dev net1")?;
    let result = side.call("ADD", 0, &config, None)?.result();
    let link = container.ip_json("-d link show dev eth0")?;
    let known = with_previous(&config, Some(&result));
    for command in ["CHECK", "DEL", "DEL"] {
        let outcome = side.call(command, 0, &known, None)?;
        ensure!(outcome.succeeded(), "{command}: {outcome:?}");
    }
    ensure!(container.ip("link show dev eth0").is_err(), "DEL left it");
    Ok(link[0].clone())
}

/// `ipam` with this address.
pub fn of_static(address: &str) -> Value {
    json!({"type": "static", "addresses": [{"address": address, "gateway": "10.1.0.1"}]})
}
