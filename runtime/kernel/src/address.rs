//! Capability `address`: IP addresses of links.

use std::net::IpAddr;

use ipnet::IpNet;
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::errno::Errno;
use nix::libc;
use weir_gate::Permit;
use weir_grant::address::{Add, Address, Delete, Family, List, Settle};
use weir_grant::link::LinkFacts;

use super::error::{Error, Result, WhileDoing as _};
use super::namespace::NetworkNamespace;
use super::netlink::NEW;
use crate::linux::Linux;
use crate::perform::{Answer, Changes, Perform};

/// Adds an address. Errors: `Exists`, `NotFound` for a link that is gone, `Invalid`.
impl Perform<Add> for Linux {
    fn perform(&mut self, permit: &Permit<Add>, changes: &mut Changes<'_>) -> Result<()> {
        let wanted = permit.operation();
        let Add { link, address, .. } = wanted;
        check(wanted)
            .and_then(|()| {
                let message = RouteNetlinkMessage::NewAddress(new_address(wanted));
                self.route(link.namespace)?.change(message, NEW)
            })
            .while_doing(format_args!("add {address} to {link}"))?;
        changes.undo_with(wanted.inverse());
        Ok(())
    }
}

/// Checks what belongs to an address. Errors: `Invalid`.
pub fn check(wanted: &Add) -> Result<()> {
    let local = wanted.address.addr();
    if let Some(peer) = wanted.peer.filter(|p| p.is_ipv4() != local.is_ipv4()) {
        return Err(Error::invalid(format!(
            "the peer {peer} is not of the address's family"
        )));
    }
    match wanted.broadcast {
        Some(other) if local.is_ipv6() || other.is_ipv6() => Err(Error::invalid(format!(
            "broadcast address {other}: only an IPv4 address has one, and it is IPv4 too"
        ))),
        _ => Ok(()),
    }
}

fn new_address(wanted: &Add) -> AddressMessage {
    let local = wanted.address.addr();
    let far = wanted.peer.unwrap_or(local);
    let mut flags = AddressFlags::empty();
    let skips_detection = wanted.no_duplicate_detection && local.is_ipv6();
    flags.set(AddressFlags::Nodad, skips_detection);
    flags.set(AddressFlags::Noprefixroute, wanted.no_prefix_route);
    let broadcast = match wanted.broadcast {
        Some(IpAddr::V4(broadcast)) => Some(AddressAttribute::Broadcast(broadcast)),
        _ => None,
    };
    let flags = (!flags.is_empty()).then_some(AddressAttribute::Flags(flags));
    let mut message = about(&wanted.link, wanted.address);
    let ends = [
        AddressAttribute::Local(local),
        AddressAttribute::Address(far),
    ];
    let attributes = ends.into_iter().chain(broadcast).chain(flags);
    message.attributes.extend(attributes);
    message
}

/// Removes an address. Errors: `NotFound` for the link or the address.
impl Answer<Delete> for Linux {
    fn answer(&mut self, permit: &Permit<Delete>) -> Result<()> {
        let Delete { link, address } = permit.operation();
        let namespace = self.namespaces.of(link.namespace)?;
        let deleted = match delete_exactly(namespace, link, *address, address.addr()) {
            // To the kernel, the prefix of a point-to-point address belongs to the peer.
            Err(error) if error.is(Errno::EADDRNOTAVAIL) && address.addr().is_ipv4() => {
                match peer_of(namespace, link, *address)? {
                    Some(peer) => delete_exactly(namespace, link, *address, peer),
                    None => Err(error),
                }
            }
            other => other,
        };
        deleted.while_doing(format_args!("remove {address} from {link}"))
    }
}

fn delete_exactly(
    namespace: &mut NetworkNamespace,
    link: &LinkFacts,
    address: IpNet,
    far: IpAddr,
) -> Result<()> {
    let mut message = about(link, address);
    let local = AddressAttribute::Local(address.addr());
    let far = far.is_ipv4().then_some(AddressAttribute::Address(far));
    message.attributes.extend([local].into_iter().chain(far));
    let message = RouteNetlinkMessage::DelAddress(message);
    namespace.route()?.change(message, 0)
}

