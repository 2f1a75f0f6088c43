//! Capability `conntrack`: entries of the connection tracking table, over ctnetlink.
//!
//! The kernel cannot look entries up by their translation. Since Linux 6.11 it deletes what passes a filter in one request,
//! which skips the empty parts of the table. Older kernels send a list, for which they lock each of the table's buckets,
//! however few have entries: filtered since 5.8, before that all entries of the family.

use std::net::IpAddr;

use netlink_bindings::conntrack::{ConntrackAttrs, IterableTupleAttrs, PushConntrackAttrs};
use netlink_bindings::traits::Pusher;
use netlink_packet_core::NlasIterator;
use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::address::Family;
use weir_grant::conntrack::{Delete, Filter};

use super::address::address_family;
use super::error::{Code, Error, Result, WhileDoing as _};
use super::namespace::NetworkNamespace;
use super::netlink::{MessageType, NetfilterSocket};
use crate::linux::Linux;
use crate::perform::Answer;

/// `NFNL_SUBSYS_CTNETLINK`, `IPCTNL_MSG_CT_GET`, `IPCTNL_MSG_CT_DELETE`, `IPCTNL_MSG_CT_GET_STATS`.
const SUBSYSTEM: u8 = 1;
const GET: MessageType = MessageType::new(SUBSYSTEM, 1);
const DELETE: MessageType = MessageType::new(SUBSYSTEM, 2);
const GET_STATISTICS: MessageType = MessageType::new(SUBSYSTEM, 5);

/// `CTA_STATS_GLOBAL_ENTRIES`.
const ENTRIES: u16 = 1;

/// `CTA_FILTER_F_…`: which parts of a tuple the kernel is to compare.
const BY_SOURCE: u32 = 1 << 0;
const BY_DESTINATION: u32 = 1 << 1;
const BY_PROTOCOL: u32 = 1 << 3;
const BY_DESTINATION_PORT: u32 = 1 << 5;

/// Deletes the entries that pass a filter, if there are any.
///
/// Errors: `Invalid` for a filter by nothing but the protocol, and for addresses of another family;
/// `Unsupported` where the kernel has no connection tracking.
impl Answer<Delete> for Linux {
    fn answer(&mut self, permit: &Permit<Delete>) -> Result<()> {
        let Delete { namespace, filter } = permit.operation();
        delete_all(self.namespaces.of(*namespace)?, filter).while_doing(format_args!(
            "delete {} connections in {namespace}",
            filter.protocol
        ))
    }
}

fn delete_all(namespace: &mut NetworkNamespace, filter: &Filter) -> Result<()> {
    check(filter)?;
    namespace.netfilter(|socket| {
        if delete_in_kernel(socket, filter)? || is_empty(socket) {
            return Ok(());
        }
        for entry in find(socket, filter)? {
            delete_one(socket, filter.family, &entry)?;
        }
        Ok(())
    })
}

/// Checks that a filter names something, of one family. Errors: `Invalid`.
pub fn check(filter: &Filter) -> Result<()> {
    let Filter {
        family,
        destination,
        port,
        reply_source,
        ..
    } = filter;
    if destination.is_none() && port.is_none() && reply_source.is_none() {
        return Err(Error::invalid(
            "the filter has neither a destination nor a port nor a reply source",
        ));
    }
    let mut given = destination.iter().chain(reply_source);
    match given.find(|address| Family::of(address) != *family) {
        Some(address) => Err(Error::invalid(format!(
            "{address} is not of the filter's family"
        ))),
        None => Ok(()),
    }
}

/// Has the kernel delete what passes the filter. Returns false if it cannot: before 6.11 it takes the request for one about a
/// single entry, whose tuple is incomplete.
fn delete_in_kernel(socket: &mut NetfilterSocket, filter: &Filter) -> Result<bool> {
    let mut addresses = filter.destination.iter().chain(&filter.reply_source);
    // The kernel does not compare IPv6 addresses.
    if addresses.any(IpAddr::is_ipv6) {
        return Ok(false);
    }
    let family = address_family(filter.family).into();
    match socket.change(DELETE, family, |bytes| ask_for(filter, bytes)) {
        Err(refusal) if matches!(refusal.errno, Errno::EINVAL | Errno::EOPNOTSUPP) => Ok(false),
        outcome => Ok(outcome.map(|()| true)?),
    }
}

/// Whether the namespace is known to have no entries.
fn is_empty(socket: &mut NetfilterSocket) -> bool {
    let reply = socket.get(GET_STATISTICS, 0, |_| {});
    let reply = reply.ok().flatten().unwrap_or_default();
    let mut attributes = NlasIterator::new(&reply).flatten();
    attributes.any(|attribute| attribute.kind() == ENTRIES && attribute.value() == [0; 4])
}

