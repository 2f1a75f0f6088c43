//! rtnetlink: links, addresses, routes, neighbours, queueing disciplines.

use std::io;

use netlink_packet_core::{
    DecodeError, NLM_F_ACK, NLM_F_DUMP, NLM_F_ECHO, NLM_F_REQUEST, NetlinkDeserializable,
    NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::protocols::NETLINK_ROUTE;

use super::message::Received;
use super::socket::{Protocol, Socket};
use super::{link_answer, traffic_answer};
use crate::error::{Error, Result};

/// The largest request. An attribute's length has 16 bits: if it wrapped around, the kernel would read the rest of the
/// attribute as further attributes, which were not authorised.
const LARGEST_REQUEST: usize = u16::MAX as usize;

/// The protocol `NETLINK_ROUTE`.
pub(crate) struct Route;

impl Protocol for Route {
    const NUMBER: isize = NETLINK_ROUTE;

    /// Lets a dump be restricted by the kernel, so that cost does not grow with the host's objects.
    fn set_options(socket: &mut netlink_sys::Socket) -> io::Result<()> {
        socket.set_netlink_get_strict_chk(true)
    }
}

/// An open rtnetlink socket.
pub(crate) type RouteSocket = Socket<Route>;

impl RouteSocket {
    /// Sends a request that changes something and waits for its acknowledgement. `flags` are
    /// added to `NLM_F_REQUEST | NLM_F_ACK`.
    pub(crate) fn change(&mut self, message: RouteNetlinkMessage, flags: u16) -> Result<()> {
        self.exchange(message, NLM_F_ACK | flags, |_| false)
            .map(drop)
    }

    /// Sends a request for one object and returns it.
    pub(crate) fn get(&mut self, message: RouteNetlinkMessage) -> Result<RouteNetlinkMessage> {
        let mut answer = None;
        // Without NLM_F_ACK the object, or an error, is the whole answer.
        self.exchange(message, 0, |object| {
            answer = Some(object);
            true
        })?;
        answer.ok_or_else(|| Error::failed("the kernel answered without an object"))
    }

    /// Sends a request with `NLM_F_ECHO` and returns the objects that the kernel made or found. `flags` are added.
    pub(crate) fn echo(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> Result<Vec<RouteNetlinkMessage>> {
        let (objects, _) = self.list(message, NLM_F_ACK | NLM_F_ECHO | flags)?;
        Ok(objects)
    }

    /// Requests a list and returns its objects, and whether it stayed unchanged while it was read. If not, objects made or
    /// removed meanwhile may be missing or present.
    pub(crate) fn dump_once(
        &mut self,
        message: &RouteNetlinkMessage,
    ) -> Result<(Vec<RouteNetlinkMessage>, bool)> {
        self.list(message.clone(), NLM_F_DUMP)
    }

    /// Requests a list and returns its objects. Errors: `Busy` if it changes faster than the kernel can write it.
    pub(crate) fn dump(
        &mut self,
        message: &RouteNetlinkMessage,
    ) -> Result<Vec<RouteNetlinkMessage>> {
        self.read_unchanged(|socket| socket.dump_once(message))
    }

    fn list(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> Result<(Vec<RouteNetlinkMessage>, bool)> {
        let mut objects = Vec::new();
        let is_consistent = self.exchange(message, flags, |object| {
            objects.push(object);
            false
        })?;
        Ok((objects, is_consistent))
    }

    /// Sends a request and reads the answer until it is complete, or until `object` returns true.
    /// Returns whether the list that it is was the same from first to last.
    ///
    /// A list with an unreadable object is still read to its end, so that the next request does not find the rest.
    fn exchange(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
        mut object: impl FnMut(RouteNetlinkMessage) -> bool,
    ) -> Result<bool> {
        let request = self.request(message, NLM_F_REQUEST | flags)?;
        let mut unreadable = None;
        let is_consistent = self.ask(&request, |seen| match read(seen) {
            Ok(message) => object(message),
            Err(error) => {
                unreadable.get_or_insert(error);
                !seen.is_part()
            }
        })?;
        unreadable.map_or(Ok(is_consistent), Err)
    }

    fn request(&mut self, message: RouteNetlinkMessage, flags: u16) -> Result<Vec<u8>> {
        let mut header = NetlinkHeader::default();
        header.flags = flags;
        header.sequence_number = self.next_sequence();
        let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
        message.finalize();
        let length = message.buffer_len();
        if length > LARGEST_REQUEST {
            return Err(Error::invalid(format!(
                "the request has {length} bytes, and the kernel takes {LARGEST_REQUEST}: put less \
                 into one call"
            )));
        }
        let mut bytes = vec![0; length];
        message.serialize(&mut bytes);
        Ok(bytes)
    }
}

fn read(object: &Received<'_>) -> Result<RouteNetlinkMessage> {
    let Received { kind, content, .. } = *object;
    let read = read_in_part(kind, content).unwrap_or_else(|| {
        let mut header = NetlinkHeader::default();
        header.message_type = kind;
        RouteNetlinkMessage::deserialize(&header, content)
    });
    read.map_err(|error| {
        Error::failed(format!(
            "cannot read the kernel's answer (message type {kind}): {error}"
        ))
    })
}

/// Links and traffic control objects, of which only some attributes are parsed; none for other messages.
fn read_in_part(kind: u16, payload: &[u8]) -> Option<Result<RouteNetlinkMessage, DecodeError>> {
    match kind {
        link_answer::TYPE => Some(link_answer::parse(payload).map(RouteNetlinkMessage::NewLink)),
        _ => traffic_answer::parse(kind, payload),
    }
}
