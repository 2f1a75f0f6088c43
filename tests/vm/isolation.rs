//! Inside the machine: `portIsolation`.

use std::net::IpAddr;

use serde_json::{Value, json};
use weir_kit::Node;

use crate::attached::Attached;
use crate::station::{Ear, Station};

fn is_isolated(node: &Node, attached: &Attached) -> Value {
    let shown = node.tool(
        "bridge",
        &format!("-d -j link show dev {}", attached.port()),
    );
    let shown: Value = serde_json::from_str(&shown.expect("bridge link")).expect("JSON");
    shown[0]["isolated"].clone()
}

fn gateway<'n>(node: &'n Node, link: &str) -> Station<'n> {
    let address: IpAddr = "10.7.0.1".parse().expect("an address");
    Station::on_host(node, link, address)
}

/// Of two isolated ports and the gateway, one port hears the gateway and not the other port.
fn hears_the_gateway_alone(at_one: &Ear, one: &Attached, other: &Attached, gateway: &Station) {
    other
        .station()
        .send(&one.station(), "from an isolated port");
    gateway.send(&one.station(), "from the gateway");
    assert_eq!(at_one.next().text, "from the gateway");
}

#[test]
#[ignore = "runs in the virtual machine"]
fn isolated_ports_reach_the_gateway_and_not_each_other() {
    let node = Node::create().expect("a node");
    let attach = |keys| Attached::new(&node, keys);
    let isolated = json!({ "portIsolation": true, "isGateway": true });
    let [one, other] = [(); 2].map(|()| attach(isolated.clone()));
    let open = attach(json!({ "isGateway": true }));
    assert_eq!(is_isolated(&node, &one), true);
    assert_eq!(is_isolated(&node, &open), false);

    let gateway = gateway(&node, "cni0");
    let at_one = one.station().listen();
    hears_the_gateway_alone(&at_one, &one, &other, &gateway);
    other
        .station()
        .send(&one.station(), "from an isolated port");
    open.station().send(&one.station(), "from an open port");
    assert_eq!(at_one.next().text, "from an open port");

    let at_gateway = gateway.listen();
    one.station().send_routed(&gateway, "by ARP");
    assert_eq!(at_gateway.next().text, "by ARP");
    for attached in [&one, &other, &open] {
        assert!(attached.call("CHECK").succeeded());
        assert!(attached.call("DEL").succeeded());
    }
    assert_eq!(node.taken("net"), Vec::<String>::new());
}

#[test]
#[ignore = "runs in the virtual machine"]
fn isolation_holds_within_a_vlan() {
    let node = Node::create().expect("a node");
    let keys = json!({ "portIsolation": true, "vlan": 7, "isGateway": true });
    let [one, other] = [(); 2].map(|()| Attached::new(&node, keys.clone()));
    assert_eq!(one.vlans(), ["1 untagged", "7 PVID untagged"]);
    let at_one = one.station().listen();
    hears_the_gateway_alone(&at_one, &one, &other, &gateway(&node, "cni0.7"));
}
