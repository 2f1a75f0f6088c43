//! A link moves to the other namespace.

use netlink_packet_route::link::LinkAttribute;
use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::link::{Link, Move};

use super::find::is_name_taken;
use super::message::into_namespace;
use super::undo::LinkHistory as _;
use super::update::alias_attribute;
use super::{about, by_name};
use crate::error::{Error, Result, WhileDoing as _};
use crate::linux::Linux;
use crate::namespace::Namespaces;
use crate::perform::{Changes, Perform};

/// Moves a link and returns it as it is there: down, and under another index.
///
/// Errors: `NotFound`, `Exists` when the name is taken there, `Invalid` for a link that cannot
/// move.
impl Perform<Move, Link> for Linux {
    fn perform(&mut self, permit: &Permit<Move>, changes: &mut Changes<'_>) -> Result<Link> {
        let wanted = permit.operation();
        let Move { link, to, name, .. } = wanted;
        let before = self.before(link);
        self.links.forget_all();
        let moved = send(&mut self.namespaces, wanted)
            .while_doing(format_args!("move {link} to {to} as `{name}`"))?;
        if let Some(before) = before {
            self.note_move(wanted, &before, &moved, changes);
        }
        Ok(moved)
    }
}

fn send(namespaces: &mut Namespaces, wanted: &Move) -> Result<Link> {
    let Move {
        link,
        to,
        name,
        alias,
        ..
    } = wanted;
    if link.namespace == *to {
        return Err(Error::invalid("it is there already"));
    }
    // The kernel moves first and gives the name then: it would leave the link there under the old
    // one.
    let target = namespaces.of(*to)?;
    if is_name_taken(target, name)? {
        return Err(target.name_taken(name));
    }
    let mut message = about(link.index, alias.as_deref().map(alias_attribute));
    message.attributes.push(into_namespace(target)?);
    message.attributes.push(LinkAttribute::IfName(name.clone()));
    let sent = namespaces.of(link.namespace)?.change_link(message);
    let target = namespaces.of(*to)?;
    sent.map_err(|error| match error.errno {
        Some(Errno::EEXIST) => target.name_taken(name),
        _ => error,
    })?;
    target.link(by_name(name))
}