fn peer_of(
    namespace: &mut NetworkNamespace,
    link: &LinkFacts,
    address: IpNet,
) -> Result<Option<IpAddr>> {
    let all = of_link(namespace, link, Some(Family::of(&address.addr())))?;
    let found = all.into_iter().find(|other| other.address == address);
    Ok(found.and_then(|found| found.peer))
}

/// The addresses of one link. Errors: `NotFound` for the link.
impl Answer<List, Vec<Address>> for Linux {
    fn answer(&mut self, permit: &Permit<List>) -> Result<Vec<Address>> {
        let List { link, family } = permit.operation();
        of_link(self.namespaces.of(link.namespace)?, link, *family)
    }
}

/// The addresses of one link, filtered by the kernel.
pub(super) fn of_link(
    namespace: &mut NetworkNamespace,
    link: &LinkFacts,
    family: Option<Family>,
) -> Result<Vec<Address>> {
    let mut question = AddressMessage::default();
    question.header.family = family.map_or(AddressFamily::Unspec, address_family);
    question.header.index = link.index;
    let answer = namespace
        .route()?
        .dump(&RouteNetlinkMessage::GetAddress(question))
        .while_doing(format_args!("list the addresses of {link}"))?;
    let addresses = answer.into_iter().filter_map(|object| match object {
        RouteNetlinkMessage::NewAddress(message) if message.header.index == link.index => {
            read(message)
        }
        _ => None,
    });
    Ok(addresses.collect())
}

/// Waits until no IPv6 address of the link is tentative, as long as the operation says and until
/// `deadline` at the latest.
///
/// Errors: `Exists` naming an address that another host has, `TimedOut`, `NotFound`.
impl Answer<Settle> for Linux {
    fn answer(&mut self, permit: &Permit<Settle>) -> Result<()> {
        let Settle { link, timeout_ms } = permit.operation();
        let group = libc::RTNLGRP_IPV6_IFADDR;
        let waited = self.wait(link, *timeout_ms, group, |namespace| {
            let tentative = tentative(namespace, link)?;
            Ok(tentative.map(|address| format!("{address} is still tentative")))
        });
        waited.while_doing(format_args!("wait for the IPv6 addresses of {link}"))
    }
}

/// An address that is tentative. Errors: `Exists` for a duplicate.
fn tentative(namespace: &mut NetworkNamespace, link: &LinkFacts) -> Result<Option<IpNet>> {
    let addresses = of_link(namespace, link, Some(Family::Ipv6))?;
    if let Some(duplicate) = addresses.iter().find(|a| a.duplicate) {
        return Err(Error::exists(format!(
            "another host on the link has {}",
            duplicate.address.addr()
        )));
    }
    Ok(addresses.iter().find(|a| a.tentative).map(|a| a.address))
}

fn about(link: &LinkFacts, address: IpNet) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = address_family(Family::of(&address.addr()));
    message.header.prefix_len = address.prefix_len();
    message.header.index = link.index;
    message
}

/// None for an address of another family than IP.
pub(super) fn read(message: AddressMessage) -> Option<Address> {
    let mut flags = AddressFlags::from_bits_retain(message.header.flags.bits().into());
    let (mut local, mut far, mut broadcast) = (None, None, None);
    for attribute in message.attributes {
        match attribute {
            AddressAttribute::Local(address) => local = Some(address),
            AddressAttribute::Address(address) => far = Some(address),
            AddressAttribute::Broadcast(address) => broadcast = Some(address.into()),
            AddressAttribute::Flags(all) => flags = all,
            _ => {}
        }
    }
    let address = local.or(far)?;
    Some(Address {
        address: IpNet::new(address, message.header.prefix_len).ok()?,
        peer: far.filter(|far| *far != address),
        broadcast,
        tentative: flags.contains(AddressFlags::Tentative),
        duplicate: flags.contains(AddressFlags::Dadfailed),
    })
}

/// The kernel's number for a family.
pub(super) fn address_family(family: Family) -> AddressFamily {
    match family {
        Family::Ipv4 => AddressFamily::Inet,
        Family::Ipv6 => AddressFamily::Inet6,
    }
}
