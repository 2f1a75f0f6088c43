//! Configurations of `ptp`, with addresses of host-local and of static.

use serde_json::{Value, json};

use crate::case::{Case, cases};
use crate::subnets::{self, with_default_routes};

/// `ptp` with these keys, and host-local with those.
fn ptp(keys: Value, ipam: Value) -> Case {
    let case = Case::new(keys)
        .with("type", json!("ptp"))
        .with("ipam", ipam);
    case.with_ipam("type", json!("host-local"))
}

cases! {
    ipv4: ptp(json!({}), subnets::ipv4());
    ipv4_with_default_route:
        ptp(json!({}), json!({"subnet": "10.1.0.0/24", "routes": [{"dst": "0.0.0.0/0"}]}));
    ipv6_alone:
        ptp(json!({}), subnets::ipv6_with_default_route());
    ipv6_is_off_in_the_containers:
        ptp(json!({}), subnets::ipv6()).without_ipv6();
    dual_stack_with_default_routes: ptp(json!({}), with_default_routes());
    another_gateway:
        ptp(json!({}), json!({"subnet": "10.1.0.0/24", "gateway": "10.1.0.200"}));
    routes_through_another_gateway: ptp(
        json!({}),
        json!({"subnet": "10.1.0.0/24", "routes": [{"dst": "192.0.2.0/24", "gw": "10.1.0.9"}]}),
    );
    two_subnets_of_one_family: ptp(
        json!({}),
        json!({"ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "10.2.0.0/16"}]]}),
    );
    a_small_mtu: ptp(json!({"mtu": 1400}), subnets::ipv4());
    masquerading: ptp(json!({"ipMasq": true}), with_default_routes());
    dns_of_its_own: ptp(
        json!({"dns": {"nameservers": ["10.1.0.1"], "domain": "example.com"}}),
        subnets::ipv4(),
    );
    dns_of_the_ipam_plugin: ptp(
        json!({}),
        json!({"subnet": "10.1.0.0/24", "resolvConf": "/etc/resolv.conf"}),
    ).file("etc/resolv.conf", "nameserver 192.0.2.1\n");
    dns_of_empty_lists: ptp(
        json!({"dns": {"search": []}}),
        json!({"subnet": "10.1.0.0/24", "resolvConf": "/etc/resolv.conf"}),
    ).file("etc/resolv.conf", "nameserver 192.0.2.1\n");
    an_old_version:
        ptp(json!({"cniVersion": "0.4.0"}), subnets::ipv4());
    the_oldest_version:
        ptp(json!({"cniVersion": "0.2.0"}), subnets::ipv4());
    an_exhausted_range: ptp(
        json!({}),
        json!({"subnet": "10.1.0.0/24", "rangeStart": "10.1.0.5", "rangeEnd": "10.1.0.5"}),
    ).succeeds_once();
    an_interface_of_that_name_exists:
        ptp(json!({}), subnets::ipv4())
            .in_containers("link add eth0 type veth peer name other")
            // The reference leaves it so.
            .host_parameter("ipv4/ip_forward", "1")
            .fails();
}
