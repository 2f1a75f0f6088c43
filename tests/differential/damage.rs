//! CHECK of an attachment that something was done to: both sides must see it, or neither.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::with_keys;

use crate::side::{Side, with_previous};

/// What is done to an attached container, by lines of `ip`.
struct Damage {
    /// `{port}` is the name of the host's end.
    host: &'static [&'static str],
    container: &'static [&'static str],
}

/// Who must see a damage.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    ByBoth,
    ByNeither,
}

const IN_CONTAINER: fn(&'static [&'static str]) -> Damage = |container| Damage {
    host: &[],
    container,
};
const ON_HOST: fn(&'static [&'static str]) -> Damage = |host| Damage {
    host,
    container: &[],
};

fn dual_stack() -> Value {
    bridge(
        json!({"isDefaultGateway": true}),
        json!({
            "ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]],
            // The reference cannot check a route without next hop, see
            // [`crate::normalise::intended_check_of_route_without_next_hop`].
            "routes": [
                {"dst": "192.0.2.0/24", "gw": "10.1.0.1"},
                {"dst": "198.51.100.0/24", "gw": "10.1.0.9"},
            ],
        }),
    )
}

/// No gateway and one family. (The reference cannot check a network without `ipam`, see
/// [`crate::normalise::intended_check_of_layer_2`].)
fn plain() -> Value {
    bridge(json!({}), json!({"subnet": "10.1.0.0/24"}))
}

fn ptp() -> Value {
    json!({
        "cniVersion": "1.0.0", "name": "net", "type": "ptp",
        "ipam": { "type": "host-local", "subnet": "10.1.0.0/24" },
    })
}

fn bridge(keys: Value, ipam: Value) -> Value {
    let config = json!({"cniVersion": "1.0.0", "name": "net", "type": "bridge", "bridge": "br"});
    let mut config = with_keys(config, keys);
    config["ipam"] = ipam;
    config["ipam"]["type"] = json!("host-local");
    config
}

/// Adds, checks, damages, checks, and deletes, on each side.
fn check_after(config: &Value, damage: &Damage, seen: Seen) {
    for side in Side::pair(1).expect("two nodes") {
        let whose = side.whose;
        try_check_after(&side, config, damage, seen == Seen::ByBoth)
            .unwrap_or_else(|error| panic!("{whose:?}: {error:#}"));
    }
}

fn try_check_after(side: &Side, config: &Value, damage: &Damage, must_fail: bool) -> Result<()> {
    let result = side.call("ADD", 0, config, None)?.result();
    let config = with_previous(config, Some(&result));
    let before = side.call("CHECK", 0, &config, None)?;
    ensure!(before.succeeded(), "CHECK before: {before:?}");
    let port = result["interfaces"][1]["name"]
        .as_str()
        .context("the host's end")?;
    for line in damage.host {
        side.node.ip(&line.replace("{port}", port))?;
    }
    for line in damage.container {
        side.containers[0].ip(line)?;
    }
    let after = side.call("CHECK", 0, &config, None)?;
    if must_fail {
        drop(after.error())
    } else {
        ensure!(after.succeeded(), "CHECK after: {after:?}")
    }
    for _ in 0..2 {
        let deleted = side.call("DEL", 0, &config, None)?;
        ensure!(deleted.succeeded(), "DEL after: {deleted:?}");
    }
    ensure!(
        side.node.taken("net").is_empty(),
        "leases after DEL: {:?}",
        side.node.taken("net")
    );
    let left = side.containers[0].ip_json("link show")?;
    // One of another kind is not what ADD made: the reference deletes it and weir leaves it.
    let is_ours =
        |link: &Value| link["ifname"] == "eth0" && link["linkinfo"]["info_kind"] == "veth";
    let left = left
        .as_array()
        .is_some_and(|links| links.iter().any(is_ours));
    ensure!(!left, "the interface is there after DEL");
    Ok(())
}

