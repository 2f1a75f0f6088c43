//! Inside the machine: `ipMasq` and `macspoofchk`, on a kernel whose nftables are modules.

use std::net::IpAddr;

use serde_json::json;
use weir_kit::{Container, Node, assert_contains};

use crate::attached::Attached;
use crate::station::{Heard, Station};

fn ruleset(node: &Node) -> String {
    node.tool("nft", "list ruleset").expect("nft")
}

fn has(ruleset: &str, words: &[&str]) {
    assert_contains(ruleset, words);
}

/// A container beyond the host, which knows no way back to the pods.
fn outside(node: &Node) -> Container {
    let outside = node.container().expect("a container");
    let netns = outside.netns();
    for words in [
        "link add outside type veth peer name inside".to_owned(),
        format!("link set inside netns {}", netns.display()),
        "address add 192.0.2.1/24 dev outside".to_owned(),
        "link set outside up".to_owned(),
    ] {
        node.ip(&words).expect("ip");
    }
    for words in ["address add 192.0.2.2/24 dev inside", "link set inside up"] {
        outside.ip(words).expect("ip");
    }
    outside
}

#[test]
#[ignore = "runs in the virtual machine"]
fn ip_masq_hides_pods_from_other_networks_alone() {
    let node = Node::create().expect("a node");
    let beyond = outside(&node);
    let address = |text: &str| -> IpAddr { text.parse().expect("an address") };
    let beyond = Station::in_container(&beyond, "inside", address("192.0.2.2"));
    let keys = json!({ "ipMasq": true, "isDefaultGateway": true });
    let [one, other] = [(); 2].map(|()| Attached::new(&node, keys.clone()));
    has(
        &ruleset(&node),
        &[
            "ip saddr . ip daddr @local4 return",
            "ip saddr @pods4 masquerade",
        ],
    );

    let ear = beyond.listen();
    one.station().send_routed(&beyond, "hidden");
    let hidden = Heard {
        from: address("192.0.2.1"),
        text: "hidden".to_owned(),
    };
    assert_eq!(ear.next(), hidden);
    let ear = other.station().listen();
    one.station().send(&other.station(), "to a neighbour");
    assert_eq!(ear.next().from, one.station().address());

    assert!(one.call("CHECK").succeeded());
    assert!(one.call("DEL").succeeded());
    let left = ruleset(&node);
    let own = format!("{} comment", one.address());
    assert!(!left.contains(&own), "{left}");
    has(&left, &[&format!("{} comment", other.address())]);
    assert!(other.call("DEL").succeeded());
    // What belongs to an attachment says so; the networks that are not masqueraded stay.
    let left = ruleset(&node);
    let mut lines = left.lines().map(str::trim_start);
    let is_owned = |line: &str| line.starts_with("elements") && line.contains("comment");
    assert!(!lines.any(is_owned), "{left}");
}

#[test]
#[ignore = "runs in the virtual machine"]
fn networks_may_lie_in_each_other() {
    let subnets = [
        "10.7.0.0/24",
        "10.7.0.0/16",
        "10.7.1.0/24",
        "10.0.0.0/8",
        "10.7.0.0/24",
    ];
    for subnets in [subnets.to_vec(), subnets.into_iter().rev().collect()] {
        let node = Node::create().expect("a node");
        for (index, subnet) in subnets.iter().enumerate() {
            let attached = Attached::new(
                &node,
                json!({
                    "name": format!("net{index}"),
                    "bridge": format!("cni{index}"),
                    "ipMasq": true,
                    "ipam": { "type": "host-local", "subnet": subnet },
                }),
            );
            has(
                &ruleset(&node),
                &[&format!("{} comment", attached.address())],
            );
        }
    }
}

#[test]
#[ignore = "runs in the virtual machine"]
fn macspoofchk_drops_foreign_sources_in_a_vlan_too() {
    for keys in [
        json!({ "macspoofchk": true }),
        json!({ "macspoofchk": true, "vlan": 7 }),
    ] {
        let node = Node::create().expect("a node");
        let one = Attached::new(&node, keys.clone());
        let other = Attached::new(&node, keys);
        let (from, to) = (one.station(), other.station());
        let port = format!("\"{}\" . {}", one.port(), from.mac());
        has(
            &ruleset(&node),
            &["iifname @links iifname . ether saddr != @macs drop", &port],
        );

        let ear = to.listen();
        from.send(&to, "honest");
        assert_eq!(ear.next().text, "honest");
        let own = from.mac();
        from.set_mac("02:00:00:00:00:66");
        from.send(&to, "spoofed");
        from.set_mac(&own);
        from.send(&to, "honest again");
        assert_eq!(ear.next().text, "honest again");

        assert!(one.call("DEL").succeeded());
        assert!(!ruleset(&node).contains(one.port()));
        has(&ruleset(&node), &[other.port()]);
        assert!(other.call("DEL").succeeded());
        assert!(!ruleset(&node).contains("elements"));
    }
}
