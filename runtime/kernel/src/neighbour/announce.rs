//! Announcements of addresses on the wire: gratuitous ARP and unsolicited neighbour advertisements.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV6};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use nix::libc;
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn6, SockaddrLike,
    bind, sendto, setsockopt, socket, sockopt,
};
use weir_gate::Permit;
use weir_grant::address::Address;
use weir_grant::link::LinkFacts;
use weir_grant::neighbour::Announce;

use crate::address;
use crate::error::{Error, Result, WhileDoing as _};
use crate::link::{LinkLayer, link_layer, set_address};
use crate::linux::Linux;
use crate::namespace::NetworkNamespace;
use crate::perform::Answer;
use crate::sysctl;

/// RFC 4861 section 7.1.2: a receiver drops a neighbour advertisement with another hop limit.
const HOP_LIMIT: i32 = 255;

const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// Tells the neighbours on a link which addresses it has: one ARP announcement (RFC 5227 section 3)
/// or one unsolicited neighbour advertisement (RFC 4861 section 7.2.6) for each.
///
/// Errors: `NotFound`; `Invalid` for an address that the link does not have, `Busy` for one that it has not yet;
/// `Unsupported` for a link without Ethernet addresses.
impl Answer<Announce> for Linux {
    fn answer(&mut self, permit: &Permit<Announce>) -> Result<()> {
        let Announce { link, addresses } = permit.operation();
        announce_all(self.namespaces.of(link.namespace)?, link, addresses)
            .while_doing(format_args!("announce addresses of {link}"))
    }
}

fn announce_all(
    namespace: &mut NetworkNamespace,
    link: &LinkFacts,
    addresses: &[IpAddr],
) -> Result<()> {
    if addresses.is_empty() {
        return Ok(());
    }
    let own = address::of_link(namespace, link, None)?;
    addresses
        .iter()
        .try_for_each(|address| check_own(&own, address))?;
    let sender = link_layer(namespace, link)?;
    let is_announced =
        addresses.iter().any(IpAddr::is_ipv4) && ask_kernel(namespace, link, &sender)?;
    let mut left = addresses.to_vec();
    left.retain(|address| !(is_announced && address.is_ipv4()));
    if left.is_empty() {
        return Ok(());
    }
    namespace.enter(|| {
        left.into_iter().try_for_each(|address| match address {
            IpAddr::V4(address) => sender.announce_by_arp(address),
            IpAddr::V6(address) => sender.advertise(address, is_router(link)?),
        })
    })?
}

/// Has the kernel announce the link's IPv4 addresses: with `arp_notify` it does so when a link's MAC is set, even if to the
/// same value. Closing a packet socket would take ten milliseconds. Returns false for a link whose MAC cannot be set.
fn ask_kernel(
    namespace: &mut NetworkNamespace,
    link: &LinkFacts,
    layer: &LinkLayer,
) -> Result<bool> {
    let parameter = PathBuf::from("ipv4/conf")
        .join(&link.name)
        .join("arp_notify");
    let was = namespace.enter(|| switch_on(&parameter))??;
    let set = set_address(namespace, link, &layer.mac);
    if let Some(was) = was {
        namespace.enter(|| sysctl::write_value(&parameter, &was))??;
    }
    Ok(set.is_ok())
}

/// Whether a link of the calling thread's namespace forwards IPv6.
fn is_router(link: &LinkFacts) -> std::io::Result<bool> {
    let parameter = PathBuf::from("ipv6/conf")
        .join(&link.name)
        .join("forwarding");
    Ok(sysctl::read_value(&parameter)? != "0")
}

/// Switches a parameter on. Returns its value where it was off.
fn switch_on(parameter: &PathBuf) -> std::io::Result<Option<String>> {
    let was = sysctl::read_value(parameter)?;
    if was != "0" {
        return Ok(None);
    }
    sysctl::write_value(parameter, "1")?;
    Ok(Some(was))
}

