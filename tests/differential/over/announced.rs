//! Whether the neighbours hear of a container's addresses: the kernel announces them, as with the reference plugins.

use std::net::{Ipv4Addr, Ipv6Addr};

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::ear::{ARP, Ear, IPV6};
use weir_kit::with_keys;

use crate::side::{Side, Whose};

const OF_IPV4: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 7);
const OF_IPV6: Ipv6Addr = Ipv6Addr::new(0xfd00, 1, 0, 0, 0, 0, 0, 7);

/// Where an ARP packet has its operation and its sender, and ICMPv6 its type: behind the Ethernet header.
const ARP_OPERATION: usize = 20;
const ICMPV6_TYPE: usize = 54;

/// An ADD of the plugin with these keys over `eth1`, which must be announced on the wire. Among the cases of a plugin it is
/// one that has nothing to compare.
pub struct Announced {
    pub plugin: &'static str,
    pub keys: Value,
}

impl Announced {
    pub fn in_brief(self) -> Self {
        self
    }

    pub fn run(self) {
        must_be_heard(self.plugin, self.keys).expect("the announcement is heard");
    }
}

fn must_be_heard(plugin: &str, keys: Value) -> Result<()> {
    let side = Side::create(Whose::Weir, 1)?;
    side.node.ip("link add eth1 type veth peer name wire1")?;
    side.node.ip("link set eth1 up")?;
    side.node.ip("link set wire1 up")?;
    let addresses = [
        json!({"address": format!("{OF_IPV4}/24")}),
        json!({"address": format!("{OF_IPV6}/64")}),
    ];
    let config = json!({
        "cniVersion": "1.1.0", "name": "net", "type": plugin, "master": "eth1",
        "ipam": {"type": "static", "addresses": addresses},
    });
    let ear = side.node.inside(Ear::open)?;
    let config = with_keys(config, keys);
    side.call("ADD", 0, &config, None)?.result();
    let link = side.containers[0].ip_json("link show dev eth0")?;
    let mac = link[0]["address"].as_str().unwrap_or_default().to_owned();

    let request = ear.hear(ARP, ARP_OPERATION, &[0, 1])?;
    assert_eq!(mac_at(&request, 22), mac, "the sender");
    assert_eq!(request[28..32], OF_IPV4.octets());
    assert_eq!(request[38..42], OF_IPV4.octets());

    // An unsolicited advertisement, which replaces what a neighbour knows.
    let expected = [&[0x20, 0, 0, 0][..], &OF_IPV6.octets()].concat();
    let advertisement = ear.hear(IPV6, ICMPV6_TYPE + 4, &expected)?;
    assert_eq!(advertisement[ICMPV6_TYPE], 136);
    assert_eq!(mac_at(&advertisement, 80), mac, "the advertised MAC");
    Ok(())
}

fn mac_at(frame: &[u8], at: usize) -> String {
    let bytes = frame[at..at + 6].iter();
    bytes
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .join(":")
}
