//! Capability `neighbour`: entries that a plugin has set, and announcements, which nobody hears.

use std::net::IpAddr;

use super::Call;
use super::error::{ENOENT, Result, invalid};
use crate::bindings::weir::cni::neighbour::{Neighbour, State};
use crate::bindings::weir::cni::types::{IpAddress, IpFamily, LinkReference, Namespace};

pub fn add(namespace: Namespace, link: &LinkReference, entry: &Neighbour) -> Result<()> {
    let call = Call::of("neighbour.add").on(namespace, link);
    call.with(IpAddr::from(entry.address)).run(|machine| {
        let network = machine.network(namespace)?;
        let index = network.index(link)?;
        let entries = &mut network.neighbours;
        entries.retain(|(link, there)| {
            let is_same = (there.address, there.proxy) == (entry.address, entry.proxy);
            *link != index || !is_same
        });
        entries.push((index, as_kept(entry)));
        Ok(())
    })
}

/// A proxy entry has no MAC and does not age.
fn as_kept(entry: &Neighbour) -> Neighbour {
    if entry.proxy {
        Neighbour {
            mac: None,
            state: State::Permanent,
            ..entry.clone()
        }
    } else {
        entry.clone()
    }
}

/// Removes an entry, and only if there is none, a proxy entry.
pub fn delete(namespace: Namespace, link: &LinkReference, address: IpAddress) -> Result<()> {
    let call = Call::of("neighbour.delete").on(namespace, link);
    call.with(IpAddr::from(address)).run(|machine| {
        let network = machine.network(namespace)?;
        let index = network.index(link)?;
        let find = |proxy| {
            let mut entries = network.neighbours.iter();
            entries.position(|(link, e)| (*link, e.address, e.proxy) == (index, address, proxy))
        };
        let at = find(false).or_else(|| find(true)).ok_or(ENOENT)?;
        network.neighbours.remove(at);
        Ok(())
    })
}

pub fn list(
    namespace: Namespace,
    link: &LinkReference,
    family: Option<IpFamily>,
) -> Result<Vec<Neighbour>> {
    Call::of("neighbour.list")
        .on(namespace, link)
        .run(|machine| {
            let network = machine.look(namespace)?;
            let index = network.index(link)?;
            let entries = network.neighbours.iter().filter(|(link, entry)| {
                let is_of = |family| family == IpFamily::of(entry.address.into());
                *link == index && family.is_none_or(is_of)
            });
            Ok(entries.map(|(_, entry)| entry.clone()).collect())
        })
}

pub fn announce(namespace: Namespace, link: &LinkReference, addresses: &[IpAddress]) -> Result<()> {
    let all = addresses.iter().map(|address| IpAddr::from(*address));
    let text = all.clone().map(|address| address.to_string());
    let text = text.collect::<Vec<_>>().join(" ");
    let call = Call::of("neighbour.announce").on(namespace, link);
    call.with(text).run(|machine| {
        let network = machine.look(namespace)?;
        let own = network.addresses_of(network.index(link)?);
        let own: Vec<IpAddr> = own.map(|held| held.address.addr()).collect();
        match all.clone().find(|address| !own.contains(address)) {
            None => Ok(()),
            Some(other) => Err(invalid(format!("{other} is not an address of the link"))),
        }
    })
}