fn check_own(own: &[Address], announced: &IpAddr) -> Result<()> {
    match own.iter().find(|own| own.address.addr() == *announced) {
        Some(own) if own.tentative || own.duplicate => Err(Error::busy(format!(
            "{announced} is not usable yet: duplicate address detection is running or has failed"
        ))),
        Some(_) => Ok(()),
        None => Err(Error::invalid(format!(
            "{announced} is not an address of the link"
        ))),
    }
}

impl LinkLayer {
    fn announce_by_arp(&self, address: Ipv4Addr) -> Result<()> {
        // Without a protocol the socket receives nothing.
        let socket = socket(
            AddressFamily::Packet,
            SockType::Datagram,
            SockFlag::SOCK_CLOEXEC,
            None,
        )?;
        let packet = self.arp_announcement(address);
        sendto(
            socket.as_raw_fd(),
            &packet,
            &self.everybody()?,
            MsgFlags::empty(),
        )
        .map(drop)
        .while_doing(format_args!("announce {address} by ARP"))
    }

    /// RFC 826: a request in which sender and target have the announced address.
    fn arp_announcement(&self, address: Ipv4Addr) -> Vec<u8> {
        const PROTOCOL_IPV4: u16 = 0x0800;
        const REQUEST: u16 = 1;
        let lengths = [6, 4];
        [
            self.hardware.to_be_bytes().as_slice(),
            &PROTOCOL_IPV4.to_be_bytes(),
            &lengths,
            &REQUEST.to_be_bytes(),
            &self.mac,
            &address.octets(),
            &[0; 6],
            &address.octets(),
        ]
        .concat()
    }

    /// The link's broadcast address, for the kernel to build the frame's header with.
    fn everybody(&self) -> Result<LinkAddr> {
        let mut to = [0; 8];
        to[..6].copy_from_slice(&self.broadcast);
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: (libc::ETH_P_ARP as u16).to_be(),
            sll_ifindex: self.index.cast_signed(),
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 6,
            sll_addr: to,
        };
        // SAFETY: the pointer is to a whole `struct sockaddr_ll`.
        let address = unsafe { LinkAddr::from_raw((&raw const address).cast(), None) };
        address.ok_or_else(|| Error::failed("no link-layer address"))
    }

    fn advertise(&self, address: Ipv6Addr, is_router: bool) -> Result<()> {
        let send = || {
            let socket = socket(
                AddressFamily::Inet6,
                SockType::Raw,
                SockFlag::SOCK_CLOEXEC,
                SockProtocol::IcmpV6,
            )?;
            setsockopt(&socket, sockopt::Ipv6MulticastHops, &HOP_LIMIT)?;
            bind(socket.as_raw_fd(), &self.on_link(address))?;
            let packet = self.advertisement(address, is_router);
            let to = self.on_link(ALL_NODES);
            sendto(socket.as_raw_fd(), &packet, &to, MsgFlags::empty())
        };
        send()
            .map(drop)
            .while_doing(format_args!("advertise {address}"))
    }

    fn on_link(&self, address: Ipv6Addr) -> SockaddrIn6 {
        SocketAddrV6::new(address, 0, 0, self.index).into()
    }

    /// RFC 4861 section 4.4. The kernel fills the checksum in.
    fn advertisement(&self, address: Ipv6Addr, is_router: bool) -> Vec<u8> {
        const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
        const ROUTER: u8 = 0x80;
        const OVERRIDE: u8 = 0x20;
        const TARGET_LINK_LAYER_ADDRESS: u8 = 2;
        // Neighbours drop their routes over a router that says it is not one any more.
        let flags = if is_router {
            ROUTER | OVERRIDE
        } else {
            OVERRIDE
        };
        [
            [NEIGHBOUR_ADVERTISEMENT, 0, 0, 0].as_slice(),
            &[flags, 0, 0, 0],
            &address.octets(),
            &[TARGET_LINK_LAYER_ADDRESS, 1],
            &self.mac,
        ]
        .concat()
    }
}
