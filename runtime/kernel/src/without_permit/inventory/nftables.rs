//! What is in the nftables of the calling thread's network namespace.

use std::collections::BTreeMap;

use netlink_bindings::nftables::{ChainAttrs, RuleAttrs, SetAttrs, SetelemListAttrs, TableAttrs};

use crate::error::{Result, WhileDoing as _};
use weir_grant::firewall::Family;

use crate::firewall::family::protocol_family;
use crate::firewall::kind::Kind;
use crate::firewall::object_name;
use crate::netlink::NetfilterSocket;

/// One line for each table, chain and set, with how much is in it.
pub(super) fn things() -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for family in Family::ALL.iter().copied() {
        let found = of_family(protocol_family(family)).while_doing("read nftables")?;
        let found = found.into_iter();
        lines.extend(found.map(|line| format!("nftables {family} {line}")));
    }
    Ok(lines)
}

fn of_family(family: u8) -> Result<Vec<String>> {
    let mut socket = NetfilterSocket::open()?;
    let mut lines = Vec::new();
    for object in socket.dump(Kind::GetTable, family, |_| {})? {
        if let Ok(name) = TableAttrs::new(&object).get_name() {
            lines.push(format!("table {}", name.to_string_lossy()));
        }
    }
    if lines.is_empty() {
        return Ok(lines);
    }
    let rules = rules(&mut socket, family)?;
    for object in socket.dump(Kind::GetChain, family, |_| {})? {
        let attributes = ChainAttrs::new(&object);
        if let (Ok(table), Ok(name)) = (attributes.get_table(), attributes.get_name()) {
            let place = (text(table), text(name));
            let count = rules.get(&place).copied().unwrap_or_default();
            let (table, name) = place;
            lines.push(format!("chain {table}/{name}: {count} rules"));
        }
    }
    for object in socket.dump(Kind::GetSet, family, |_| {})? {
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
    for object in socket.dump(Kind::GetRule, family, |_| {})? {
        let attributes = RuleAttrs::new(&object);
        if let (Ok(table), Ok(chain)) = (attributes.get_table(), attributes.get_chain()) {
            *rules.entry((text(table), text(chain))).or_default() += 1;
        }
    }
    Ok(rules)
}

fn elements(socket: &mut NetfilterSocket, family: u8, table: &str, set: &str) -> Result<usize> {
    let objects = socket.dump(Kind::GetElements, family, |bytes| {
        object_name::elements(bytes, table, set);
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
