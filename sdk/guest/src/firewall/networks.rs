//! A set on the host of pairs of a network with itself: whether two addresses are in one network.
//!
//! ```text
//! set local4 { type ipv4_addr . ipv4_addr; flags interval; elements = { 10.1.0.0/16 . 10.1.0.0/16 } }
//! ```
//!
//! The kernel refuses elements that overlap, so that of networks that lie in each other the largest one
//! is in the set.

use std::net::IpAddr;

use ipnet::IpNet;

use super::owned::{deletion, if_any};
use super::{Command, DataType, Element, Elements, Family, Set, Value};
use crate::{Namespace, Result, firewall};

/// Returns the set, for addresses of one type.
pub fn set(name: &str, address: DataType) -> Set {
    Set::ranges(name, [address, address])
}

/// Returns the command that adds the network of an address. It fails with `exists` where another network is in
/// the way; see [`replacing`].
pub fn adding(set: &str, address: &IpNet) -> Command {
    let (first, last) = (address.network(), address.broadcast());
    let network = Element::range([first.into(), first.into()], [last.into(), last.into()]);
    Command::AddElements(Elements::of(set, [network]))
}

/// Returns the commands that add the network of an address where other networks may lie in it, or it in them.
pub fn replacing(family: Family, set: &str, address: &IpNet) -> Result<Vec<Command>> {
    let known = firewall::list_elements(Namespace::Host, family, set)?;
    if known.iter().any(|known| contains(known, address)) {
        return Ok(Vec::new());
    }
    let inner = known.into_iter().filter(|known| lies_in(known, address));
    let mut commands: Vec<Command> = inner.map(|known| deletion((set, known))).collect();
    commands.push(adding(set, address));
    Ok(commands)
}

/// Whether the network of an address is in the set, alone or in a larger one.
pub fn has(family: Family, set: &str, address: &IpNet) -> Result<bool> {
    let first = [address.network().into(), address.network().into()];
    let found = if_any(firewall::get_element(Namespace::Host, family, set, &first))?;
    Ok(found
        .flatten()
        .is_some_and(|known| contains(&known, address)))
}

/// First and last address of a network.
fn bounds(known: &Element) -> Option<(IpAddr, IpAddr)> {
    let source = |key: &[Value]| match key.first() {
        Some(Value::Address(address)) => Some(IpAddr::from(*address)),
        _ => None,
    };
    let last = known.key_end.as_deref().unwrap_or(&known.key);
    Some((source(&known.key)?, source(last)?))
}

fn contains(known: &Element, network: &IpNet) -> bool {
    bounds(known)
        .is_some_and(|(first, last)| first <= network.network() && network.broadcast() <= last)
}

fn lies_in(known: &Element, network: &IpNet) -> bool {
    bounds(known)
        .is_some_and(|(first, last)| network.network() <= first && last <= network.broadcast())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> IpNet {
        text.parse().unwrap()
    }

    fn element(text: &str) -> Element {
        let Command::AddElements(added) = adding("local", &net(text)) else {
            panic!("another command");
        };
        added.elements.into_iter().next().unwrap()
    }

    #[test]
    fn networks_that_lie_in_each_other_are_recognised() {
        for (outer, inner) in [("10.1.0.0/16", "10.1.2.0/24"), ("fd00::/48", "fd00::/64")] {
            assert!(contains(&element(outer), &net(inner)));
            assert!(!contains(&element(inner), &net(outer)));
            assert!(lies_in(&element(inner), &net(outer)));
            assert!(!lies_in(&element(outer), &net(inner)));
        }
        let same = "10.1.0.0/16";
        assert!(contains(&element(same), &net(same)) && lies_in(&element(same), &net(same)));
        assert!(!contains(&element(same), &net("10.2.0.0/16")));
        assert!(!lies_in(&element(same), &net("10.2.0.0/16")));
    }

    #[test]
    fn a_network_is_added_whole() {
        let address = |text: &str| Value::from(text.parse::<IpAddr>().unwrap());
        let element = element("10.1.2.3/16");
        assert_eq!(element.key, [address("10.1.0.0"), address("10.1.0.0")]);
        let end = element.key_end.as_deref().unwrap();
        assert_eq!(end, [address("10.1.255.255"), address("10.1.255.255")]);
    }
}
