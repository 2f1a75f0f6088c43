//! Configurations of `vrf`, after `bridge` and `ptp`.

use serde_json::{Value, json};

use crate::case::{Case, in_machine_cases};
use crate::recorded::recorded_in_machine_cases;
use crate::subnets::{self, dual_stack, ipv4};

/// A VRF with these keys, for an interface of a bridge with addresses of host-local with those.
fn vrf(keys: Value, ipam: Value) -> Case {
    let mut plugin = keys;
    plugin["type"] = json!("vrf");
    Case::bridge(json!({}), ipam).then(plugin)
}

fn red(ipam: Value) -> Case {
    vrf(json!({"vrfname": "red"}), ipam)
}

in_machine_cases! {
    ipv4_alone: red(ipv4());
    ipv6_alone: red(subnets::ipv6());
    both_families: red(dual_stack()).deleted_twice();
    a_table_of_its_own: vrf(json!({"vrfname": "red", "table": 1001}), dual_stack());
    another_vrf_is_there: red(ipv4()).in_containers("link add blue type vrf table 1");
    the_vrf_is_there: vrf(json!({"vrfname": "red", "table": 7}), ipv4())
        .in_containers("link add red type vrf table 7");
    a_table_beyond_those_with_names: vrf(json!({"vrfname": "red", "table": 70_000}), ipv4());
    a_gateway: red(dual_stack()).with("isGateway", json!(true));
    a_small_mtu: red(dual_stack()).with("mtu", json!(1400));
    a_mac: red(ipv4())
        .args("IgnoreUnknown=1;MAC=02:00:00:00:00:01", "IgnoreUnknown=1;MAC=02:00:00:00:00:02");
    ipv6_addresses_are_kept: red(dual_stack()).parameter("ipv6/conf/all/keep_addr_on_down", "1");
    version_0_3_1: red(dual_stack()).with("cniVersion", json!("0.3.1"));
    version_0_4_0: red(dual_stack()).with("cniVersion", json!("0.4.0"));
    version_1_0_0: red(dual_stack()).with("cniVersion", json!("1.0.0"));
}

/// Debian's reference loses the routes.
mod later {
    use super::*;

    recorded_in_machine_cases! { "vrf":
        a_default_route: red(json!({"subnet": "10.1.0.0/24", "routes": [{"dst": "0.0.0.0/0"}]}));
        routes_of_both_families: red(json!({
            "ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]],
            "routes": [
                {"dst": "0.0.0.0/0"}, {"dst": "::/0"}, {"dst": "192.0.2.0/24", "gw": "10.1.0.9"},
                {"dst": "2001:db8::/32", "gw": "fd00:1::9"},
            ],
        }));
    }
}
