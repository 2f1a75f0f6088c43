//! Configurations of `macvlan`. The reference is older than `linkInContainer` and `bcqueuelen`.

use serde_json::{Value, json};

use crate::case::{Case, cases};

/// `macvlan` over `eth1` with these keys, without `ipam`.
fn layer_2(keys: Value) -> Case {
    over_default_route(keys).with("master", json!("eth1"))
}

/// The same without `master`, on a host with the interfaces `eth1` and `eth2`.
fn over_default_route(keys: Value) -> Case {
    Case::new(keys)
        .with("type", json!("macvlan"))
        .host("link add eth1 type veth peer name wire1")
        .host("link add eth2 type veth peer name wire2")
        .host("link set eth1 up")
        .host("link set wire1 up")
        .host("link set eth2 up")
        .host("link set wire2 up")
}

/// `macvlan` over `eth1` with these keys, and host-local with those.
fn macvlan(keys: Value, ipam: Value) -> Case {
    let case = layer_2(keys).with("ipam", ipam);
    case.with_ipam("type", json!("host-local"))
}

fn ipv4() -> Value {
    json!({"subnet": "10.1.0.0/24"})
}

fn dual_stack() -> Value {
    json!({
        "ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]],
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}],
    })
}

cases! {
    ipv4_alone: macvlan(json!({}), ipv4());
    ipv6_alone: macvlan(json!({}), json!({"subnet": "fd00:1::/64", "routes": [{"dst": "::/0"}]}));
    dual_stack_with_default_routes: macvlan(json!({"mode": "bridge"}), dual_stack());
    ipv6_is_off_in_the_containers:
        macvlan(json!({}), json!({"subnet": "fd00:1::/64"}))
            .parameter("ipv6/conf/lo/disable_ipv6", "1")
            .parameter("ipv6/conf/default/disable_ipv6", "1");
    private: macvlan(json!({"mode": "private"}), ipv4());
    vepa: macvlan(json!({"mode": "vepa"}), ipv4());
    // The master takes one.
    passthru: macvlan(json!({"mode": "passthru"}), ipv4()).succeeds_once();
    passthru_over_a_master_with_others:
        macvlan(json!({"mode": "passthru"}), ipv4())
            .host("link add other link eth1 type macvlan mode bridge")
            .fails();
    an_empty_mode: macvlan(json!({"mode": ""}), ipv4());
    an_unknown_mode: macvlan(json!({"mode": "source"}), ipv4()).fails();
    without_ipam: layer_2(json!({}));
    the_master_of_the_default_route:
        over_default_route(json!({}))
            .host("address add 192.0.2.1/24 dev eth2")
            .host("route add default via 192.0.2.2 dev eth2");
    no_default_route: over_default_route(json!({})).fails();
    no_such_master: macvlan(json!({}), ipv4()).with("master", json!("eth9")).fails();
    a_master_that_is_down: macvlan(json!({}), ipv4()).host("link set eth1 down");
    a_small_mtu: macvlan(json!({"mtu": 1400}), ipv4());
    an_mtu_above_the_masters: macvlan(json!({"mtu": 9000}), ipv4()).fails();
    a_mac_of_the_runtime:
        layer_2(json!({"runtimeConfig": {"mac": "02:00:00:00:00:01"}}))
            .of_second("runtimeConfig", json!({"mac": "02:00:00:00:00:02"}));
    a_mac_of_the_configuration:
        layer_2(json!({"mac": "02:00:00:00:00:01"})).of_second("mac", json!("02:00:00:00:00:02"));
    a_mac_of_the_arguments:
        layer_2(json!({"mac": "02:00:00:00:00:09"}))
            .args("MAC=02:00:00:00:00:01", "MAC=02:00:00:00:00:02");
    a_mac_that_is_taken: layer_2(json!({"mac": "02:00:00:00:00:01"})).succeeds_once();
    a_mac_that_no_interface_can_have: layer_2(json!({"mac": "01:00:00:00:00:01"})).fails();
    dns_of_its_own: macvlan(json!({"dns": {"nameservers": ["10.1.0.1"], "domain": "example.com"}}), ipv4());
    dns_of_the_ipam_plugin: macvlan(
        json!({}),
        json!({"subnet": "10.1.0.0/24", "resolvConf": "/etc/resolv.conf"}),
    ).file("etc/resolv.conf", "nameserver 192.0.2.1\n");
    routes: macvlan(
        json!({}),
        json!({"subnet": "10.1.0.0/24", "routes": [{"dst": "192.0.2.0/24", "gw": "10.1.0.9"}, {"dst": "0.0.0.0/0"}]}),
    );
    an_exhausted_range: macvlan(
        json!({}),
        json!({"subnet": "10.1.0.0/24", "rangeStart": "10.1.0.5", "rangeEnd": "10.1.0.5"}),
    ).succeeds_once();
    an_interface_of_that_name_exists:
        macvlan(json!({}), ipv4())
            .in_containers("link add net1 type veth peer name other")
            .in_containers("link add eth0 link net1 type macvlan")
            .fails();
    the_oldest_version: macvlan(json!({"cniVersion": "0.1.0"}), ipv4());
    version_0_2: macvlan(json!({"cniVersion": "0.2.0"}), ipv4());
    version_0_3: macvlan(json!({"cniVersion": "0.3.0"}), dual_stack());
    version_0_3_1: macvlan(json!({"cniVersion": "0.3.1"}), dual_stack());
    version_0_4: macvlan(json!({"cniVersion": "0.4.0"}), dual_stack());
    tuning_comes_after_it:
        macvlan(json!({}), ipv4()).then(json!({"type": "tuning", "sysctl": {"net.ipv4.conf.eth0.rp_filter": "2"}}));
}
