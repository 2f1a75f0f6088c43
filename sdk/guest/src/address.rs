//! Capability `address`: IP addresses of links.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::bindings::weir::cni::address as raw;
use crate::{AsLink, IpFamily, Namespace, Result};

pub use raw::{Address, NewAddress};

impl NewAddress {
    /// Makes an address and nothing else.
    pub fn new(address: IpNet) -> Self {
        NewAddress {
            address: address.into(),
            peer: None,
            broadcast: None,
            no_duplicate_detection: false,
            no_prefix_route: false,
        }
    }

    /// Adds the subnet's broadcast address, if it is an IPv4 subnet that has one: with at least four addresses (RFC
    /// 3021).
    #[must_use]
    pub fn with_subnet_broadcast(mut self) -> Self {
        self.broadcast = match self.address.into() {
            IpNet::V4(net) if net.prefix_len() < 31 => Some(IpAddr::V4(net.broadcast()).into()),
            _ => None,
        };
        self
    }
}

/// Adds an address. Errors: `exists`, `not-found`, `invalid`.
pub fn add(namespace: Namespace, link: impl AsLink, address: NewAddress) -> Result<()> {
    raw::add(namespace, &link.into(), address)
}

/// Removes an address. Errors: `not-found`.
pub fn delete(namespace: Namespace, link: impl AsLink, address: IpNet) -> Result<()> {
    raw::delete(namespace, &link.into(), address.into())
}

/// Lists the addresses of one link, of one family or of both.
pub fn list(
    namespace: Namespace,
    link: impl AsLink,
    family: Option<IpFamily>,
) -> Result<Vec<Address>> {
    raw::list(namespace, &link.into(), family)
}

/// Waits until no IPv6 address of the link is tentative, at most `timeout` milliseconds. Errors:
/// `exists` when an address turned out to be taken, `timed-out`.
pub fn settle(namespace: Namespace, link: impl AsLink, timeout: u32) -> Result<()> {
    raw::settle(namespace, &link.into(), timeout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcast_is_the_subnets_last_address() {
        let broadcast = |net: &str| {
            let address = NewAddress::new(net.parse().unwrap());
            address.with_subnet_broadcast().broadcast.map(IpAddr::from)
        };
        assert_eq!(broadcast("10.1.2.3/16"), "10.1.255.255".parse().ok());
        assert_eq!(broadcast("10.1.2.1/30"), "10.1.2.3".parse().ok());
        assert_eq!(broadcast("10.1.2.1/31"), None);
        assert_eq!(broadcast("fd00::1/64"), None);
    }
}
