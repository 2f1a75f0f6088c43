//! Deletion of links, one by one or together.

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use weir_gate::Permit;
use weir_grant::link::Delete;

use super::by_index;
use super::find::list_links;
use super::name::random_number;
use crate::error::{Error, Result, WhileDoing as _};
use crate::linux::Linux;
use crate::namespace::Namespaces;
use crate::netlink::RouteSocket;
use crate::perform::Answer;

/// How often another number of a group is tried.
const GROUP_ATTEMPTS: u32 = 4;

/// Deletes a link, and with a veth its peer. Errors: `NotFound`, `Unsupported` for a link that
/// cannot be deleted.
impl Answer<Delete> for Linux {
    fn answer(&mut self, permit: &Permit<Delete>) -> Result<()> {
        self.links.forget_all();
        delete(&mut self.namespaces, permit)
    }
}

fn delete(namespaces: &mut Namespaces, permit: &Permit<Delete>) -> Result<()> {
    let link = &permit.operation().link;
    namespaces
        .of(link.namespace)?
        .route()?
        .change(RouteNetlinkMessage::DelLink(by_index(link.index)), 0)
        .while_doing(format_args!("delete {link}"))
}

/// Deletes links of one namespace; skips those that are gone. The kernel deletes several as a group, in one step: each
/// single deletion would take as long as all of them.
///
/// Errors: as [`delete`], the first; all are tried.
pub(crate) fn delete_all(namespaces: &mut Namespaces, permits: &[Permit<Delete>]) -> Result<()> {
    if let [first, _, ..] = permits {
        let socket = namespaces.of(first.operation().link.namespace)?.route()?;
        if as_group(socket, permits).is_ok() {
            return Ok(());
        }
    }
    let mut outcome = Ok(());
    for permit in permits {
        let deleted = delete(namespaces, permit);
        outcome = outcome.and(deleted.or_else(unless_gone));
    }
    outcome
}

fn as_group(socket: &mut RouteSocket, permits: &[Permit<Delete>]) -> Result<()> {
    let links = list_links(socket)?;
    let group = free_group(&links)?;
    let indexes = permits.iter().map(|permit| permit.operation().link.index);
    let deleted = delete_group(socket, indexes.clone(), group);
    if deleted.is_err() {
        for index in indexes {
            let former = links.iter().find(|link| link.header.index == index);
            if let Some(former) = former.and_then(group_of) {
                // It may be gone.
                let _ = put_into(socket, index, former);
            }
        }
    }
    deleted
}

fn delete_group(
    socket: &mut RouteSocket,
    mut indexes: impl Iterator<Item = u32>,
    group: u32,
) -> Result<()> {
    indexes.try_for_each(|index| put_into(socket, index, group).or_else(unless_gone))?;
    let mut all = LinkMessage::default();
    all.attributes.push(LinkAttribute::Group(group));
    // They may all be gone.
    let deleted = socket.change(RouteNetlinkMessage::DelLink(all), 0);
    deleted.or_else(unless_gone)
}

fn put_into(socket: &mut RouteSocket, index: u32, group: u32) -> Result<()> {
    let mut message = by_index(index);
    message.attributes.push(LinkAttribute::Group(group));
    socket.change(RouteNetlinkMessage::SetLink(message), 0)
}

fn unless_gone(error: Error) -> Result<()> {
    if error.is_not_found() {
        Ok(())
    } else {
        Err(error)
    }
}

/// The number of a group that none of these links is in.
fn free_group(links: &[LinkMessage]) -> Result<u32> {
    // Administrators choose small numbers.
    let mut random = (0..GROUP_ATTEMPTS).map(|_| random_number() as u32 | 1 << 31);
    let is_free = |group: &u32| links.iter().all(|link| group_of(link) != Some(*group));
    let free = random.find(is_free);
    free.ok_or_else(|| Error::exists("every group that was tried is taken"))
}

fn group_of(link: &LinkMessage) -> Option<u32> {
    link.attributes
        .iter()
        .find_map(|attribute| match attribute {
            LinkAttribute::Group(group) => Some(*group),
            _ => None,
        })
}
