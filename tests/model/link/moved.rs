//! Links that move to the other namespace.

use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::Namespace;
use weir_grant::link::{Link, Move};
use weir_kernel::inverses::LinkHistory as _;
use weir_kernel::{Changes, Error, Perform, Result, WhileDoing as _, checks};

use super::delete::forget;
use super::state::settle;
use super::{check_free, find};
use crate::kernel::Model;
use crate::state::{Device, Machine, State};
use crate::sysctl;
use crate::traffic::Traffic;

impl Perform<Move, Link> for Model {
    fn perform(&mut self, permit: &Permit<Move>, changes: &mut Changes<'_>) -> Result<Link> {
        let wanted = permit.operation();
        let before = self.before(&wanted.link);
        self.known.forget_all();
        let moved = self
            .change(|machine| carry_out(machine, wanted))
            .while_doing(format_args!("move {} to {}", wanted.link, wanted.to))?;
        if let Some(before) = before {
            self.note_move(wanted, &before, &moved, changes);
        }
        Ok(moved)
    }
}

fn carry_out(machine: &mut Machine, wanted: &Move) -> Result<Link> {
    let Move { link, to, name, .. } = wanted;
    checks::link_name(name)?;
    if link.namespace == *to {
        return Err(Error::invalid("it is there already"));
    }
    check_free(machine.state.of(*to)?, name)?;
    let from = machine.state.of(link.namespace)?;
    let device = find(from, link)?.clone();
    if matches!(device.link.kind.as_str(), "loopback" | "bridge" | "vrf") {
        return Err(Errno::EINVAL.into());
    }
    forget(from, device.link.index, &device.link.name);
    let moved = arrived(device, wanted);
    let answer = moved.link.clone();
    let there = machine.state.of(*to)?;
    sysctl::add_link(there, name);
    there.links.push(moved);
    follow(&mut machine.state, (link.namespace, link.index), *to);
    settle(&mut machine.state);
    Ok(answer)
}

/// The link as it is there: down, not a port, and not shaped.
fn arrived(mut device: Device, wanted: &Move) -> Device {
    let link = &mut device.link;
    link.name.clone_from(&wanted.name);
    link.up = false;
    link.oper_state = weir_grant::link::OperState::Down;
    link.master = None;
    link.port = None;
    if let Some(alias) = &wanted.alias {
        link.alias.clone_from(alias);
    }
    device.vlans.clear();
    device.traffic = Traffic::default();
    device
}

/// Has the upper devices of a link, or its peer, know where it is.
fn follow(state: &mut State, from: (Namespace, u32), to: Namespace) {
    for namespace in [Namespace::Host, Namespace::Container] {
        let links = state
            .network(namespace)
            .into_iter()
            .flat_map(|n| &mut n.links);
        let places = links.flat_map(|device| [&mut device.peer, &mut device.lower]);
        for place in places.flatten().filter(|place| **place == from) {
            place.0 = to;
        }
    }
}
