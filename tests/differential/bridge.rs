//! Configurations of `bridge`, with host-local's addresses or without any.

use serde_json::json;

use crate::case::{Case, cases};

/// Makes the bridge before the first ADD.
fn with_bridge(case: Case) -> Case {
    case.host("link add name br type bridge")
}

/// Fails to make the bridge a gateway of this subnet, because this line of `ip` adds an address before.
fn in_the_way(subnet: &str, line: &'static str) -> Case {
    with_bridge(Case::bridge(
        json!({"isGateway": true}),
        json!({"subnet": subnet}),
    ))
    .host(line)
    .host_parameter("ipv6/conf/br/accept_ra", "0")
    .fails()
}

/// Replaces the address that this line of `ip` adds, by `forceAddress`.
fn replaced(subnet: &str, line: &'static str) -> Case {
    let keys = json!({"isGateway": true, "forceAddress": true});
    with_bridge(Case::bridge(keys, json!({"subnet": subnet}))).host(line)
}

cases! {
    layer_2_alone: Case::layer_2(json!({}));
    default_bridge_name: Case::new(json!({"type": "bridge"}));
    addresses_without_gateway:
        Case::bridge(json!({}), json!({"subnet": "10.1.0.0/24"}));
    gateway:
        Case::bridge(json!({"isGateway": true}), json!({"subnet": "10.1.0.0/24"}));
    default_gateway:
        Case::bridge(json!({"isDefaultGateway": true}), json!({"subnet": "10.1.0.0/24"}));
    gateway_of_dual_stack: Case::bridge(
        json!({"isGateway": true}),
        json!({"ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]]}),
    );
    default_gateway_of_dual_stack: Case::bridge(
        json!({"isDefaultGateway": true}),
        json!({"ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]]}),
    );
    ipv6_alone:
        Case::bridge(json!({"isDefaultGateway": true}), json!({"subnet": "fd00:1::/64"}));
    ipv6_without_gateway:
        Case::bridge(json!({}), json!({"subnet": "fd00:1::/112"}));
    duplicate_address_detection: Case::bridge(
        json!({"isGateway": true, "enabledad": true}),
        json!({"ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]]}),
    );
    ipv6_is_off_in_the_containers:
        Case::bridge(json!({"isDefaultGateway": true}), json!({"subnet": "fd00:1::/64"})).without_ipv6();
    loopback_is_up_already:
        Case::bridge(json!({"isGateway": true}), json!({"subnet": "fd00:1::/64"}))
            .in_containers("link set lo up");
    several_sets_of_one_family: Case::bridge(
        json!({}),
        json!({"ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "10.2.0.0/16"}]]}),
    );
    two_ipv4_gateways_on_one_bridge: Case::bridge(
        json!({"isGateway": true}),
        json!({"ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "10.2.0.0/16"}]]}),
    ).fails();
    two_ipv6_gateways_on_one_bridge: Case::bridge(
        json!({"isGateway": true}),
        json!({"ranges": [[{"subnet": "fd00:1::/64"}], [{"subnet": "fd00:2::/64"}]]}),
    );
    another_address_is_in_the_way:
        in_the_way("10.1.0.0/24", "address add 10.9.0.1/24 dev br");
    another_address_is_replaced:
        replaced("10.1.0.0/24", "address add 10.9.0.1/24 dev br");
    another_ipv6_address_is_left:
        with_bridge(Case::bridge(json!({"isGateway": true}), json!({"subnet": "fd00:1::/64"})))
            .host("address add fd00:9::1/64 dev br");
    an_overlapping_ipv6_address_is_in_the_way:
        in_the_way("fd00:1::/64", "address add fd00:1::9/64 dev br");
    an_overlapping_ipv6_address_is_replaced:
        replaced("fd00:1::/64", "address add fd00:1::9/64 dev br");
    the_bridge_is_there_already:
        Case::bridge(json!({"isGateway": true}), json!({"subnet": "10.1.0.0/24"}))
            .host("link add name br address 02:00:00:00:00:01 type bridge")
            .host("address add 10.1.0.1/24 dev br");
    the_bridges_name_is_anothers:
        Case::layer_2(json!({})).host("link add name br type veth peer name other").fails();
    the_interface_is_there_already:
        Case::bridge(json!({}), json!({"subnet": "10.1.0.0/24"}))
            .in_containers("link add eth0 type veth peer name other")
            .fails();
    masquerade: Case::bridge(
        json!({"isGateway": true, "ipMasq": true}),
        json!({"subnet": "10.1.0.0/24"}),
    );
    masquerade_of_dual_stack: Case::bridge(
        json!({"isDefaultGateway": true, "ipMasq": true}),
        json!({"ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]]}),
    );
    mtu: Case::bridge(json!({"mtu": 1400}), json!({"subnet": "10.1.0.0/24"}));
    mtu_of_layer_2: Case::layer_2(json!({"mtu": 9000}));
    mtu_beside_a_bridge_of_another:
        Case::layer_2(json!({"mtu": 1400})).host("link add name br mtu 1300 type bridge");
    hairpin_mode: Case::bridge(json!({"hairpinMode": true}), json!({"subnet": "10.1.0.0/24"}));
    promiscuous_mode:
        Case::bridge(json!({"promiscMode": true, "isGateway": true}), json!({"subnet": "10.1.0.0/24"}));
    hairpin_and_promiscuous_mode:
        Case::layer_2(json!({"promiscMode": true, "hairpinMode": true})).fails();
    mac_spoof_check:
        Case::bridge(json!({"macspoofchk": true}), json!({"subnet": "10.1.0.0/24"}));
    mac_spoof_check_of_layer_2: Case::layer_2(json!({"macspoofchk": true}));
    mac_of_runtime_config: Case::bridge(
        json!({"runtimeConfig": {"mac": "02:00:00:00:00:AA"}}),
        json!({"subnet": "10.1.0.0/24"}),
    ).of_second("runtimeConfig", json!({"mac": "02:00:00:00:00:BB"}));
    mac_of_args: Case::layer_2(json!({"args": {"cni": {"mac": "02:00:00:00:00:ab"}}}))
        .of_second("args", json!({"cni": {"mac": "02:00:00:00:00:ac"}}));
    mac_of_cni_args: Case::bridge(json!({"isGateway": true}), json!({"subnet": "10.1.0.0/24"}))
        .args("IgnoreUnknown=1;MAC=02:00:00:00:00:0a", "IgnoreUnknown=1;MAC=02:00:00:00:00:0b");
    mac_of_everywhere: Case::layer_2(json!({
        "args": {"cni": {"mac": "02:00:00:00:00:01"}},
        "runtimeConfig": {"mac": "02:00:00:00:00:02"},
    })).args("MAC=02:00:00:00:00:03", "MAC=02:00:00:00:00:04")
        .of_second("runtimeConfig", json!({}));
    mac_that_is_none: Case::layer_2(json!({"runtimeConfig": {"mac": "02:00:00"}})).fails();
    unknown_cni_args:
        Case::bridge(json!({}), json!({"subnet": "10.1.0.0/24"})).args("COLOUR=red", "COLOUR=red")
            .fails();
    unknown_cni_args_that_are_ignored: Case::bridge(json!({}), json!({"subnet": "10.1.0.0/24"}))
        .args("COLOUR=red;IgnoreUnknown=true", "IgnoreUnknown=1;COLOUR=red");
    routes_of_the_configuration: Case::bridge(
        json!({"isGateway": true}),
        json!({
            "subnet": "10.1.0.0/24",
            "routes": [{"dst": "0.0.0.0/0"}, {"dst": "192.0.2.0/24", "gw": "10.1.0.7"}],
        }),
    );
    routes_beside_the_default_gateway: Case::bridge(
        json!({"isDefaultGateway": true}),
        json!({
            "ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]],
            "routes": [{"dst": "198.51.100.0/24"}, {"dst": "2001:db8::/32"}],
        }),
    );
    routes_without_gateway: Case::bridge(
        json!({}),
        json!({"subnet": "10.1.0.0/24", "routes": [{"dst": "192.0.2.0/24"}]}),
    );
    gateway_of_the_configuration: Case::bridge(
        json!({"isDefaultGateway": true}),
        json!({"subnet": "10.1.0.0/24", "gateway": "10.1.0.254"}),
    );
    dns_of_the_configuration: Case::bridge(
        json!({"dns": {
            "nameservers": ["192.0.2.53"], "domain": "example.com",
            "search": ["a.example", "b.example"], "options": ["ndots:2"],
        }}),
        json!({"subnet": "10.1.0.0/24"}),
    );
    dns_of_resolv_conf: Case::bridge(
        json!({"isGateway": true}),
        json!({"subnet": "10.1.0.0/24", "resolvConf": "/etc/resolv.conf"}),
    ).file("etc/resolv.conf", "nameserver 192.0.2.1\nsearch a.example b.example\noptions ndots:2\n");
    dns_of_both: Case::bridge(
        json!({"dns": {"nameservers": ["192.0.2.53"]}}),
        json!({"subnet": "10.1.0.0/24", "resolvConf": "/etc/resolv.conf"}),
    ).file("etc/resolv.conf", "nameserver 192.0.2.1\ndomain example.com\n");
    dns_of_empty_lists: Case::bridge(
        json!({"dns": {"nameservers": []}}),
        json!({"subnet": "10.1.0.0/24", "resolvConf": "/etc/resolv.conf"}),
    ).file("etc/resolv.conf", "nameserver 192.0.2.1\ndomain example.com\n");
    dns_of_layer_2: Case::layer_2(json!({"dns": {"nameservers": ["192.0.2.53"]}}));
    address_of_cni_args: Case::bridge(json!({}), json!({"subnet": "10.1.0.0/24"}))
        .args("IgnoreUnknown=1;IP=10.1.0.77", "IgnoreUnknown=1;IP=10.1.0.78/24");
    addresses_of_runtime_config: Case::bridge(
        json!({"runtimeConfig": {"ips": ["10.1.0.50/24", "fd00:1::50"]}}),
        json!({"ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]]}),
    ).succeeds_once();
    an_exhausted_range_leaves_nothing: Case::bridge(
        json!({"isGateway": true}),
        json!({"subnet": "10.1.0.0/24", "rangeStart": "10.1.0.5", "rangeEnd": "10.1.0.5"}),
    ).succeeds_once();
    every_key_at_once: Case::bridge(
        json!({
            "isDefaultGateway": true, "forceAddress": true, "ipMasq": true, "mtu": 1450,
            "hairpinMode": true, "macspoofchk": true, "dns": {"nameservers": ["192.0.2.53"]},
        }),
        json!({
            "ranges": [
                [{"subnet": "10.1.0.0/24", "rangeStart": "10.1.0.9", "gateway": "10.1.0.3"}],
                [{"subnet": "fd00:1::/64", "rangeStart": "fd00:1::9"}],
            ],
            "routes": [{"dst": "192.0.2.0/24"}],
            "dataDir": "/var/lib/cni/elsewhere",
        }),
    );
}
