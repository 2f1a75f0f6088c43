//! Configurations of `dummy`, with addresses of host-local and of static. Debian's reference lacks it.

use serde_json::{Value, json};

use crate::case::Case;
use crate::recorded::recorded_in_machine_cases;
use crate::subnets::{self, with_routes};

/// `dummy` with addresses of host-local with these keys.
fn host_local(ipam: Value) -> Case {
    of("host-local", ipam)
}

/// `dummy` with addresses of static with these keys.
fn fixed(ipam: Value) -> Case {
    of("static", ipam).of_second(
        "ipam",
        json!({"type": "static", "addresses": [{"address": "10.1.0.9/24"}]}),
    )
}

fn of(plugin: &str, ipam: Value) -> Case {
    let case = Case::new(json!({"type": "dummy"})).with("ipam", ipam);
    case.with_ipam("type", json!(plugin))
}

fn of_version(version: &str) -> Case {
    host_local(with_routes()).with("cniVersion", json!(version))
}

recorded_in_machine_cases! { "dummy":
    version_0_1_0: of_version("0.1.0").in_brief();
    version_0_2_0: of_version("0.2.0").in_brief();
    version_0_3_0: of_version("0.3.0").in_brief();
    version_0_3_1: of_version("0.3.1").in_brief();
    version_0_4_0: of_version("0.4.0").in_brief();
    version_1_0_0: of_version("1.0.0");
    // Debian's host-local knows no later version than 1.0.0.
    version_1_1_0: fixed(json!({
        "addresses": [{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}],
        "routes": [{"dst": "192.0.2.0/24", "priority": 7}],
    })).with("cniVersion", json!("1.1.0")).in_brief();
    a_fixed_address: fixed(json!({"addresses": [{"address": "10.1.0.5/25", "gateway": "10.1.0.1"}]})).in_brief();
    a_fixed_address_of_each_family: fixed(json!({
        "addresses": [{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}, {"address": "fd00:1::5/64"}],
        "routes": [{"dst": "0.0.0.0/0"}],
    })).in_brief();
    ipv6_alone: host_local(subnets::ipv6_with_default_route()).in_brief();
    ipv6_is_off_in_the_containers: host_local(subnets::ipv6()).without_ipv6()
        .in_brief();
    dns_of_the_ipam_plugin:
        host_local(json!({"subnet": "10.1.0.0/24", "resolvConf": "/etc/resolv.conf"}))
            .file("etc/resolv.conf", "nameserver 192.0.2.1\nsearch example.com\n")
            .in_brief();
    an_exhausted_range: host_local(
        json!({"subnet": "10.1.0.0/24", "rangeStart": "10.1.0.5", "rangeEnd": "10.1.0.5"}),
    ).succeeds_once();
    an_interface_of_that_name_exists: host_local(subnets::ipv4())
        .in_containers("link add eth0 type dummy")
        .fails();
    no_addresses: Case::new(json!({"type": "dummy"})).fails();
}
