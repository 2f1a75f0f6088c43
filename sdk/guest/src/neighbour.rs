//! Capability `neighbour`: neighbour tables, and announcements to them on the wire.

use std::net::IpAddr;

use weir_cni::Mac;

use crate::bindings::weir::cni::neighbour as raw;
use crate::{AsLink, IpFamily, Namespace, Result};

pub use raw::{Neighbour, State};

impl Neighbour {
    /// Makes a permanent entry.
    pub fn permanent(address: IpAddr, mac: Mac) -> Self {
        Neighbour {
            address: address.into(),
            mac: Some(mac.into()),
            state: State::Permanent,
            proxy: false,
        }
    }
}

/// Adds or replaces an entry. Errors: `not-found`, `invalid`.
pub fn add(namespace: Namespace, link: impl AsLink, entry: Neighbour) -> Result<()> {
    raw::add(namespace, &link.into(), &entry)
}

/// Removes an entry. Errors: `not-found`.
pub fn delete(namespace: Namespace, link: impl AsLink, address: IpAddr) -> Result<()> {
    raw::delete(namespace, &link.into(), address.into())
}

/// Lists the entries of one link.
pub fn list(
    namespace: Namespace,
    link: impl AsLink,
    family: Option<IpFamily>,
) -> Result<Vec<Neighbour>> {
    raw::list(namespace, &link.into(), family)
}

/// Announces these addresses to the neighbours: a gratuitous ARP for each IPv4 address, an
/// unsolicited neighbour advertisement for each IPv6 address. Errors: `not-found`, `invalid` when
/// the link does not have one of the addresses.
pub fn announce(
    namespace: Namespace,
    link: impl AsLink,
    addresses: impl IntoIterator<Item = IpAddr>,
) -> Result<()> {
    let addresses: Vec<_> = addresses.into_iter().map(Into::into).collect();
    raw::announce(namespace, &link.into(), &addresses)
}
