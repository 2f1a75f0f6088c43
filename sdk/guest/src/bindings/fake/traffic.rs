//! Capability `traffic`: disciplines, classes and filters, which shape nothing.

use super::Call;
use super::error::{EEXIST, ENOENT, EOPNOTSUPP, Result, invalid, refuse};
use super::state::{Machine, Network, Traffic, network as read_network};
use crate::bindings::weir::cni::traffic::{
    Action, Class, Discipline, Filter, Handle, Qdisc, TokenBucket,
};
use crate::bindings::weir::cni::types::{IpAddress, LinkReference, Namespace};

const ROOT: Handle = crate::traffic::ROOT;
const INGRESS_PLACE: Handle = crate::traffic::INGRESS_PLACE;
const MAJOR: Handle = 0xffff_0000;

pub fn add_qdisc(namespace: Namespace, link: &LinkReference, qdisc: &Qdisc) -> Result<()> {
    let text = format!("{:?} at {:#x}", qdisc.discipline, qdisc.parent);
    let call = Call::of("traffic.add-qdisc").on(namespace, link);
    call.with(text).run(|machine| {
        check_qdisc(qdisc)?;
        let traffic = traffic(machine, namespace, link)?;
        if !is_fixed(qdisc.parent) && !traffic.has_class(qdisc.parent) {
            return refuse(ENOENT);
        }
        let is_taken = |there: &Qdisc| {
            there.parent == qdisc.parent || there.handle == qdisc.handle && qdisc.handle != 0
        };
        if traffic.qdiscs.iter().any(is_taken) {
            return refuse(EEXIST);
        }
        let handle = handle(traffic, qdisc);
        traffic.qdiscs.push(Qdisc {
            handle,
            ..qdisc.clone()
        });
        Ok(())
    })
}

/// Whether a place is not in a class.
fn is_fixed(parent: Handle) -> bool {
    [ROOT, INGRESS_PLACE].contains(&parent)
}

fn is_hook(qdisc: &Qdisc) -> bool {
    matches!(qdisc.discipline, Discipline::Ingress | Discipline::Clsact)
}

/// The handle that the kernel gives to a discipline.
fn handle(traffic: &Traffic, qdisc: &Qdisc) -> Handle {
    if is_hook(qdisc) {
        return crate::traffic::INGRESS;
    }
    if qdisc.handle != 0 {
        return qdisc.handle;
    }
    let is_free = |handle: &Handle| traffic.qdiscs.iter().all(|there| there.handle != *handle);
    let mut handles = (0x8001..0xffff).map(|major| crate::traffic::handle(major, 0));
    handles.find(is_free).unwrap_or_default()
}

fn check_qdisc(qdisc: &Qdisc) -> Result<()> {
    if is_hook(qdisc) != (qdisc.parent == INGRESS_PLACE) {
        return Err(invalid("the discipline cannot be at that place"));
    }
    match &qdisc.discipline {
        Discipline::Tbf(TokenBucket { rate: 0, .. } | TokenBucket { burst: 0, .. }) => {
            Err(invalid("a rate or a burst of 0"))
        }
        Discipline::Other(name) => Err(invalid(format!("a plugin cannot add `{name}`"))),
        _ if qdisc.handle & !MAJOR != 0 => Err(invalid("a discipline's minor number is 0")),
        _ => Ok(()),
    }
}

pub fn delete_qdisc(namespace: Namespace, link: &LinkReference, parent: Handle) -> Result<()> {
    let call = Call::of("traffic.delete-qdisc").on(namespace, link);
    call.with(format_args!("at {parent:#x}")).run(|machine| {
        let traffic = traffic(machine, namespace, link)?;
        let is_there = traffic.remove_at(parent);
        if is_there { Ok(()) } else { refuse(ENOENT) }
    })
}

pub fn list_qdiscs(namespace: Namespace, link: &LinkReference) -> Result<Vec<Qdisc>> {
    let call = Call::of("traffic.list-qdiscs").on(namespace, link);
    call.run(|machine| Ok(traffic(machine, namespace, link)?.qdiscs.clone()))
}

pub fn add_class(namespace: Namespace, link: &LinkReference, class: Class) -> Result<()> {
    let text = format!("{:#x} rate {}", class.handle, class.rate);
    let call = Call::of("traffic.add-class").on(namespace, link);
    call.with(text).run(|machine| {
        let numbers = [
            class.rate,
            class.ceil,
            class.burst.into(),
            class.cburst.into(),
        ];
        if numbers.contains(&0) || class.handle & MAJOR != class.parent & MAJOR {
            return Err(invalid(
                "a rate or a burst of 0, or a handle of another discipline",
            ));
        }
        let traffic = traffic(machine, namespace, link)?;
        if !traffic.has_htb(class.parent) && !traffic.has_class(class.parent) {
            return refuse(ENOENT);
        }
        if traffic.has_class(class.handle) {
            return refuse(EEXIST);
        }
        // A class with classes has no discipline.
        traffic.remove_at(class.parent);
        traffic.classes.push(class);
        Ok(())
    })
}

pub fn list_classes(namespace: Namespace, link: &LinkReference) -> Result<Vec<Class>> {
    let call = Call::of("traffic.list-classes").on(namespace, link);
    call.run(|machine| Ok(traffic(machine, namespace, link)?.classes.clone()))
}

