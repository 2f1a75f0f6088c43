//! What stands in the nftables of the calling thread's network namespace.

use std::collections::BTreeMap;

use netlink_bindings::nftables::{
    ChainAttrs, PushSetelemListAttrs, RuleAttrs, SetAttrs, SetelemListAttrs, TableAttrs,
};

use crate::error::{Result, WhileDoing as _};
use crate::netlink::{MessageType, NetfilterSocket};

/// `NFNL_SUBSYS_NFTABLES`.
const SUBSYSTEM: u8 = 10;

/// `NFT_MSG_GET…`
const GET_TABLE: MessageType = MessageType::new(SUBSYSTEM, 1);
const GET_CHAIN: MessageType = MessageType::new(SUBSYSTEM, 4);
const GET_RULE: MessageType = MessageType::new(SUBSYSTEM, 7);
const GET_SET: MessageType = MessageType::new(SUBSYSTEM, 10);
const GET_ELEMENTS: MessageType = MessageType::new(SUBSYSTEM, 13);

/// `NFPROTO_…`
const FAMILIES: [(u8, &str); 6] = [
    (1, "inet"),
    (2, "ip"),
    (3, "arp"),
    (5, "netdev"),
    (7, "bridge"),
    (10, "ip6"),
];

/// One line for each table, chain and set, with how much is in it.
pub(super) fn things() -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for (family, word) in FAMILIES {
        let found = of_family(family).while_doing("read nftables")?;
        lines.extend(
            found
                .into_iter()
                .map(|line| format!("nftables {word} {line}")),
        );
    }
    Ok(lines)
}

fn of_family(family: u8) -> Result<Vec<String>> {
    let mut socket = NetfilterSocket::open()?;
    let mut lines = Vec::new();
    for object in socket.dump(GET_TABLE, family, |_| {})? {
        if let Ok(name) = TableAttrs::new(&object).get_name() {
            lines.push(format!("table {}", name.to_string_lossy()));
        }
    }
    if lines.is_empty() {
        return Ok(lines);
    }
    let rules = rules(&mut socket, family)?;
    for object in socket.dump(GET_CHAIN, family, |_| {})? {
        let attributes = ChainAttrs::new(&object);
        if let (Ok(table), Ok(name)) = (attributes.get_table(), attributes.get_name()) {
            let place = (text(table), text(name));
            let count = rules.get(&place).copied().unwrap_or_default();
            let (table, name) = place;
            lines.push(format!("chain {table}/{name}: {count} rules"));
        }
    }
    for object in socket.dump(GET_SET, family, |_| {})? {
        let attributes = SetAttrs::new(&object);
        if let (Ok(table), Ok(name)) = (attributes.get_table(), attributes.get_name()) {
            let (table, name) = (text(table), text(name));
            let count = elements(&mut socket, family, &table, &name)?;
            lines.push(format!("set {table}/{name}: {count} elements"));
        }
    }
    Ok(lines)
}

/// How many rules each chain has, by table and chain.
fn rules(socket: &mut NetfilterSocket, family: u8) -> Result<BTreeMap<(String, String), usize>> {
    let mut rules = BTreeMap::new();
    for object in socket.dump(GET_RULE, family, |_| {})? {
        let attributes = RuleAttrs::new(&object);
        if let (Ok(table), Ok(chain)) = (attributes.get_table(), attributes.get_chain()) {
            *rules.entry((text(table), text(chain))).or_default() += 1;
        }
    }
    Ok(rules)
}

fn elements(socket: &mut NetfilterSocket, family: u8, table: &str, set: &str) -> Result<usize> {
    let objects = socket.dump(GET_ELEMENTS, family, |bytes| {
        let attributes = PushSetelemListAttrs::new(bytes).push_table_bytes(table.as_bytes());
        attributes.push_set_bytes(set.as_bytes());
    })?;
    let counts = objects.iter().map(|object| {
        // A set without elements has no list of them.
        let list = SetelemListAttrs::new(object).get_elements();
        list.map_or(0, |list| list.get_elem().count())
    });
    Ok(counts.sum())
}

fn text(name: &std::ffi::CStr) -> String {
    name.to_string_lossy().into_owned()
}
