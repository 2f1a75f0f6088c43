//! The plugin `vrf`: attachments at once, and what an interface keeps when it is put into a VRF.

use std::collections::BTreeSet;
use std::thread;

use serde_json::{Value, json};
use weir_kit::{Container, Node, Outcome, assert_contains, weir};

/// How many attachments are made at once.
const AT_ONCE: usize = 6;

struct VrfNode {
    node: Node,
    container: Container,
}

impl VrfNode {
    /// A container with interfaces of these names.
    fn with(interfaces: &[&str]) -> Self {
        let (node, container) = Node::with_container().expect("a node");
        for interface in interfaces {
            let lines = [
                format!("link add {interface} type dummy"),
                format!("link set {interface} up"),
            ];
            lines
                .iter()
                .for_each(|line| drop(container.ip(line).expect("an interface")));
        }
        Self { node, container }
    }

    fn call(&self, command: &str, ifname: &str, keys: &Value) -> Outcome {
        let mut config = keys.clone();
        config["cniVersion"] = json!("1.1.0");
        config["name"] = json!("net");
        config["type"] = json!("vrf");
        config["prevResult"] = json!({"cniVersion": "1.1.0", "interfaces": [{"name": ifname}]});
        let mut call = weir(&self.node, "vrf", command, &self.container, &config);
        call.set("CNI_IFNAME", ifname);
        self.node.run(&call).expect("weir runs")
    }

    /// The VRFs' names and tables.
    fn vrfs(&self) -> Vec<(String, u64)> {
        let shown = self
            .container
            .ip_json("link show type vrf")
            .expect("the VRFs");
        let shown = shown.as_array().expect("a list").iter();
        let shown = shown.map(|vrf| {
            let name = vrf["ifname"].as_str().expect("a name");
            let table = &vrf["linkinfo"]["info_data"]["table"];
            (name.to_owned(), table.as_u64().expect("a table"))
        });
        shown.collect()
    }

    fn master(&self, interface: &str) -> Value {
        let shown = self
            .container
            .ip_json(&format!("link show dev {interface}"));
        shown.expect("the interface")[0]["master"].clone()
    }
}

#[test]
#[ignore = "needs a kernel with vrf: `machine` runs it"]
fn attachments_at_once_have_tables_of_their_own() {
    let names: Vec<String> = (0..AT_ONCE).map(|number| format!("net{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let fixture = VrfNode::with(&names);
    let all = |command: &str| {
        let fixture = &fixture;
        thread::scope(|scope| {
            for name in &names {
                let keys = json!({ "vrfname": format!("vrf-{name}") });
                scope.spawn(move || fixture.call(command, name, &keys).result());
            }
        });
    };
    all("ADD");
    let tables: BTreeSet<u64> = fixture.vrfs().into_iter().map(|(_, table)| table).collect();
    assert_eq!(tables.len(), AT_ONCE, "{:?}", fixture.vrfs());
    for name in &names {
        assert_eq!(fixture.master(name), format!("vrf-{name}"));
    }
    all("DEL");
    assert_eq!(fixture.vrfs(), []);
}

#[test]
#[ignore = "needs a kernel with vrf: `machine` runs it"]
fn an_attachment_keeps_its_vrf_beside_the_del_of_the_last() {
    let fixture = VrfNode::with(&["net0", "net1"]);
    let red = json!({"vrfname": "red"});
    for (old, new) in [("net0", "net1"), ("net1", "net0"), ("net0", "net1")] {
        fixture.call("DEL", new, &red).result();
        if fixture.master(old) != "red" {
            fixture.call("ADD", old, &red).result();
        }
        thread::scope(|scope| {
            scope.spawn(|| fixture.call("DEL", old, &red).result());
            scope.spawn(|| fixture.call("ADD", new, &red).result());
        });
        assert_eq!(
            (fixture.master(old), fixture.master(new)),
            (Value::Null, json!("red"))
        );
    }
}

#[test]
#[ignore = "needs a kernel with vrf: `machine` runs it"]
fn routes_and_addresses_are_the_interfaces_afterwards_too() {
    let fixture = VrfNode::with(&["eth0"]);
    let lines = [
        "address add 10.1.0.5/24 dev eth0",
        "address add fd00:1::5/64 dev eth0 nodad",
        "route add default via 10.1.0.1 dev eth0",
        "route add 10.9.0.0/16 dev eth0 scope link",
        "route add 10.8.0.0/16 dev eth0 table 100",
        "route add default via fd00:1::1 dev eth0",
    ];
    fixture.container.ips(&lines).expect("routes");
    fixture
        .call("ADD", "eth0", &json!({"vrfname": "red", "table": 7}))
        .result();
    let shown = |words: &str| fixture.container.ip(words).expect("ip");
    assert_contains(
        &shown("route show table 7"),
        &[
            "default via 10.1.0.1 dev eth0",
            "10.9.0.0/16 dev eth0 scope link",
            "10.1.0.0/24 dev eth0",
        ],
    );
    assert_contains(&shown("route show table 100"), &["10.8.0.0/16 dev eth0"]);
    assert_contains(
        &shown("-6 route show table 7"),
        &["default via fd00:1::1 dev eth0", "fd00:1::/64 dev eth0"],
    );
    assert_eq!(shown("route show table main"), "");
    assert_contains(
        &shown("address show dev eth0"),
        &["10.1.0.5/24", "fd00:1::5/64"],
    );
}

#[test]
#[ignore = "needs a kernel with vrf: `machine` runs it"]
fn a_table_of_another_vrf_and_a_renamed_interface() {
    let fixture = VrfNode::with(&["net0", "net1"]);
    let vrf = |name: &str, table: u32| json!({"vrfname": name, "table": table});
    fixture.call("ADD", "net0", &vrf("red", 7)).result();
    let taken = fixture.call("ADD", "net1", &vrf("blue", 7));
    taken.refused(110, &["table", "7", "VRF `red`"]);
    let other = fixture.call("ADD", "net1", &vrf("red", 8));
    other.refused(110, &["table", "VRF `red`", "7", "8"]);
    assert_eq!(fixture.vrfs(), [("red".to_owned(), 7)]);

    // The interface of this attachment is gone: the VRF stays with the other's.
    fixture.call("ADD", "net1", &vrf("red", 7)).result();
    fixture.container.ip("link delete net0").expect("ip");
    fixture.call("DEL", "net0", &vrf("red", 7)).result();
    assert_eq!(fixture.master("net1"), "red");
    fixture.call("DEL", "net1", &vrf("red", 7)).result();
    assert_eq!(fixture.vrfs(), []);
}
