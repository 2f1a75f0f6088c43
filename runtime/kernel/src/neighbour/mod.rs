//! Capability `neighbour`: entries of the ARP and ND tables, and announcements.

mod announce;

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::address::Family;
use weir_grant::link::{LinkFacts, Mac};
use weir_grant::neighbour::{Add, Delete, List, Neighbour, State};

use crate::address::address_family;
use crate::error::{Result, WhileDoing as _};
use crate::linux::Linux;
use crate::namespace::NetworkNamespace;
use crate::perform::{Answer, Changes, Perform};

/// Adds or replaces an entry. Undo removes it unless it replaced one that was set; a learned one the kernel learns again.
///
/// Errors: `NotFound` for a link that is gone, `Invalid`.
impl Perform<Add> for Linux {
    fn perform(&mut self, permit: &Permit<Add>, changes: &mut Changes<'_>) -> Result<()> {
        let Add {
            link,
            address,
            mac,
            state,
            proxy,
        } = permit.operation();
        let mut message = about(link, *address);
        message.header.state = kernel_state(*state);
        message.header.flags.set(NeighbourFlags::Proxy, *proxy);
        let mac = mac
            .as_ref()
            .map(|mac| NeighbourAttribute::LinkLayerAddress(mac.0.clone()));
        message.attributes.extend(mac);
        let flags = message.header.flags;
        let namespace = self.namespaces.of(link.namespace)?;
        let was_set = is_set(namespace, link, *address, flags)
            .and_then(|was_set| {
                namespace.route()?.change(
                    RouteNetlinkMessage::NewNeighbour(message),
                    NLM_F_CREATE | NLM_F_REPLACE,
                )?;
                Ok(was_set)
            })
            .while_doing(format_args!("add neighbour {address} to {link}"))?;
        if !was_set {
            changes.undo_with(permit.operation().inverse());
        }
        Ok(())
    }
}

/// Whether an entry of this address was set, and not learned. `flags` name one of the two tables.
fn is_set(
    namespace: &mut NetworkNamespace,
    link: &LinkFacts,
    address: IpAddr,
    flags: NeighbourFlags,
) -> Result<bool> {
    let mut question = about(link, address);
    question.header.flags = flags;
    let question = RouteNetlinkMessage::GetNeighbour(question);
    let found = match namespace.route()?.get(question) {
        Ok(RouteNetlinkMessage::NewNeighbour(message)) => read(message),
        Ok(_) => None,
        Err(error) if error.is(Errno::ENOENT) => None,
        Err(error) => return Err(error),
    };
    let lasts =
        |entry: Neighbour| entry.proxy || matches!(entry.state, State::Permanent | State::Noarp);
    Ok(found.is_some_and(lasts))
}

/// Removes an entry. Errors: `NotFound`.
impl Answer<Delete> for Linux {
    fn answer(&mut self, permit: &Permit<Delete>) -> Result<()> {
        let delete = permit.operation();
        let (link, address) = (&delete.link, delete.address);
        let remove = |flags| {
            let mut entry = about(link, address);
            entry.header.flags = flags;
            RouteNetlinkMessage::DelNeighbour(entry)
        };
        let (ordinary, proxied) = (NeighbourFlags::empty(), NeighbourFlags::Proxy);
        let socket = self.route(link.namespace)?;
        let deleted = match delete.proxy {
            Some(true) => socket.change(remove(proxied), 0),
            Some(false) => socket.change(remove(ordinary), 0),
            None => match socket.change(remove(ordinary), 0) {
                Err(error) if error.is(Errno::ENOENT) => socket.change(remove(proxied), 0),
                deleted => deleted,
            },
        };
        deleted.while_doing(format_args!("remove neighbour {address} from {link}"))
    }
}

/// The entries of one link. Errors: `NotFound` for the link.
impl Answer<List, Vec<Neighbour>> for Linux {
    fn answer(&mut self, permit: &Permit<List>) -> Result<Vec<Neighbour>> {
        let List { link, family } = permit.operation();
        let mut entries = Vec::new();
        // The kernel lists the two tables separately.
        for flags in [NeighbourFlags::empty(), NeighbourFlags::Proxy] {
            let found = dump(self.namespaces.of(link.namespace)?, link, *family, flags)
                .while_doing(format_args!("list the neighbours on {link}"))?;
            entries.extend(found);
        }
        Ok(entries)
    }
}

fn dump(
    namespace: &mut NetworkNamespace,
    link: &LinkFacts,
    family: Option<Family>,
    flags: NeighbourFlags,
) -> Result<Vec<Neighbour>> {
    let mut question = NeighbourMessage::default();
    question.header.family = family.map_or(AddressFamily::Unspec, address_family);
    question.header.flags = flags;
    question
        .attributes
        .push(NeighbourAttribute::IfIndex(link.index));
    let answer = namespace
        .route()?
        .dump(&RouteNetlinkMessage::GetNeighbour(question))?;
    let entries = answer.into_iter().filter_map(|object| match object {
        // Kernels before 5.0 do not filter proxy entries.
        RouteNetlinkMessage::NewNeighbour(message) if message.header.ifindex == link.index => {
            read(message)
        }
        _ => None,
    });
    Ok(entries.collect())
}

fn about(link: &LinkFacts, address: IpAddr) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = address_family(Family::of(&address));
    message.header.ifindex = link.index;
    message
        .attributes
        .push(NeighbourAttribute::Destination(address.into()));
    message
}

/// None for an entry of another protocol, and for one that has no state yet.
pub(crate) fn read(message: NeighbourMessage) -> Option<Neighbour> {
    let proxy = message.header.flags.contains(NeighbourFlags::Proxy);
    let (mut address, mut mac) = (None, None);
    for attribute in message.attributes {
        match attribute {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(a)) => address = Some(a.into()),
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(a)) => address = Some(a.into()),
            NeighbourAttribute::LinkLayerAddress(bytes) => mac = Some(Mac(bytes)),
            _ => {}
        }
    }
    Some(Neighbour {
        address: address?,
        mac,
        state: state(message.header.state, proxy)?,
        proxy,
    })
}

fn kernel_state(state: State) -> NeighbourState {
    match state {
        State::Incomplete => NeighbourState::Incomplete,
        State::Reachable => NeighbourState::Reachable,
        State::Stale => NeighbourState::Stale,
        State::Delay => NeighbourState::Delay,
        State::Probe => NeighbourState::Probe,
        State::Failed => NeighbourState::Failed,
        State::Noarp => NeighbourState::Noarp,
        State::Permanent => NeighbourState::Permanent,
    }
}

fn state(state: NeighbourState, proxy: bool) -> Option<State> {
    use State::{Delay, Failed, Incomplete, Noarp, Permanent, Probe, Reachable, Stale};
    // A proxy entry has no state; it stays until it is removed.
    if state == NeighbourState::None && proxy {
        return Some(Permanent);
    }
    let all = [
        Incomplete, Reachable, Stale, Delay, Probe, Failed, Noarp, Permanent,
    ];
    all.into_iter().find(|known| kernel_state(*known) == state)
}