pub fn add_filter(namespace: Namespace, link: &LinkReference, filter: &Filter) -> Result<()> {
    let text = format!("{:?} at {:#x}", filter.action, filter.parent);
    let call = Call::of("traffic.add-filter").on(namespace, link);
    call.with(text).run(|machine| {
        let mut filter = filter.clone();
        check_networks(&filter)?;
        if let Action::Redirect(target) = &filter.action {
            let target = machine.network(namespace)?.index(target)?;
            filter.action = Action::Redirect(LinkReference::Index(target));
        }
        let traffic = traffic(machine, namespace, link)?;
        traffic.check_parent(&filter)?;
        if filter.priority == 0 {
            filter.priority = traffic.free_priority(filter.parent);
        }
        traffic.check_priority(&filter)?;
        traffic.filters.push(filter);
        traffic.filters.sort_by_key(|filter| filter.priority);
        Ok(())
    })
}

fn check_networks(filter: &Filter) -> Result<()> {
    let networks = [filter.source, filter.destination];
    let networks = networks.into_iter().flatten().map(read_network);
    let networks = networks.collect::<Result<Vec<_>>>()?;
    if networks.iter().any(|network| network.trunc() != *network) {
        return Err(invalid("a network has bits beyond its prefix"));
    }
    match networks[..] {
        [one, other] if one.addr().is_ipv4() != other.addr().is_ipv4() => {
            Err(invalid("the networks are of different families"))
        }
        _ => Ok(()),
    }
}

pub fn list_filters(
    namespace: Namespace,
    link: &LinkReference,
    parent: Handle,
) -> Result<Vec<Filter>> {
    let call = Call::of("traffic.list-filters").on(namespace, link);
    call.with(format_args!("at {parent:#x}")).run(|machine| {
        let filters = traffic(machine, namespace, link)?.filters.iter();
        let filters = filters.filter(|filter| filter.parent == parent);
        Ok(filters.cloned().collect())
    })
}

fn traffic<'a>(
    machine: &'a mut Machine,
    namespace: Namespace,
    link: &LinkReference,
) -> Result<&'a mut Traffic> {
    let network = machine.network(namespace)?;
    let index = network.index(link)?;
    Ok(&mut network.device_mut(index)?.traffic)
}

/// Has the filters that send packets to a link tell that it is gone.
pub(super) fn forget_target(network: &mut Network, index: u32) {
    let filters = (network.links.iter_mut()).flat_map(|device| &mut device.traffic.filters);
    for filter in filters {
        if matches!(filter.action, Action::Redirect(LinkReference::Index(target)) if target == index)
        {
            filter.action = Action::Redirect(LinkReference::Index(0));
        }
    }
}

impl Traffic {
    /// Removes the discipline at a place with all that is in it. Whether there is one.
    fn remove_at(&mut self, parent: Handle) -> bool {
        let at = self.qdiscs.iter().position(|qdisc| qdisc.parent == parent);
        let gone = at.map(|at| self.qdiscs.remove(at));
        if let Some(gone) = &gone {
            self.remove_below(gone.handle);
        }
        gone.is_some()
    }

    /// Removes what is in a discipline that is gone.
    fn remove_below(&mut self, discipline: Handle) {
        let is_of = |handle: Handle| handle & MAJOR == discipline & MAJOR;
        self.filters.retain(|filter| !is_of(filter.parent));
        let gone = self
            .classes
            .extract_if(.., |class| is_of(class.handle))
            .map(|class| class.handle);
        for class in gone.collect::<Vec<_>>() {
            self.remove_at(class);
        }
    }

    fn check_parent(&self, filter: &Filter) -> Result<()> {
        let discipline = filter.parent & MAJOR;
        let is_classified = matches!(filter.action, Action::Classify(_));
        if is_classified && !self.has_htb(discipline) {
            return refuse(ENOENT);
        }
        let found = self.qdiscs.iter().find(|qdisc| qdisc.handle == discipline);
        match found.map(|found| &found.discipline) {
            None => refuse(ENOENT),
            Some(Discipline::Tbf(_)) => refuse(EOPNOTSUPP),
            Some(Discipline::Htb(_)) if filter.parent != discipline => {
                if self.has_class(filter.parent) {
                    Ok(())
                } else {
                    refuse(ENOENT)
                }
            }
            Some(_) => Ok(()),
        }
    }

    /// The priority that the kernel chooses: before those that it has chosen.
    fn free_priority(&self, parent: Handle) -> u16 {
        let at_parent = self.filters.iter().filter(|filter| filter.parent == parent);
        let chosen = at_parent
            .map(|filter| filter.priority)
            .filter(|priority| *priority >= 0x8000);
        chosen.min().map_or(0xc000, |first| first - 1)
    }

    /// Filters of one priority are for packets of one family, or of all.
    fn check_priority(&self, filter: &Filter) -> Result<()> {
        let place = |filter: &Filter| (filter.parent, filter.priority);
        let mut others = self
            .filters
            .iter()
            .filter(|other| place(other) == place(filter));
        if others.any(|other| is_ipv4(other) != is_ipv4(filter)) {
            return Err(invalid(
                "the priority has filters for packets of another family",
            ));
        }
        Ok(())
    }

    fn has_class(&self, handle: Handle) -> bool {
        self.classes.iter().any(|class| class.handle == handle)
    }

    fn has_htb(&self, handle: Handle) -> bool {
        let is_htb = |q: &Qdisc| matches!(q.discipline, Discipline::Htb(_)) && q.handle == handle;
        self.qdiscs.iter().any(is_htb)
    }
}

/// Whether a filter is for packets of IPv4, of IPv6, or of both.
fn is_ipv4(filter: &Filter) -> Option<bool> {
    let network = filter.source.or(filter.destination)?;
    Some(matches!(network.address, IpAddress::Ipv4(_)))
}
