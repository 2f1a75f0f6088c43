//! Deletion of links, one by one or together.

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use weir_gate::Permit;
use weir_grant::link::Delete;

use super::by_index;
use super::find::standing;
use crate::error::{Code, Error};
use crate::namespace::Namespaces;
use crate::netlink::RouteSocket;

/// How often another number of a group is tried.
const GROUP_ATTEMPTS: u32 = 4;

/// Deletes a link, and with a veth its peer. Errors: `NotFound`, `Unsupported` for a link that
/// cannot be deleted.
pub fn delete(namespaces: &mut Namespaces, permit: &Permit<Delete>) -> Result<(), Error> {
    let link = &permit.operation().link;
    namespaces
        .of(link.namespace)?
        .route()?
        .change(RouteNetlinkMessage::DelLink(by_index(link.index)), 0)
        .map_err(|e| e.while_doing(format_args!("delete {link}")))
}

/// Deletes links of one namespace, those that are gone aside. Where there are several, the kernel deletes them as
/// a group, in one step: each by itself would take it as long as all of them.
///
/// Errors: as [`delete`], the first; all are tried.
pub fn delete_all(namespaces: &mut Namespaces, permits: &[Permit<Delete>]) -> Result<(), Error> {
    if let [first, _, ..] = permits {
        let socket = namespaces.of(first.operation().link.namespace)?.route()?;
        if as_group(socket, permits).is_ok() {
            return Ok(());
        }
    }
    let mut outcome = Ok(());
    for permit in permits {
        let deleted = match delete(namespaces, permit) {
            Err(error) if error.is_not_found() => Ok(()),
            deleted => deleted,
        };
        outcome = outcome.and(deleted);
    }
    outcome
}

fn as_group(socket: &mut RouteSocket, permits: &[Permit<Delete>]) -> Result<(), Error> {
    let group = free_group(socket)?;
    for permit in permits {
        let mut message = by_index(permit.operation().link.index);
        message.attributes.push(LinkAttribute::Group(group));
        match socket.change(RouteNetlinkMessage::SetLink(message), 0) {
            Err(error) if error.is_not_found() => {}
            set => set?,
        }
    }
    let mut all = LinkMessage::default();
    all.attributes.push(LinkAttribute::Group(group));
    match socket.change(RouteNetlinkMessage::DelLink(all), 0) {
        // They were gone before.
        Err(error) if error.is_not_found() => Ok(()),
        deleted => deleted,
    }
}

/// The number of a group in which no link is.
fn free_group(socket: &mut RouteSocket) -> Result<u32, Error> {
    let taken: Vec<u32> = standing(socket)?
        .into_iter()
        .flat_map(|link| link.attributes)
        .filter_map(|attribute| match attribute {
            LinkAttribute::Group(group) => Some(group),
            _ => None,
        })
        .collect();
    for _ in 0..GROUP_ATTEMPTS {
        // People take small numbers.
        let group = random()? | 1 << 31;
        if !taken.contains(&group) {
            return Ok(group);
        }
    }
    Err(Error::new(
        Code::Exists,
        "every group that was tried is taken",
    ))
}

fn random() -> Result<u32, Error> {
    getrandom::u32().map_err(|e| Error::new(Code::Failed, format!("a random number: {e}")))
}
