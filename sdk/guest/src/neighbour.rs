//! Capability `neighbour`: neighbour tables, and announcements to them on the wire.

use std::net::IpAddr;

use weir_cni::Mac;

use crate::bindings::weir::cni::neighbour as raw;
use crate::convert::same_fields;
use crate::{IpFamily, LinkReference, Namespace, Result};

pub use raw::State;

/// An entry of a link's neighbour table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The neighbour's address.
    pub address: IpAddr,
    /// Its link-layer address, where known.
    pub mac: Option<Mac>,
    /// How far it is known.
    pub state: State,
    /// A proxy entry; it has no MAC.
    pub proxy: bool,
}

impl Neighbour {
    /// Makes a permanent entry.
    pub fn permanent(address: IpAddr, mac: Mac) -> Self {
        Neighbour {
            address,
            mac: Some(mac),
            state: State::Permanent,
            proxy: false,
        }
    }
}

same_fields! {
    Neighbour => raw::Neighbour { state proxy ; into address ; map mac }
}

/// Adds or replaces an entry. Errors: `not-found`, `invalid`.
pub fn add(namespace: Namespace, link: impl Into<LinkReference>, entry: Neighbour) -> Result<()> {
    raw::add(namespace, &link.into(), &entry.into())
}

/// Removes an entry. Errors: `not-found`.
pub fn delete(namespace: Namespace, link: impl Into<LinkReference>, address: IpAddr) -> Result<()> {
    raw::delete(namespace, &link.into(), address.into())
}

/// Lists the entries of one link.
pub fn list(
    namespace: Namespace,
    link: impl Into<LinkReference>,
    family: Option<IpFamily>,
) -> Result<Vec<Neighbour>> {
    let entries = raw::list(namespace, &link.into(), family)?;
    let typed = |entry: raw::Neighbour| Neighbour {
        address: entry.address.into(),
        mac: entry.mac.as_deref().and_then(Mac::from_bytes),
        state: entry.state,
        proxy: entry.proxy,
    };
    Ok(entries.into_iter().map(typed).collect())
}

/// Announces these addresses to the neighbours: a gratuitous ARP for each IPv4 address, an
/// unsolicited neighbour advertisement for each IPv6 address. Errors: `not-found`, `invalid` when
/// the link does not have one of the addresses.
pub fn announce(
    namespace: Namespace,
    link: impl Into<LinkReference>,
    addresses: impl IntoIterator<Item = IpAddr>,
) -> Result<()> {
    let addresses: Vec<_> = addresses.into_iter().map(Into::into).collect();
    raw::announce(namespace, &link.into(), &addresses)
}
