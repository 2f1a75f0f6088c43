//! Capability `address`: IP addresses of links.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use crate::bindings::weir::cni::address as raw;
use crate::convert::same_fields;
use crate::{IpFamily, LinkReference, Namespace, Result};

/// An address of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The address with its prefix length.
    pub address: IpNet,
    /// The other end of a point-to-point address.
    pub peer: Option<IpAddr>,
    /// IPv4 only.
    pub broadcast: Option<IpAddr>,
    /// IPv6: duplicate address detection is still under way.
    pub tentative: bool,
    /// IPv6: duplicate address detection found the address taken.
    pub duplicate: bool,
}

/// An address to add.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NewAddress {
    /// The address with its prefix length.
    pub address: IpNet,
    /// The other end of a point-to-point address.
    pub peer: Option<IpAddr>,
    /// IPv4 only. Absent: none.
    pub broadcast: Option<IpAddr>,
    /// IPv6: no duplicate address detection.
    pub no_duplicate_detection: bool,
    /// Do not install the subnet's route.
    pub no_prefix_route: bool,
}

impl NewAddress {
    /// Makes an address and nothing else.
    pub fn new(address: IpNet) -> Self {
        NewAddress {
            address,
            ..NewAddress::default()
        }
    }

    /// The same with the subnet's broadcast address, for an IPv4 subnet that has one: of at least
    /// four addresses (RFC 3021).
    #[must_use]
    pub fn with_subnet_broadcast(mut self) -> Self {
        self.broadcast = subnet_broadcast(&self.address).map(IpAddr::V4);
        self
    }
}

fn subnet_broadcast(address: &IpNet) -> Option<Ipv4Addr> {
    match address {
        IpNet::V4(net) if net.prefix_len() < 31 => Some(net.broadcast()),
        _ => None,
    }
}

same_fields! {
    raw::Address => Address { tentative duplicate ; into address ; map peer broadcast }
    NewAddress => raw::NewAddress {
        no_duplicate_detection no_prefix_route ; into address ; map peer broadcast
    }
}

/// Adds an address. Errors: `exists`, `not-found`, `invalid`.
pub fn add(
    namespace: Namespace,
    link: impl Into<LinkReference>,
    address: NewAddress,
) -> Result<()> {
    raw::add(namespace, &link.into(), address.into())
}

/// Removes an address. Errors: `not-found`.
pub fn delete(namespace: Namespace, link: impl Into<LinkReference>, address: IpNet) -> Result<()> {
    raw::delete(namespace, &link.into(), address.into())
}

/// Lists the addresses of one link, of one family or of both.
pub fn list(
    namespace: Namespace,
    link: impl Into<LinkReference>,
    family: Option<IpFamily>,
) -> Result<Vec<Address>> {
    let addresses = raw::list(namespace, &link.into(), family)?;
    Ok(addresses.into_iter().map(Address::from).collect())
}

/// Waits until no IPv6 address of the link is tentative, at most `timeout` milliseconds. Errors:
/// `exists` when an address turned out to be taken, `timed-out`.
pub fn settle(namespace: Namespace, link: impl Into<LinkReference>, timeout: u32) -> Result<()> {
    raw::settle(namespace, &link.into(), timeout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcast_is_the_subnets_last_address() {
        let broadcast = |net: &str| {
            let address = NewAddress::new(net.parse().unwrap());
            address.with_subnet_broadcast().broadcast
        };
        assert_eq!(broadcast("10.1.2.3/16"), "10.1.255.255".parse().ok());
        assert_eq!(broadcast("10.1.2.1/30"), "10.1.2.3".parse().ok());
        assert_eq!(broadcast("10.1.2.1/31"), None);
        assert_eq!(broadcast("fd00::1/64"), None);
    }
}
