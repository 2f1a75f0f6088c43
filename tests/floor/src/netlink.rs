//! An rtnetlink socket: send a request, read its answer.

use std::net::{IpAddr, Ipv4Addr};

use anyhow::{Context, Result};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::AddressAttribute;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nix::errno::Errno;

use crate::messages;

/// The kernel puts no more than this into one datagram.
const LARGEST_DATAGRAM: usize = 32 << 10;

/// What the result tells of a link.
pub struct Link {
    pub index: u32,
    pub hardware_address: [u8; 6],
}

impl Link {
    pub fn mac(&self) -> String {
        self.hardware_address
            .map(|byte| format!("{byte:02x}"))
            .join(":")
    }
}

pub struct Netlink(Socket);

impl Netlink {
    /// Opens a socket in the namespace that the process is in.
    pub fn open() -> Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE).context("netlink socket")?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        socket.set_netlink_get_strict_chk(true)?;
        Ok(Self(socket))
    }

    pub fn create(&mut self, message: RouteNetlinkMessage) -> Result<()> {
        self.request(message, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, |_| ())
    }

    pub fn change(&mut self, link: LinkMessage) -> Result<()> {
        self.request(RouteNetlinkMessage::SetLink(link), NLM_F_ACK, |_| ())
    }

    pub fn delete(&mut self, link: LinkMessage) -> Result<()> {
        self.request(RouteNetlinkMessage::DelLink(link), NLM_F_ACK, |_| ())
    }

    pub fn link(&mut self, name: &str) -> Result<Link> {
        let mut found = None;
        let message = RouteNetlinkMessage::GetLink(messages::named(name));
        self.request(message, NLM_F_ACK, |answer| {
            if let RouteNetlinkMessage::NewLink(link) = answer {
                found = as_link(&link);
            }
        })?;
        found.with_context(|| format!("`{name}` has no Ethernet address"))
    }

    pub fn has_address(&mut self, link: u32, address: Ipv4Addr) -> Result<bool> {
        let mut found = false;
        let message = RouteNetlinkMessage::GetAddress(messages::addresses_of(link));
        let wanted = AddressAttribute::Local(IpAddr::V4(address));
        self.request(message, NLM_F_DUMP, |answer| {
            if let RouteNetlinkMessage::NewAddress(answer) = answer {
                found |= answer.attributes.contains(&wanted);
            }
        })?;
        Ok(found)
    }

    pub fn has_default_route(&mut self, link: u32) -> Result<bool> {
        let mut found = false;
        let message = RouteNetlinkMessage::GetRoute(messages::routes_of(link));
        self.request(message, NLM_F_DUMP, |answer| {
            if let RouteNetlinkMessage::NewRoute(route) = answer {
                found |= route.header.destination_prefix_length == 0;
            }
        })?;
        Ok(found)
    }

    /// Sends one request and hands each object of its answer to `each`.
    fn request(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
        mut each: impl FnMut(RouteNetlinkMessage),
    ) -> Result<()> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
        message.finalize();
        let mut buffer = vec![0; message.buffer_len()];
        message.serialize(&mut buffer);
        self.0.send(&buffer, 0)?;
        let mut buffer = Vec::with_capacity(LARGEST_DATAGRAM);
        loop {
            buffer.clear();
            self.0.recv(&mut buffer, 0)?;
            let mut rest = &buffer[..];
            while !rest.is_empty() {
                let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)?;
                rest = &rest[(answer.header.length as usize)
                    .next_multiple_of(4)
                    .min(rest.len())..];
                match answer.payload {
                    NetlinkPayload::InnerMessage(object) => each(object),
                    NetlinkPayload::Done(_) => return Ok(()),
                    NetlinkPayload::Error(error) => return acknowledged(error.raw_code()),
                    _ => {}
                }
            }
        }
    }
}

fn acknowledged(code: i32) -> Result<()> {
    match code {
        0 => Ok(()),
        code => Err(Errno::from_raw(-code).into()),
    }
}

fn as_link(link: &LinkMessage) -> Option<Link> {
    link.attributes
        .iter()
        .find_map(|attribute| match attribute {
            LinkAttribute::Address(mac) => Some(Link {
                index: link.header.index,
                hardware_address: mac.as_slice().try_into().ok()?,
            }),
            _ => None,
        })
}
