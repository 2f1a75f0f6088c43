//! A container that weir or the reference attached to a network.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::{Value, json};
use weir_kit::{Container, Node, Outcome, reference, weir, with_keys};

use crate::station::Station;

/// Who is called.
#[derive(Clone, Copy, Debug)]
pub enum By {
    Weir,
    Reference,
}

/// A container on a network, with what ADD answered.
pub struct Attached<'a> {
    node: &'a Node,
    by: By,
    config: Value,
    pub container: Container,
    pub result: Value,
}

/// A network of the plugin `bridge` with these keys beside the usual ones.
pub fn network(keys: Value) -> Value {
    let config = json!({
        "cniVersion": "1.0.0",
        "name": "net",
        "type": "bridge",
        "bridge": "cni0",
        "ipam": { "type": "host-local", "subnet": "10.7.0.0/24" },
    });
    with_keys(config, keys)
}

impl<'a> Attached<'a> {
    /// Calls weir's ADD for a new container, which must succeed.
    pub fn new(node: &'a Node, keys: Value) -> Self {
        Self::by(By::Weir, node, keys)
    }

    /// Calls someone's ADD for a new container, which must succeed.
    pub fn by(by: By, node: &'a Node, keys: Value) -> Self {
        let container = node.container().expect("a container");
        let mut config = network(keys);
        if let By::Reference = by {
            // It has no `WEIR_ROOT`.
            config["ipam"]["dataDir"] = json!(node.root().join("leases"));
        }
        let result = call(node, by, "ADD", &container, &config).result();
        config["prevResult"] = result.clone();
        Self {
            node,
            by,
            config,
            container,
            result,
        }
    }

    /// Calls CHECK or DEL with the result of ADD.
    pub fn call(&self, command: &str) -> Outcome {
        call(self.node, self.by, command, &self.container, &self.config)
    }

    /// The host's end of the pair.
    pub fn port(&self) -> &str {
        self.result["interfaces"][1]["name"]
            .as_str()
            .expect("the host's end")
    }

    /// The first address.
    pub fn address(&self) -> IpAddr {
        let address = self.result["ips"][0]["address"]
            .as_str()
            .expect("an address");
        let (address, _) = address.split_once('/').expect("a prefix length");
        address.parse().expect("an address")
    }

    /// The container on its network.
    pub fn station(&self) -> Station<'_> {
        Station::in_container(&self.container, "eth0", self.address())
    }

    /// The VLANs of its port.
    pub fn vlans(&self) -> Vec<String> {
        vlans(self.node).remove(self.port()).unwrap_or_default()
    }
}

fn call(node: &Node, by: By, command: &str, container: &Container, config: &Value) -> Outcome {
    let call = match by {
        By::Weir => weir(node, "bridge", command, container, config),
        By::Reference => reference("bridge", command, container, config),
    };
    node.run(&call).expect("the plugin runs")
}

/// What `bridge vlan` shows of each link: `7 PVID untagged`, `20-29`.
pub fn vlans(node: &Node) -> BTreeMap<String, Vec<String>> {
    let shown = node.tool("bridge", "-compressvlans -j vlan show");
    let links: Value = serde_json::from_str(&shown.expect("bridge vlan")).expect("JSON");
    let links = links.as_array().expect("links").iter();
    let read = |link: &Value| {
        let name = link["ifname"].as_str().expect("a name").to_owned();
        let vlans = link["vlans"].as_array().expect("VLANs");
        (name, vlans.iter().map(vlan).collect())
    };
    links.map(read).collect()
}

fn vlan(entry: &Value) -> String {
    let mut text = entry["vlan"].to_string();
    if let Some(last) = entry.get("vlanEnd") {
        text.push_str(&format!("-{last}"));
    }
    let flags = entry["flags"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    for (flag, word) in [("PVID", " PVID"), ("Egress Untagged", " untagged")] {
        if flags.contains(&flag.into()) {
            text.push_str(word);
        }
    }
    text
}
