//! Links that go, and all that goes with them.

use super::settle;
use super::update::enslave;
use crate::bindings::fake::error::{EOPNOTSUPP, Result, invalid, refuse};
use crate::bindings::fake::state::{BOTH, Machine, Network};
use crate::bindings::fake::{Call, route, sysctl, traffic};
use crate::bindings::weir::cni::types::{ErrorCode, LinkReference, Namespace};

/// The most links that weir deletes in one step.
const MOST_AT_ONCE: usize = 256;

pub fn delete(namespace: Namespace, link: &LinkReference) -> Result<()> {
    let call = Call::of("link.delete").on(namespace, link);
    call.run(|machine| delete_from(machine, namespace, link))
}

pub fn delete_all(namespace: Namespace, links: &[LinkReference]) -> Result<()> {
    let count = format_args!("{} links", links.len()).to_string();
    let call = Call::of("link.delete-all").within(namespace).with(count);
    call.run(|machine| {
        if links.len() > MOST_AT_ONCE {
            return Err(invalid(format!("expected at most {MOST_AT_ONCE} links")));
        }
        for link in links {
            match delete_from(machine, namespace, link) {
                Err(error) if error.code == ErrorCode::NotFound => {}
                deleted => deleted?,
            }
        }
        Ok(())
    })
}

fn delete_from(machine: &mut Machine, namespace: Namespace, link: &LinkReference) -> Result<()> {
    let found = &machine.network(namespace)?.find(link)?.link;
    if found.kind == "loopback" {
        return refuse(EOPNOTSUPP);
    }
    let index = found.index;
    remove(machine, namespace, index);
    settle::all(machine);
    Ok(())
}

/// Removes a link with its peer and its upper devices, if it is still there.
fn remove(machine: &mut Machine, namespace: Namespace, index: u32) {
    let Ok(network) = machine.network(namespace) else {
        return;
    };
    let Ok(device) = network.device(index).cloned() else {
        return;
    };
    let ports = network.links.iter().map(|port| &port.link);
    let ports = ports.filter(|port| port.master == Some(index));
    let ports: Vec<u32> = ports.map(|port| port.index).collect();
    for port in ports {
        // There is such a link, and it may have no master.
        let _ = enslave(network, port, None);
    }
    forget(network, index, &device.link.name);
    if let Some((namespace, peer)) = device.peer {
        remove(machine, namespace, peer);
    }
    for (other, upper) in uppers_of(machine, (namespace, index)) {
        remove(machine, other, upper);
    }
}

/// Takes a link out of a namespace, with what it has there.
pub(super) fn forget(network: &mut Network, index: u32, name: &str) {
    network.links.retain(|device| device.link.index != index);
    network.addresses.retain(|held| held.link != index);
    network.neighbours.retain(|(link, _)| *link != index);
    network.routes.retain(|way| way.hop.link != Some(index));
    route::drop_of_link(network, index);
    sysctl::remove_link(network, name);
    traffic::forget_target(network, index);
}

fn uppers_of(machine: &Machine, lower: (Namespace, u32)) -> Vec<(Namespace, u32)> {
    let mut found = Vec::new();
    for namespace in BOTH {
        let links = machine.look(namespace).into_iter().flat_map(|n| &n.links);
        let uppers = links.filter(|device| device.lower == Some(lower));
        found.extend(uppers.map(|device| (namespace, device.link.index)));
    }
    found
}

/// Removes the container's namespace, and the links on the host that go with it.
pub(crate) fn remove_container(machine: &mut Machine) {
    let links = machine.container.iter().flat_map(|network| &network.links);
    let all: Vec<u32> = links.map(|device| device.link.index).collect();
    for index in all {
        remove(machine, Namespace::Container, index);
    }
    machine.container = None;
    settle::all(machine);
}
