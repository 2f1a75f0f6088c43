//! Configurations of `macvlan`. The reference is older than `linkInContainer` and `bcqueuelen`.

use anyhow::Result;
use serde_json::{Value, json};

use crate::case::{Case, cases};
use crate::subnets::{ipv4, with_default_routes};

fn layer_2(keys: Value) -> Case {
    super::over_eth1("macvlan", keys)
}

fn over_default_route(keys: Value) -> Case {
    super::over_default_route("macvlan", keys)
}

fn macvlan(keys: Value, ipam: Value) -> Case {
    super::addressed("macvlan", keys, ipam)
}

cases! {
    dual_stack_with_default_routes: macvlan(json!({"mode": "bridge"}), with_default_routes());
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
    the_master_of_an_ipv6_default_route:
        over_default_route(json!({}))
            .host("address add 2001:db8::1/64 dev eth2 nodad")
            .host("route add default via 2001:db8::2 dev eth2");
    addresses_of_static: layer_2(json!({"ipam": super::of_static("10.1.0.7/24")}))
        .of_second("ipam", super::of_static("10.1.0.8/24"));
    no_default_route: over_default_route(json!({})).fails();
    no_such_master: macvlan(json!({}), ipv4()).with("master", json!("eth9")).fails();
    a_master_that_is_down:
        super::over_what_is_down("macvlan", json!({"master": "eth1", "ipam": super::of_static("10.1.0.7/24")}))
            .of_second("ipam", super::of_static("10.1.0.8/24"));
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
    version_0_3: macvlan(json!({"cniVersion": "0.3.0"}), with_default_routes());
    tuning_comes_after_it:
        macvlan(json!({}), ipv4()).then(json!({"type": "tuning", "sysctl": {"net.ipv4.conf.eth0.rp_filter": "2"}}));
}

super::common_cases!(cases, macvlan, json!({}));

#[test]
fn a_master_in_the_container() -> Result<()> {
    let link = super::in_container("macvlan", json!({"bcqueuelen": 2000}))?;
    assert_eq!(link["link"], "net1", "{link:#}");
    let data = &link["linkinfo"]["info_data"];
    assert_eq!(
        (&data["mode"], &data["bcqueuelen"]),
        (&json!("bridge"), &json!(2000)),
        "{data:#}"
    );
    Ok(())
}

#[test]
fn a_mac_and_passthru_over_a_master_in_the_container() -> Result<()> {
    let link = super::in_container("macvlan", json!({"mac": "02:00:00:00:00:07"}))?;
    assert_eq!(link["address"], "02:00:00:00:00:07", "{link:#}");
    // Without a name, it is that of the container's default route.
    let link = super::in_container("macvlan", json!({"mode": "passthru", "master": ""}))?;
    assert_eq!(
        link["linkinfo"]["info_data"]["mode"], "passthru",
        "{link:#}"
    );
    Ok(())
}
