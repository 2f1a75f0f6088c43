//! Inside the machine: `vlan` and `preserveDefaultVlan`.

use std::net::IpAddr;

use serde_json::{Value, json};
use weir_kit::state::State;
use weir_kit::{Node, assert_contains, weir};

use crate::attached::{Attached, By, network, vlans};
use crate::station::Station;

fn node() -> Node {
    Node::create().expect("a node")
}

/// What a call left, with names and MACs that differ from call to call replaced by roles.
fn outcome(by: By, version: &str, keys: &Value) -> (Value, Value) {
    let node = node();
    let mut keys = keys.clone();
    keys["cniVersion"] = json!(version);
    let attached = Attached::by(by, &node, keys);
    let port = attached.port().to_owned();
    let role = |name: &str| match name {
        _ if name == port => "port".to_owned(),
        _ if name.starts_with("veth") => "gateway's port".to_owned(),
        _ => name.to_owned(),
    };
    let mut result = attached.result.clone();
    // The reference shows that it has none.
    if result.get("dns") == Some(&json!({})) {
        result.as_object_mut().expect("an object").remove("dns");
    }
    for interface in result["interfaces"].as_array_mut().expect("interfaces") {
        interface["name"] = json!(role(interface["name"].as_str().expect("a name")));
        for key in ["mac", "sandbox"] {
            if let Some(value) = interface.get_mut(key) {
                assert_ne!(value, "", "{key} is empty");
                *value = json!(key);
            }
        }
    }
    let members = vlans(&node)
        .into_iter()
        .map(|(name, vlans)| (role(&name), json!(vlans)));
    let addresses = State::of(&node).expect("the state").addresses;
    let kernel = json!({
        "vlans": members.collect::<serde_json::Map<_, _>>(),
        "addresses": addresses,
        "filtering": filtering(&node),
    });
    // CHECK came with 0.4.0.
    let commands = if version < "0.4.0" {
        &["DEL"][..]
    } else {
        &["CHECK", "DEL"]
    };
    for command in commands {
        let outcome = attached.call(command);
        assert!(outcome.succeeded(), "{by:?} {command}: {outcome:?}");
    }
    assert!(!vlans(&node).contains_key(&port), "{by:?} left the port");
    (result, kernel)
}

fn filtering(node: &Node) -> Value {
    let bridge = node.ip_json("link show dev cni0").expect("the bridge");
    bridge[0]["linkinfo"]["info_data"]["vlan_filtering"].clone()
}

#[test]
#[ignore = "runs in the virtual machine"]
fn results_and_vlans_are_the_references() {
    let gateway = json!({ "vlan": 7, "isGateway": true });
    for (version, keys) in [
        ("1.0.0", json!({ "vlan": 7 })),
        (
            "1.0.0",
            json!({ "vlan": 4094, "isDefaultGateway": true, "hairpinMode": true }),
        ),
        (
            "1.0.0",
            json!({ "vlan": 7, "isGateway": true, "mtu": 1400 }),
        ),
        ("1.0.0", gateway.clone()),
        ("0.4.0", gateway.clone()),
        ("0.3.1", gateway),
    ] {
        let ours = outcome(By::Weir, version, &keys);
        let reference = outcome(By::Reference, version, &keys);
        assert_eq!(ours, reference, "{version} {keys}");
    }
}

#[test]
#[ignore = "runs in the virtual machine"]
fn the_default_vlan_stays_unless_it_is_not_wanted() {
    let node = node();
    let of_port = |keys| Attached::new(&node, keys).vlans();
    let both = ["1 untagged", "7 PVID untagged"];
    assert_eq!(of_port(json!({ "vlan": 7 })), both);
    assert_eq!(
        of_port(json!({ "vlan": 7, "preserveDefaultVlan": true })),
        both
    );
    let alone = ["7 PVID untagged"];
    assert_eq!(
        of_port(json!({ "vlan": 7, "preserveDefaultVlan": false })),
        alone
    );
}

