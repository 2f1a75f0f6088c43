//! Links that go, and all that goes with them.

use weir_gate::Permit;
use weir_grant::Namespace;
use weir_grant::link::{Delete, LinkFacts};
use weir_kernel::{Answer, Result, WhileDoing as _};

use super::create::unsupported;
use super::state::settle;
use super::update::enslave;
use super::{by_index, find};
use crate::kernel::Model;
use crate::state::{Machine, NetworkState, State};
use crate::{route, sysctl, traffic};

impl Answer<Delete> for Model {
    fn answer(&mut self, permit: &Permit<Delete>) -> Result<()> {
        self.known.forget_all();
        let link = &permit.operation().link;
        self.change(|machine| delete(machine, link))
    }
}

/// Deletes a link, with its peer and its upper devices. Errors: `NotFound`, `Unsupported`.
pub(crate) fn delete(machine: &mut Machine, link: &LinkFacts) -> Result<()> {
    let doing = format_args!("delete {link}");
    let network = machine.state.of(link.namespace)?;
    let device = find(network, link).while_doing(doing)?;
    if device.link.kind == "loopback" {
        return Err(unsupported().while_doing(doing));
    }
    remove(&mut machine.state, link.namespace, link.index);
    settle(&mut machine.state);
    Ok(())
}

fn remove(state: &mut State, namespace: Namespace, index: u32) {
    let Some(network) = state.network(namespace) else {
        return;
    };
    let Ok(device) = by_index(network, index).cloned() else {
        return;
    };
    let ports = network
        .links
        .iter()
        .filter(|port| port.link.master == Some(index));
    let ports: Vec<u32> = ports.map(|port| port.link.index).collect();
    for port in ports {
        // There is such a link, and it may have no master.
        let _ = enslave(network, port, None);
    }
    forget(network, index, &device.link.name);
    if let Some((namespace, peer)) = device.peer {
        remove(state, namespace, peer);
    }
    for (other, upper) in standing_on(state, (namespace, index)) {
        remove(state, other, upper);
    }
}

/// Takes a link out of a namespace, with what it has there.
pub(super) fn forget(network: &mut NetworkState, index: u32, name: &str) {
    network.links.retain(|device| device.link.index != index);
    network.addresses.retain(|(link, _)| *link != index);
    network.neighbours.retain(|(link, _)| *link != index);
    network.routes.retain(|route| route.link != Some(index));
    route::drop_of_link(network, index);
    sysctl::remove_link(network, name);
    traffic::forget_target(network, index);
}

fn standing_on(state: &mut State, lower: (Namespace, u32)) -> Vec<(Namespace, u32)> {
    let mut found = Vec::new();
    for namespace in [Namespace::Host, Namespace::Container] {
        let links = state.network(namespace).into_iter().flat_map(|n| &n.links);
        let upper = links.filter(|device| device.lower == Some(lower));
        found.extend(upper.map(|device| (namespace, device.link.index)));
    }
    found
}

impl State {
    /// Removes the container's namespace, and the veths on the host whose peers were in it.
    pub(crate) fn remove_container(&mut self) {
        let links = self.container.iter().flat_map(|network| &network.links);
        let all: Vec<u32> = links.map(|device| device.link.index).collect();
        for index in all {
            remove(self, Namespace::Container, index);
        }
        self.container = None;
        settle(self);
    }
}
