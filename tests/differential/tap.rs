//! Configurations of `tap`. Debian's reference lacks it.

use serde_json::{Value, json};

use crate::case::Case;
use crate::recorded::recorded_cases;
use crate::subnets::{self, with_default_routes};

/// `tap` of layer 2 with these keys. The reference's ADD of an interface that is there already succeeds, and leaves
/// a device of a random name.
fn layer_2(keys: Value) -> Case {
    Case::new(keys).with("type", json!("tap")).added_once()
}

/// `tap` with these keys and addresses of host-local.
fn layer_3(keys: Value, ipam: Value) -> Case {
    let case = layer_2(keys).with("ipam", ipam);
    case.with_ipam("type", json!("host-local"))
}

/// A bridge in the containers, with a port, as whoever wants a virtual machine on the pod's network makes it.
fn with_bridge(case: Case) -> Case {
    case.in_containers("link add br0 type bridge")
        .in_containers("link set br0 up")
}

/// Who may open `/dev/net/tun` is the machine's to say.
mod needs_root {
    use super::*;

    recorded_cases! { "tap":
        alone: layer_2(json!({}));
        version_0_3_0: layer_2(json!({"cniVersion": "0.3.0"}));
        version_0_1_0: layer_3(json!({"cniVersion": "0.1.0"}), with_default_routes());
        version_1_1_0: layer_2(json!({"cniVersion": "1.1.0"}));
        a_mac: layer_2(json!({"mac": "02:00:00:00:00:01"}))
            .of_second("mac", json!("02:00:00:00:00:02"));
        a_mac_of_the_runtime: layer_2(json!({
            "mac": "02:00:00:00:00:01", "runtimeConfig": {"mac": "02:00:00:00:00:03"},
        }));
        a_mac_of_cni_args: layer_2(json!({"mac": "02:00:00:00:00:01"}))
            .args("MAC=02:00:00:00:00:04", "MAC=02:00:00:00:00:05");
        a_small_mtu: layer_2(json!({"mtu": 1400}));
        several_queues: layer_2(json!({"multiQueue": true}));
        an_owner: layer_2(json!({"owner": 107}));
        a_group: layer_2(json!({"group": 36}));
        an_owner_and_a_group: layer_2(json!({"owner": 107, "group": 0, "multiQueue": true}));
        a_bridge: with_bridge(layer_2(json!({"bridge": "br0"})));
        no_such_bridge: layer_2(json!({"bridge": "br0"})).fails();
        ipv4_with_default_route: layer_3(
            json!({}), json!({"subnet": "10.1.0.0/24", "routes": [{"dst": "0.0.0.0/0"}]}),
        );
        dual_stack_with_default_routes: layer_3(json!({}), with_default_routes());
        ipv6_is_off_in_the_containers: layer_3(json!({}), subnets::ipv6()).without_ipv6();
        a_fixed_address: layer_2(json!({}))
            .with("ipam", json!({"type": "static", "addresses": [{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}]}))
            .of_second("ipam", json!({"type": "static", "addresses": [{"address": "10.1.0.9/24"}]}));
        dns_of_its_own: layer_2(json!({"dns": {"nameservers": ["10.1.0.1"], "search": ["a.example"]}}));
        an_exhausted_range: layer_3(
            json!({}),
            json!({"subnet": "10.1.0.0/24", "rangeStart": "10.1.0.5", "rangeEnd": "10.1.0.5"}),
        ).succeeds_once();
        no_mac: layer_2(json!({"mac": "nonsense"})).fails();
        selinux_is_not_there: layer_2(
            json!({"selinuxContext": "system_u:system_r:container_t:s0"}),
        ).fails();
    }
}
