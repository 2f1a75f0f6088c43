//! Capability `address`: IP addresses of links.

use std::net::IpAddr;

use ipnet::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::address::{Add, Address, Delete, Family, List, Settle};
use weir_grant::link::LinkFacts;

use super::error::{Error, Result, WhileDoing as _};
use super::namespace::NetworkNamespace;
use super::netlink::{Group, Notifications, Wait};
use crate::linux::Linux;
use crate::perform::{Changes, Perform};

/// Adds an address. Errors: `Exists`, `NotFound` for a link that is gone, `Invalid`.
impl Perform<Add> for Linux {
    fn perform(&mut self, permit: &Permit<Add>, changes: &mut Changes<'_>) -> Result<()> {
        let wanted = permit.operation();
        let Add { link, address, .. } = wanted;
        new_address(wanted)
            .and_then(|message| {
                let socket = self.route(link.namespace)?;
                socket.change(
                    RouteNetlinkMessage::NewAddress(message),
                    NLM_F_CREATE | NLM_F_EXCL,
                )
            })
            .while_doing(format_args!("add {address} to {link}"))?;
        changes.undo_with(Delete {
            link: link.clone(),
            address: *address,
        });
        Ok(())
    }
}

fn new_address(wanted: &Add) -> Result<AddressMessage> {
    let local = wanted.address.addr();
    let far = wanted.peer.unwrap_or(local);
    if Family::of(&far) != Family::of(&local) {
        return Err(Error::invalid(format!(
            "the peer {far} is of the other family"
        )));
    }
    let mut message = about(&wanted.link, wanted.address);
    message.attributes.push(AddressAttribute::Local(local));
    message.attributes.push(AddressAttribute::Address(far));
    match wanted.broadcast {
        Some(IpAddr::V4(broadcast)) if local.is_ipv4() => {
            message
                .attributes
                .push(AddressAttribute::Broadcast(broadcast));
        }
        Some(other) => {
            return Err(Error::invalid(format!(
                "the broadcast address {other}: only IPv4 addresses have one, an IPv4 address"
            )));
        }
        None => {}
    }
    let mut flags = AddressFlags::empty();
    flags.set(
        AddressFlags::Nodad,
        wanted.no_duplicate_detection && local.is_ipv6(),
    );
    flags.set(AddressFlags::Noprefixroute, wanted.no_prefix_route);
    if !flags.is_empty() {
        message.attributes.push(AddressAttribute::Flags(flags));
    }
    Ok(message)
}

/// Removes an address. Errors: `NotFound` for the link or the address.
impl Perform<Delete> for Linux {
    fn perform(&mut self, permit: &Permit<Delete>, _: &mut Changes<'_>) -> Result<()> {
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
    message
        .attributes
        .push(AddressAttribute::Local(address.addr()));
    if far.is_ipv4() {
        message.attributes.push(AddressAttribute::Address(far));
    }
    namespace
        .route()?
        .change(RouteNetlinkMessage::DelAddress(message), 0)
}

fn peer_of(
    namespace: &mut NetworkNamespace,
    link: &LinkFacts,
    address: IpNet,
) -> Result<Option<IpAddr>> {
    let all = of_link(namespace, link, Some(Family::of(&address.addr())))?;
    Ok(all
        .into_iter()
        .find(|a| a.address == address)
        .and_then(|a| a.peer))
}

/// The addresses of one link. Errors: `NotFound` for the link.
impl Perform<List, Vec<Address>> for Linux {
    fn perform(&mut self, permit: &Permit<List>, _: &mut Changes<'_>) -> Result<Vec<Address>> {
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
    let messages = answer.into_iter().filter_map(|object| match object {
        RouteNetlinkMessage::NewAddress(message) => Some(message),
        _ => None,
    });
    Ok(messages
        .filter(|message| message.header.index == link.index)
        .filter_map(read)
        .collect())
}

/// Waits until no IPv6 address of the link is tentative, as long as the operation says and until
/// `deadline` at the latest.
///
/// Errors: `Exists` naming an address that another host has, `TimedOut`, `NotFound`.
impl Perform<Settle> for Linux {
    fn perform(&mut self, permit: &Permit<Settle>, _: &mut Changes<'_>) -> Result<()> {
        let Settle { link, timeout_ms } = permit.operation();
        wait_until_settled(
            self.namespaces.of(link.namespace)?,
            link,
            &Wait::new(*timeout_ms, self.deadline),
        )
        .while_doing(format_args!("wait for the IPv6 addresses of {link}"))
    }
}

fn wait_until_settled(
    namespace: &mut NetworkNamespace,
    link: &LinkFacts,
    wait: &Wait,
) -> Result<()> {
    if tentative(namespace, link)?.is_none() {
        return Ok(());
    }
    let mut changes = namespace.enter(|| Notifications::subscribe(Group::Ipv6Address))??;
    while let Some(address) = tentative(namespace, link)? {
        if !changes.next(wait, |change| concerns(change, link))? {
            return Err(wait.timed_out(format_args!("{address} is still tentative")));
        }
    }
    Ok(())
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

fn concerns(change: &RouteNetlinkMessage, link: &LinkFacts) -> bool {
    match change {
        RouteNetlinkMessage::NewAddress(message) | RouteNetlinkMessage::DelAddress(message) => {
            message.header.index == link.index
        }
        _ => false,
    }
}

fn about(link: &LinkFacts, address: IpNet) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = address_family(Family::of(&address.addr()));
    message.header.prefix_len = address.prefix_len();
    message.header.index = link.index;
    message
}

/// An address of another family than IP is none.
fn read(message: AddressMessage) -> Option<Address> {
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
