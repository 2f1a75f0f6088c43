//! What weir takes back when ADD fails: it removes what ADD created, and puts back what it changed of the container's
//! links and of kernel parameters. What ADD removed stays gone, and links of the host stay as it left them.

use super::parameters;
use super::state::{Device, Machine, Network, Table};
use crate::bindings::weir::cni::neighbour::Neighbour;
use crate::bindings::weir::cni::types::Namespace;
use crate::sysctl::interface_segment;

impl Machine {
    /// Takes back what was done since `before`.
    pub(crate) fn undo(&mut self, before: Machine) {
        let Machine {
            mut host,
            mut container,
            stores,
            ..
        } = before;
        host.keep(self, Namespace::Host);
        if let Some(container) = &mut container {
            container.keep(self, Namespace::Container);
        }
        self.container = self.container.take().and(container);
        self.host = host;
        self.stores = stores;
    }
}

impl Network {
    /// Makes this network, as it was, what is left of it now.
    fn keep(&mut self, now: &Machine, namespace: Namespace) {
        self.links.retain(|device| is_left(now, device));
        let Ok(there) = now.look(namespace) else {
            return;
        };
        if namespace == Namespace::Host {
            self.keep_changes(there);
        }
        let links = self
            .links
            .iter()
            .map(|device| interface_segment(&device.link.name));
        let links: Vec<String> = links.chain(["all", "default"].map(str::to_owned)).collect();
        let has_link = |link: &str| links.iter().any(|left| left == link);
        self.parameters
            .retain(|key, _| parameters::of_link(key).is_none_or(has_link));
        self.addresses.retain(|held| there.addresses.contains(held));
        self.routes.retain(|way| there.routes.contains(way));
        self.neighbours.retain(|(link, entry)| {
            let is_same = |(other, e): &(u32, _)| other == link && is_like(entry, e);
            there.neighbours.iter().any(is_same)
        });
        let tables = std::mem::take(&mut self.tables).into_iter();
        let left = tables.filter_map(|table| {
            let now = there.tables.iter().find(|now| now.family == table.family)?;
            Some(table.keep(now))
        });
        self.tables = left.collect();
    }

    /// Keeps what was changed of the links, but for masters that are gone.
    fn keep_changes(&mut self, there: &Network) {
        let left: Vec<u32> = self.links.iter().map(|device| device.link.index).collect();
        for device in &mut self.links {
            let index = device.link.index;
            if let Ok(now) = there.device(index) {
                device.clone_from(now);
                let link = &mut device.link;
                link.master = link.master.filter(|master| left.contains(master));
                link.port = link.port.filter(|_| link.master.is_some());
            }
        }
    }
}

fn is_like(one: &Neighbour, other: &Neighbour) -> bool {
    (one.address, one.proxy) == (other.address, other.proxy)
}

/// Whether a link is still on the machine, in either namespace.
fn is_left(now: &Machine, device: &Device) -> bool {
    let networks = [Some(&now.host), now.container.as_ref()];
    let mut networks = networks.into_iter().flatten();
    networks.any(|network| network.device(device.link.index).is_ok())
}

impl Table {
    fn keep(mut self, now: &Table) -> Self {
        let has_chain = |name: &str| now.chains.iter().any(|chain| chain.name == name);
        self.chains.retain(|chain| has_chain(&chain.name));
        self.rules
            .retain(|rule| now.rules.iter().any(|r| r.handle == rule.handle));
        self.sets.retain_mut(|(set, elements)| {
            let Some((_, left)) = now.sets.iter().find(|(other, _)| other.name == set.name) else {
                return false;
            };
            elements.retain(|element| left.iter().any(|l| l.key == element.key));
            true
        });
        self
    }
}
