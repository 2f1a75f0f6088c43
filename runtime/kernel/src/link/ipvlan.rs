//! ipvlan: all links over one device have one mode, and a new one sets it for all of them.
//!
//! The kernel does so without a word, and does not say which links a device has in other namespaces. So the mode of the
//! last one that weir made over a device of the host is noted in `/run`. One of another mode is made only where no ipvlan
//! is left, which a macvlan tells: the kernel refuses it over a device that has one. What the host or another program made
//! before weir made its first one is not known, and does not count.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use netlink_packet_route::RouteNetlinkMessage;
use nix::errno::Errno;
use weir_files::{Durability, paths};
use weir_grant::Namespace;
use weir_grant::link::{Details, IpvlanMode, LinkFacts, MacvlanMode, NewKind};

use super::find::list_links;
use super::message::of_kind;
use super::{by_index, by_name, name, read};
use crate::error::{Error, Result};
use crate::linux::Linux;
use crate::namespace::NetworkNamespace;
use crate::netlink::NEW;

impl Linux {
    /// Fails if an ipvlan of this mode over a device would change the mode of others. Until the lock that it returns is
    /// dropped, no other invocation makes one over a device of the host.
    ///
    /// Errors: `Busy`; `Failed` where the mode cannot be noted.
    pub(super) fn keep_ipvlan_mode(
        &mut self,
        lower: &LinkFacts,
        mode: IpvlanMode,
    ) -> Result<Option<File>> {
        let there = self.namespaces.of(lower.namespace)?;
        if lower.kind == "ipvlan" {
            // It goes over the device below, whose links have its mode.
            let is_other = |found: &IpvlanMode| *found != mode;
            return match mode_of(there, lower.index)?.filter(is_other) {
                Some(found) => Err(would_change(lower, found, mode)),
                None => Ok(None),
            };
        }
        if lower.namespace == Namespace::Container {
            let others = modes_over(there, lower.index)?;
            return match others.into_iter().find(|found| *found != mode) {
                Some(found) => Err(would_change(lower, found, mode)),
                None => Ok(None),
            };
        }
        let note = Note::of(self.paths.run().join("ipvlan"), lower);
        let lock = note.lock()?;
        match note.read() {
            Some(noted) if noted != mode && has_ipvlans(there, lower)? => {
                return Err(would_change(lower, noted, mode));
            }
            Some(noted) if noted == mode => {}
            _ => note.write(mode)?,
        }
        Ok(Some(lock))
    }
}

fn would_change(lower: &LinkFacts, found: IpvlanMode, mode: IpvlanMode) -> Error {
    Error::busy(format!(
        "{lower} has ipvlan links in mode {found}, which one in mode {mode} would change"
    ))
}

/// The mode of an ipvlan.
fn mode_of(there: &mut NetworkNamespace, index: u32) -> Result<Option<IpvlanMode>> {
    Ok(match there.link(by_index(index))?.details {
        Details::Ipvlan(mode) => Some(mode),
        _ => None,
    })
}

/// The modes of the ipvlans over a device of the same namespace.
fn modes_over(there: &mut NetworkNamespace, index: u32) -> Result<Vec<IpvlanMode>> {
    let links = list_links(there.route()?)?.into_iter().map(read::link);
    let over = links.filter(|link| link.lower == Some(index));
    let modes = over.filter_map(|link| match link.details {
        Details::Ipvlan(mode) => Some(mode),
        _ => None,
    });
    Ok(modes.collect())
}

/// Whether a device has ipvlans, in whatever namespace: the kernel then refuses a macvlan over it. It is down, and gone at
/// once.
fn has_ipvlans(there: &mut NetworkNamespace, lower: &LinkFacts) -> Result<bool> {
    let probe = name::random("weir");
    let mut message = by_name(&probe);
    message.attributes.extend(of_kind(&NewKind::Macvlan {
        lower: lower.clone(),
        mode: MacvlanMode::Private,
        bc_queue_len: None,
    }));
    let made = there
        .route()?
        .change(RouteNetlinkMessage::NewLink(message), NEW);
    match made {
        Ok(()) => {
            let made = there.link(by_name(&probe))?;
            there.discard_link(made.index);
            Ok(false)
        }
        // A kernel without macvlan does not tell.
        Err(error) if error.is(Errno::EBUSY) || error.is(Errno::EOPNOTSUPP) => Ok(true),
        Err(error) => Err(error.while_doing(format_args!("look for ipvlan links over {lower}"))),
    }
}

/// The mode of the ipvlans over one device of the host, in a file. An index is not used again until the host restarts.
struct Note {
    directory: PathBuf,
    place: PathBuf,
}

impl Note {
    fn of(directory: PathBuf, lower: &LinkFacts) -> Self {
        let place = directory.join(lower.index.to_string());
        Self { directory, place }
    }

    fn lock(&self) -> Result<File> {
        let file = paths::open_lock(&self.directory.join(".lock"));
        let locked = file.and_then(|file| file.lock().map(|()| file));
        locked.map_err(|error| self.failed(error))
    }

    fn read(&self) -> Option<IpvlanMode> {
        let noted = fs::read_to_string(&self.place).ok()?;
        IpvlanMode::ALL
            .iter()
            .copied()
            .find(|mode| mode.word() == noted)
    }

    fn write(&self, mode: IpvlanMode) -> Result<()> {
        let written = weir_files::replace(&self.place, mode.word().as_bytes(), Durability::Process);
        written.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> Error {
        let directory = self.directory.display();
        Error::from(error).while_doing(format_args!(
            "note the mode of ipvlan links in `{directory}`"
        ))
    }
}