macro_rules! damages {
    ($($(#[$doc:meta])* $name:ident: $config:expr, $damage:expr, $seen:ident;)+) => {$(
        $(#[$doc])*
        #[test]
        fn $name() {
            check_after(&$config, &$damage, Seen::$seen);
        }
    )+};
}

damages! {
    the_ipv4_address_is_removed:
        dual_stack(), IN_CONTAINER(&["address delete 10.1.0.2/24 dev eth0"]), ByBoth;
    the_ipv6_address_is_removed:
        dual_stack(), IN_CONTAINER(&["address delete fd00:1::2/64 dev eth0"]), ByBoth;
    the_address_has_another_prefix: dual_stack(), IN_CONTAINER(&[
        "address delete 10.1.0.2/24 dev eth0", "address add 10.1.0.2/25 dev eth0",
    ]), ByBoth;
    an_address_is_added:
        dual_stack(), IN_CONTAINER(&["address add 10.9.0.2/24 dev eth0"]), ByNeither;
    the_default_route_is_removed:
        dual_stack(), IN_CONTAINER(&["route delete default"]), ByBoth;
    the_ipv6_default_route_is_removed:
        dual_stack(), IN_CONTAINER(&["-6 route delete default"]), ByBoth;
    a_route_is_removed:
        dual_stack(), IN_CONTAINER(&["route delete 192.0.2.0/24"]), ByBoth;
    a_route_has_another_next_hop: dual_stack(), IN_CONTAINER(&[
        "route replace 198.51.100.0/24 via 10.1.0.8",
    ]), ByBoth;
    a_route_is_added:
        dual_stack(), IN_CONTAINER(&["route add 203.0.113.0/24 via 10.1.0.1"]), ByNeither;
    the_route_of_the_subnet_is_removed:
        dual_stack(), IN_CONTAINER(&["route delete 10.1.0.0/24"]), ByBoth;
    the_interface_is_removed: dual_stack(), IN_CONTAINER(&["link delete eth0"]), ByBoth;
    the_interface_of_a_plain_network_is_removed: plain(), IN_CONTAINER(&["link delete eth0"]), ByBoth;
    the_interface_is_of_another_kind: plain(), Damage {
        host: &["link delete {port}"],
        container: &["link add eth0 type bridge", "link set eth0 type bridge"],
    }, ByBoth;
    the_mac_is_changed: plain(), IN_CONTAINER(&[
        "link set eth0 address 02:00:00:00:00:77",
    ]), ByBoth;
    the_bridge_is_removed: dual_stack(), ON_HOST(&["link delete dev br"]), ByBoth;
    the_bridges_mac_is_changed:
        dual_stack(), ON_HOST(&["link set dev br address 02:00:00:00:00:77"]), ByBoth;
    the_port_is_removed: plain(), ON_HOST(&["link delete {port}"]), ByBoth;
    the_port_has_another_mac:
        plain(), ON_HOST(&["link set {port} address 02:00:00:00:00:77"]), ByBoth;
    the_port_has_another_name: plain(), ON_HOST(&[
        "link set {port} down", "link set {port} name elsewhere", "link set elsewhere up",
    ]), ByBoth;
    the_port_is_no_port_any_more: plain(), ON_HOST(&["link set {port} nomaster"]), ByBoth;
    the_port_is_of_another_bridge: plain(), ON_HOST(&[
        "link add another type bridge", "link set {port} master another",
    ]), ByBoth;
    the_bridge_is_promiscuous:
        dual_stack(), ON_HOST(&["link set dev br promisc on"]), ByBoth;
    the_bridge_has_lost_its_address:
        dual_stack(), ON_HOST(&["address delete 10.1.0.1/24 dev br"]), ByNeither;
    the_interface_is_down: plain(), IN_CONTAINER(&["link set eth0 down"]), ByBoth;
    /// As where a plugin after it takes the route away: `prevResult` lists none.
    ptps_route_of_the_subnet_is_removed:
        ptp(), IN_CONTAINER(&["route delete 10.1.0.0/24"]), ByBoth;
}
