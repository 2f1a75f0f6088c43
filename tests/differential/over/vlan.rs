//! Configurations of `vlan`: each container in another, as a master has each once. The reference is older than
//! `linkInContainer`.

use anyhow::Result;
use serde_json::{Value, json};

use crate::case::{Case, in_machine_cases};
use crate::side::{Side, Whose};
use crate::subnets::{ipv4, with_default_routes};

/// The containers are in VLANs 7 and 8.
fn vlan(keys: Value, ipam: Value) -> Case {
    let case = super::addressed("vlan", keys, ipam).with("vlanId", json!(7));
    case.of_second("vlanId", json!(8))
}

/// Both containers are in one.
fn of_id(id: Value) -> Case {
    super::addressed("vlan", json!({"vlanId": id}), ipv4())
}

in_machine_cases! {
    dual_stack_with_default_routes: vlan(json!({}), with_default_routes()).deleted_twice();
    the_last_id: vlan(json!({}), ipv4()).of_second("vlanId", json!(4094));
    an_id_that_is_too_large: of_id(json!(4095)).fails();
    an_id_that_is_negative: of_id(json!(-1)).fails();
    one_id_for_both_containers: of_id(json!(7)).succeeds_once();
    an_id_that_the_host_has:
        of_id(json!(7)).host("link add link eth1 name eth1.7 type vlan id 7").fails();
    a_small_mtu: vlan(json!({"mtu": 1400}), ipv4());
    an_mtu_above_the_masters: vlan(json!({"mtu": 9000}), ipv4()).fails();
    no_such_master: vlan(json!({}), ipv4()).with("master", json!("eth9")).fails();
    no_master: vlan(json!({}), ipv4()).with("master", json!("")).fails();
    a_master_that_is_down: super::over_what_is_down(
        "vlan",
        json!({"master": "eth1", "vlanId": 7, "ipam": super::of_static("10.1.0.7/24")}),
    ).fails();
    without_ipam: super::over_eth1("vlan", json!({"vlanId": 7})).fails();
    addresses_of_static:
        super::over_eth1("vlan", json!({"vlanId": 7, "ipam": super::of_static("10.1.0.7/24")})).of_second("vlanId", json!(8));
    dns_of_the_ipam_plugin: vlan(
        json!({}),
        json!({"subnet": "10.1.0.0/24", "resolvConf": "/etc/resolv.conf"}),
    ).file("etc/resolv.conf", "nameserver 192.0.2.1\n");
    an_interface_of_that_name_exists:
        vlan(json!({}), ipv4())
            .in_containers("link add net1 type dummy")
            .in_containers("link add link net1 name eth0 type vlan id 9")
            .fails();
}

super::common_cases!(in_machine_cases, vlan, json!({"vlanId": 7}));

#[test]
#[ignore = "needs a kernel with VLANs: `machine` runs it"]
fn a_master_in_the_container() -> Result<()> {
    let link = super::in_container("vlan", json!({"vlanId": 7}))?;
    assert_eq!(link["link"], "net1", "{link:#}");
    assert_eq!(link["linkinfo"]["info_data"]["id"], 7, "{link:#}");
    Ok(())
}

#[test]
#[ignore = "needs a kernel with VLANs: `machine` runs it"]
fn an_error_says_that_the_vlan_is_taken() -> Result<()> {
    let side = Side::create(Whose::Weir, 1)?;
    side.node.tools(
        "ip",
        &[
            "link add eth1 type dummy",
            "link set eth1 up",
            "link add link eth1 name eth1.7 type vlan id 7",
        ],
    )?;
    let config = json!({
        "cniVersion": "1.1.0", "name": "net", "type": "vlan", "master": "eth1", "vlanId": 7,
        "ipam": {"type": "host-local", "subnet": "10.1.0.0/24"},
    });
    let error = side.call("ADD", 0, &config, None)?.error();
    let text = error["msg"].as_str().unwrap_or_default();
    assert!(
        text.ends_with("vlanId: VLAN 7 is taken on master `eth1`"),
        "{error:#}"
    );
    Ok(())
}
