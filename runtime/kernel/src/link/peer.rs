//! The other end of a veth.

use std::os::fd::AsRawFd;

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::LinkAttribute;
use netlink_packet_route::nsid::{NsidAttribute, NsidMessage};
use weir_gate::Permit;
use weir_grant::Namespace;
use weir_grant::link::{GetPeer, Peer};

use super::by_index;
use crate::error::{Error, Result, WhileDoing as _};
use crate::linux::Linux;
use crate::namespace::Namespaces;
use crate::perform::Answer;

/// Finds the other end of a veth.
///
/// Errors: `NotFound`; `Invalid` if it is not a veth.
impl Answer<GetPeer, Peer> for Linux {
    fn answer(&mut self, permit: &Permit<GetPeer>) -> Result<Peer> {
        let link = &permit.operation().link;
        if link.kind != "veth" {
            return Err(Error::invalid(format!("{link} is not a veth")));
        }
        find(&mut self.namespaces, link.namespace, link.index)
            .while_doing(format_args!("find the peer of {link}"))
    }
}

fn find(namespaces: &mut Namespaces, namespace: Namespace, index: u32) -> Result<Peer> {
    let message = namespaces.of(namespace)?.ask_link(by_index(index))?;
    let mut peer = None;
    let mut its_namespace = None;
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::Link(index) => peer = Some(*index),
            LinkAttribute::LinkNetNsId(id) => its_namespace = Some(*id),
            _ => {}
        }
    }
    let index = peer.ok_or_else(|| Error::failed("the kernel does not report it"))?;
    let namespace = match its_namespace {
        None => Some(namespace),
        Some(id) => known_as(namespaces, namespace, id)?,
    };
    Ok(Peer { index, namespace })
}

/// Whether the id by which `from` knows some namespace is the id of the other one of the two.
fn known_as(namespaces: &mut Namespaces, from: Namespace, id: i32) -> Result<Option<Namespace>> {
    let other = match from {
        Namespace::Host => Namespace::Container,
        Namespace::Container => Namespace::Host,
    };
    if other == Namespace::Container && !namespaces.has_container() {
        return Ok(None);
    }
    let descriptor = namespaces.of(other)?.descriptor()?.as_raw_fd();
    let mut question = NsidMessage::default();
    let descriptor = NsidAttribute::Fd(descriptor.cast_unsigned());
    question.attributes.push(descriptor);
    let question = RouteNetlinkMessage::GetNsId(question);
    let is_other = match namespaces.of(from)?.route()?.get(question)? {
        RouteNetlinkMessage::NewNsId(message) => {
            message.attributes.contains(&NsidAttribute::Id(id))
        }
        _ => false,
    };
    Ok(is_other.then_some(other))
}
