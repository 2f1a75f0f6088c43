//! Capability `link`: network devices. One function for each request to the kernel.

mod create;
mod delete;
pub(crate) mod find;
mod ipvlan;
mod layer;
mod message;
mod move_to;
pub(crate) mod name;
mod peer;
pub(crate) mod read;
mod tap;
pub(crate) mod undo;
mod update;
pub(crate) mod vlan;
mod wait;

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkExtentMask, LinkInfo, LinkMessage};
use weir_gate::Permit;
use weir_grant::link::{self, Link};

pub(crate) use delete::delete_all;
pub(crate) use layer::{LinkLayer, link_layer};
pub(crate) use update::set_address;

use super::error::{Code, Error, Result, WhileDoing as _};
use super::namespace::NetworkNamespace;
use crate::linux::Linux;
use crate::perform::Answer;

/// Returns a link as it was when it was looked up. Errors: `NotFound`.
impl Answer<link::Read, Link> for Linux {
    fn answer(&mut self, permit: &Permit<link::Read>) -> Result<Link> {
        let wanted = &permit.operation().link;
        let found = self.links.known(wanted).cloned();
        found.ok_or_else(|| Error::not_found(wanted.not_found()))
    }
}

/// Links of a kind, or the ports of a master, or all.
impl Answer<link::List, Vec<Link>> for Linux {
    fn answer(&mut self, permit: &Permit<link::List>) -> Result<Vec<Link>> {
        let wanted = permit.operation();
        let answer = self
            .route(wanted.namespace)?
            .dump(&RouteNetlinkMessage::GetLink(filter(wanted)))
            .while_doing(format_args!("list the links in {}", wanted.namespace))?;
        let links = answer.into_iter().filter_map(link_message).map(read::link);
        // The kernel ignores a kind that it does not know.
        let is_wanted = |link: &Link| {
            wanted.kind.as_ref().is_none_or(|kind| *kind == link.kind)
                && wanted
                    .master
                    .is_none_or(|master| Some(master) == link.master)
        };
        Ok(links.filter(is_wanted).collect())
    }
}

fn filter(wanted: &link::List) -> LinkMessage {
    let master = wanted.master.map(LinkAttribute::Controller);
    let kind = wanted
        .kind
        .as_ref()
        .map(|kind| LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Other(kind.clone()))]));
    let wanted = [Some(without_statistics()), master, kind];
    about(0, wanted.into_iter().flatten())
}

impl NetworkNamespace {
    /// The link that a message names, as the kernel sends it.
    fn ask_link(&mut self, mut which: LinkMessage) -> Result<LinkMessage> {
        which.attributes.push(without_statistics());
        let answer = self.route()?.get(RouteNetlinkMessage::GetLink(which))?;
        let not_a_link = || Error::failed("the kernel answered with something else");
        link_message(answer).ok_or_else(not_a_link)
    }

    /// The link that a message names.
    fn link(&mut self, which: LinkMessage) -> Result<Link> {
        self.ask_link(which).map(read::link)
    }

    /// Changes the link that a message names.
    fn change_link(&mut self, message: LinkMessage) -> Result<()> {
        self.route()?
            .change(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Deletes a half-made link. Only the first error is reported, so that a failure here is ignored.
    fn discard_link(&mut self, index: u32) {
        let message = RouteNetlinkMessage::DelLink(by_index(index));
        let _ = self.route().and_then(|socket| socket.change(message, 0));
    }

    /// The error for a name that is taken.
    fn name_taken(&self, name: &str) -> Error {
        Error {
            code: Code::Exists,
            message: format!("a link named `{name}` exists already in {}", self.which()),
            errno: Some(nix::errno::Errno::EEXIST),
        }
    }
}

fn link_message(answer: RouteNetlinkMessage) -> Option<LinkMessage> {
    match answer {
        RouteNetlinkMessage::NewLink(message) => Some(message),
        _ => None,
    }
}

/// Statistics are the larger part of an answer, and cost the kernel a walk over all CPUs.
fn without_statistics() -> LinkAttribute {
    LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats])
}

/// A message about the link with that index.
fn by_index(index: u32) -> LinkMessage {
    about(index, [])
}

/// A message about the link with that name.
fn by_name(name: &str) -> LinkMessage {
    about(0, [LinkAttribute::IfName(name.to_owned())])
}

/// A message with attributes about the link with that index, or about none if it is 0.
fn about(index: u32, attributes: impl IntoIterator<Item = LinkAttribute>) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.attributes.extend(attributes);
    message
}
