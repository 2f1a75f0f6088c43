//! Inside the machine: `vlanTrunk`.

use std::net::IpAddr;

use serde_json::json;
use weir_kit::Node;

use crate::attached::{Attached, vlans};
use crate::station::Station;

/// A station in a VLAN that the container sees tagged.
fn tagged<'a>(attached: &'a Attached, vlan: u16, host: u8) -> Station<'a> {
    let container = &attached.container;
    let (name, address) = (format!("eth0.{vlan}"), format!("10.9.0.{host}"));
    for words in [
        format!("link add link eth0 name {name} type vlan id {vlan}"),
        format!("address add {address}/24 dev {name}"),
        format!("link set {name} up"),
    ] {
        container.ip(&words).expect("ip");
    }
    let address: IpAddr = address.parse().expect("an address");
    Station::in_container(container, &name, address)
}

#[test]
#[ignore = "runs in the virtual machine"]
fn a_trunk_has_its_vlans_tagged() {
    let node = Node::create().expect("a node");
    let trunk = json!([{ "id": 101 }, { "minID": 200, "maxID": 203 }, { "id": 300, "minID": 204, "maxID": 204 }]);
    let of_port = |keys| Attached::new(&node, keys).vlans();
    let with_default = ["1 PVID untagged", "101", "200-204", "300"];
    assert_eq!(of_port(json!({ "vlanTrunk": trunk })), with_default);
    let alone = json!({ "vlanTrunk": trunk, "preserveDefaultVlan": false });
    assert_eq!(of_port(alone), with_default[1..]);
    let all = json!({ "vlanTrunk": [{ "minID": 1, "maxID": 4094 }], "preserveDefaultVlan": false });
    assert_eq!(of_port(all), ["1-4094"]);
}

/// The reference does so since 1.8.0; the machine's is older. A VLAN that is named as both is untagged.
#[test]
#[ignore = "runs in the virtual machine"]
fn a_trunk_has_a_native_vlan() {
    let node = Node::create().expect("a node");
    let keys = |vlan| {
        json!({ "vlan": vlan, "vlanTrunk": [{ "minID": 5, "maxID": 9 }], "preserveDefaultVlan": false,
            "isGateway": true })
    };
    let trunk = Attached::new(&node, keys(101));
    assert_eq!(trunk.vlans(), ["5-9", "101 PVID untagged"]);
    let within = Attached::new(
        &node,
        json!({ "vlan": 7, "vlanTrunk": [{ "minID": 5, "maxID": 9 }],
        "preserveDefaultVlan": false }),
    );
    assert_eq!(within.vlans(), ["5-6", "7 PVID untagged", "8-9"]);
    // The gateway is in the native VLAN alone.
    let gateways: Vec<Vec<String>> = vlans(&node)
        .into_iter()
        .filter(|(name, _)| ![trunk.port(), within.port(), "cni0"].contains(&name.as_str()))
        .map(|(_, vlans)| vlans)
        .collect();
    assert_eq!(gateways, [["101 PVID untagged"]]);

    let mate = Attached::new(&node, json!({ "vlan": 101, "preserveDefaultVlan": false }));
    let ear = mate.station().listen();
    trunk.station().send(&mate.station(), "untagged");
    assert_eq!(ear.next().text, "untagged");
}

#[test]
#[ignore = "runs in the virtual machine"]
fn an_empty_trunk_makes_the_bridge_filter_and_no_more() {
    let node = Node::create().expect("a node");
    let attached = Attached::new(&node, json!({ "vlanTrunk": [] }));
    assert_eq!(attached.vlans(), ["1 PVID untagged"]);
    let bridge = node.ip_json("link show dev cni0").expect("the bridge");
    assert_eq!(bridge[0]["linkinfo"]["info_data"]["vlan_filtering"], 1);
}

#[test]
#[ignore = "runs in the virtual machine"]
fn tagged_frames_pass_in_the_trunks_vlans_alone() {
    let node = Node::create().expect("a node");
    let keys = json!({ "vlanTrunk": [{ "id": 101 }, { "minID": 200, "maxID": 210 }] });
    let [one, mate] = [(); 2].map(|()| Attached::new(&node, keys.clone()));
    let narrow = Attached::new(&node, json!({ "vlanTrunk": [{ "id": 101 }] }));

    let in_101 = [(&one, 1), (&mate, 2), (&narrow, 3)].map(|(a, host)| tagged(a, 101, host));
    let ear = in_101[0].listen();
    for (from, text) in [
        (&in_101[1], "from a mate"),
        (&in_101[2], "from the narrow trunk"),
    ] {
        from.send(&in_101[0], text);
        assert_eq!(ear.next().text, text);
    }
    drop(ear);
    for attached in [&one, &mate, &narrow] {
        attached.container.ip("link delete eth0.101").expect("ip");
    }
    let in_205 = [(&one, 1), (&mate, 2), (&narrow, 3)].map(|(a, host)| tagged(a, 205, host));
    let ear = in_205[0].listen();
    in_205[2].send(&in_205[0], "in a VLAN that is not the sender's");
    in_205[1].send(&in_205[0], "from a mate");
    assert_eq!(ear.next().text, "from a mate");
}

#[test]
#[ignore = "runs in the virtual machine"]
fn a_trunk_and_an_access_port_meet_in_a_vlan() {
    let node = Node::create().expect("a node");
    let trunk = Attached::new(&node, json!({ "vlanTrunk": [{ "id": 7 }] }));
    let access = Attached::new(&node, json!({ "vlan": 7 }));
    access
        .container
        .ip("address add 10.9.0.2/24 dev eth0")
        .expect("ip");
    let access_address: IpAddr = "10.9.0.2".parse().expect("an address");
    let access = Station::in_container(&access.container, "eth0", access_address);
    let trunk = tagged(&trunk, 7, 1);
    let ear = access.listen();
    trunk.send(&access, "tagged, then not");
    assert_eq!(ear.next().text, "tagged, then not");
    let ear = trunk.listen();
    access.send(&trunk, "not, then tagged");
    assert_eq!(ear.next().text, "not, then tagged");
}