/// What identifies one entry.
struct Entry {
    /// The attributes of the original direction's tuple, as the kernel wrote them.
    original: Vec<u8>,
    zone: Option<u16>,
    /// Tells it from another connection between the same ends.
    id: Option<u32>,
}

fn find(socket: &mut NetfilterSocket, filter: &Filter) -> Result<Vec<Entry>> {
    let family = address_family(filter.family).into();
    let keep = |object: &[u8]| read(object, filter);
    let mut found = socket.select(GET, family, |bytes| ask_for(filter, bytes), keep);
    // The first kernels with filters require the same attributes for both directions.
    if matches!(&found, Err(error) if error.is(Errno::EINVAL)) {
        found = socket.select(GET, family, |_| {}, keep);
    }
    found.map_err(|error| match error.errno {
        // Also nfnetlink's answer for a subsystem that the kernel does not have.
        Some(Errno::EINVAL) => error.with_code(Code::Unsupported),
        _ => error,
    })
}

/// Encodes the filter. Kernels before 5.8 ignore it. IPv6 addresses are left out: the kernel would take the entries that do
/// *not* have them.
fn ask_for(filter: &Filter, bytes: &mut Vec<u8>) {
    let original = PushConntrackAttrs::new(bytes).nested_tuple_orig();
    let mut flags = BY_PROTOCOL;
    let mut address = original.nested_tuple_ip();
    if let Some(IpAddr::V4(destination)) = filter.destination {
        flags |= BY_DESTINATION;
        address = address.push_ip_v4_dst(destination);
    }
    let protocol = address.end_nested().nested_tuple_proto();
    let mut protocol = protocol.push_proto_num(filter.protocol.number());
    if let Some(port) = filter.port {
        flags |= BY_DESTINATION_PORT;
        protocol = protocol.push_proto_dst_port(port);
    }
    let mut attributes = protocol.end_nested().end_nested();
    let mut reply_flags = 0;
    if let Some(IpAddr::V4(source)) = filter.reply_source {
        reply_flags = BY_SOURCE;
        let reply = attributes.nested_tuple_reply();
        let address = reply.nested_tuple_ip().push_ip_v4_src(source);
        attributes = address.end_nested().end_nested();
    }
    let compared = attributes.nested_filter();
    compared
        .push_orig_flags(flags)
        .push_reply_flags(reply_flags);
}

/// An entry that passes the filter.
fn read(object: &[u8], filter: &Filter) -> Option<Entry> {
    let attributes = ConntrackAttrs::new(object);
    let original = attributes.get_tuple_orig().ok()?;
    let reply = attributes.get_tuple_reply().ok()?;
    passes(&original, &reply, filter).then(|| Entry {
        original: original.get_buf().to_vec(),
        zone: attributes.get_zone().ok(),
        id: attributes.get_id().ok(),
    })
}

fn passes(
    original: &IterableTupleAttrs<'_>,
    reply: &IterableTupleAttrs<'_>,
    filter: &Filter,
) -> bool {
    let Ok(ports) = original.get_tuple_proto() else {
        return false;
    };
    let is_to = |wanted| ends(original).is_some_and(|(_, destination)| destination == wanted);
    let is_from = |wanted| ends(reply).is_some_and(|(source, _)| source == wanted);
    ports.get_proto_num().ok() == Some(filter.protocol.number())
        && filter.destination.is_none_or(is_to)
        && filter
            .port
            .is_none_or(|port| ports.get_proto_dst_port().ok() == Some(port))
        && filter.reply_source.is_none_or(is_from)
}

/// Source and destination of one direction.
fn ends(tuple: &IterableTupleAttrs<'_>) -> Option<(IpAddr, IpAddr)> {
    let addresses = tuple.get_tuple_ip().ok()?;
    let source = addresses.get_ip_v4_src().map(IpAddr::V4);
    let source = source.or_else(|_| addresses.get_ip_v6_src().map(IpAddr::V6));
    let destination = addresses.get_ip_v4_dst().map(IpAddr::V4);
    let destination = destination.or_else(|_| addresses.get_ip_v6_dst().map(IpAddr::V6));
    source.ok().zip(destination.ok())
}

/// Deletes an entry, which may be gone.
fn delete_one(socket: &mut NetfilterSocket, family: Family, entry: &Entry) -> Result<()> {
    let outcome = socket.change(DELETE, address_family(family).into(), |bytes| {
        let mut original = PushConntrackAttrs::new(bytes).nested_tuple_orig();
        original.as_vec_mut().extend(&entry.original);
        let mut attributes = original.end_nested();
        if let Some(zone) = entry.zone {
            attributes = attributes.push_zone(zone);
        }
        if let Some(id) = entry.id {
            attributes.push_id(id);
        }
    });
    match outcome {
        Err(refusal) if refusal.errno != Errno::ENOENT => Err(refusal.into()),
        _ => Ok(()),
    }
}