#[test]
#[ignore = "runs in the virtual machine"]
fn containers_of_one_vlan_reach_each_other_and_no_other() {
    for preserve in [true, false] {
        let node = node();
        let in_vlan = |vlan: u16| {
            let keys = json!({ "vlan": vlan, "preserveDefaultVlan": preserve });
            Attached::new(&node, keys)
        };
        let (one, mate, stranger) = (in_vlan(7), in_vlan(7), in_vlan(8));
        let ear = one.station().listen();
        stranger.station().send(&one.station(), "from another VLAN");
        mate.station().send(&one.station(), "from the same VLAN");
        assert_eq!(ear.next().text, "from the same VLAN");
        let ear = stranger.station().listen();
        one.station().send(&stranger.station(), "from another VLAN");
        let friend = in_vlan(8);
        friend
            .station()
            .send(&stranger.station(), "from the same VLAN");
        assert_eq!(ear.next().text, "from the same VLAN");
    }
}

#[test]
#[ignore = "runs in the virtual machine"]
fn a_vlan_has_its_own_gateway() {
    let node = node();
    let keys = |vlan| json!({ "vlan": vlan, "isDefaultGateway": true });
    let one = Attached::new(&node, keys(7));
    let interfaces = one.result["interfaces"].as_array().expect("interfaces");
    assert_eq!(interfaces[3]["name"], "cni0.7");
    // It is found again, and not made twice.
    let mate = Attached::new(&node, keys(7));
    assert_eq!(mate.result["interfaces"][3], interfaces[3]);

    let gateway: IpAddr = "10.7.0.1".parse().expect("an address");
    let gateway = Station::on_host(&node, "cni0.7", gateway);
    let ear = gateway.listen();
    let stranger = Attached::new(&node, json!({ "vlan": 8 }));
    stranger.station().send(&gateway, "from another VLAN");
    one.station().send(&gateway, "from the same VLAN");
    assert_eq!(ear.next().text, "from the same VLAN");
    // With no more than the default route that ADD made, and ARP.
    one.container
        .ip("route get 192.0.2.1")
        .expect("a default route");
    mate.station().send_routed(&gateway, "by ARP");
    assert_eq!(ear.next().text, "by ARP");
}

#[test]
#[ignore = "runs in the virtual machine"]
fn a_bridge_without_filtering_starts_to_filter_and_keeps_its_ports() {
    let node = node();
    node.ip("link add cni0 type bridge").expect("a bridge");
    let [one, mate] = [(); 2].map(|()| Attached::new(&node, json!({})));
    assert_eq!(filtering(&node), 0);
    let stranger = Attached::new(&node, json!({ "vlan": 7, "preserveDefaultVlan": false }));
    assert_eq!(filtering(&node), 1);
    assert_eq!(one.vlans(), ["1 PVID untagged"]);
    assert_eq!(stranger.vlans(), ["7 PVID untagged"]);
    let ear = one.station().listen();
    stranger.station().send(&one.station(), "from another VLAN");
    mate.station().send(&one.station(), "from the same VLAN");
    assert_eq!(ear.next().text, "from the same VLAN");
}

#[test]
#[ignore = "runs in the virtual machine"]
fn del_leaves_what_was_before_the_second_container() {
    let node = node();
    let keys = json!({ "vlan": 7, "isGateway": true, "preserveDefaultVlan": false });
    let first = Attached::new(&node, keys.clone());
    let before = (State::of(&node).expect("the state"), vlans(&node));
    let second = Attached::new(&node, keys);
    assert_ne!(State::of(&node).expect("the state"), before.0);
    assert!(second.call("DEL").succeeded());
    assert!(second.call("DEL").succeeded(), "DEL is idempotent");
    let after = (State::of(&node).expect("the state"), vlans(&node));
    assert_eq!(after, before);
    assert!(first.call("CHECK").succeeded());
}

#[test]
#[ignore = "runs in the virtual machine"]
fn an_add_that_fails_late_leaves_no_port() {
    let node = node();
    let first = Attached::new(&node, json!({ "vlan": 7, "isGateway": true }));
    let before = (State::of(&node).expect("the state"), vlans(&node));
    let ipam = json!({ "type": "host-local", "subnet": "10.8.0.0/24" });
    // The VLAN's interface has the gateway's address of another network.
    let config = network(json!({ "vlan": 7, "isGateway": true, "name": "b", "ipam": ipam }));
    let container = node.container().expect("a container");
    let call = weir(&node, "bridge", "ADD", &container, &config);
    let error = node.run(&call).expect("weir runs").error();
    let msg = error["msg"].as_str().expect("a message");
    assert_contains(
        msg,
        &["`cni0.7` already has an IP address different from 10.8.0.1/24"],
    );
    assert_eq!((State::of(&node).expect("the state"), vlans(&node)), before);
    assert!(first.call("CHECK").succeeded());
}
