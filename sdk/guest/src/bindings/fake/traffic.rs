//! Capability `traffic`: disciplines, classes and filters, which shape nothing.

use super::Call;
use super::error::{EEXIST, ENOENT, EOPNOTSUPP, Result, invalid, refuse};
use super::state::{Machine, Traffic, network as read_network};
use crate::bindings::weir::cni::traffic::{
    Action, Class, Discipline, Filter, Handle, Qdisc, TokenBucket,
};
use crate::bindings::weir::cni::types::{LinkReference, Namespace};

const ROOT: Handle = crate::traffic::ROOT;
const INGRESS_PLACE: Handle = crate::traffic::INGRESS_PLACE;
const MAJOR: Handle = 0xffff_0000;

pub fn add_qdisc(namespace: Namespace, link: &LinkReference, qdisc: &Qdisc) -> Result<()> {
    let text = format!("{:?} at {:#x}", qdisc.discipline, qdisc.parent);
    let call = Call::of("traffic.add-qdisc").on(namespace, link);
    call.with(text).run(|machine| {
        check_qdisc(qdisc)?;
        let traffic = traffic(machine, namespace, link)?;
        let is_place = [ROOT, INGRESS_PLACE].contains(&qdisc.parent);
        if !is_place && !traffic.has_class(qdisc.parent) {
            return refuse(ENOENT);
        }
        if traffic
            .qdiscs
            .iter()
            .any(|there| there.parent == qdisc.parent)
        {
            return refuse(EEXIST);
        }
        traffic.qdiscs.push(qdisc.clone());
        Ok(())
    })
}

fn check_qdisc(qdisc: &Qdisc) -> Result<()> {
    let is_hook = matches!(qdisc.discipline, Discipline::Ingress | Discipline::Clsact);
    if is_hook != (qdisc.parent == INGRESS_PLACE) {
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
        let at = traffic
            .qdiscs
            .iter()
            .position(|qdisc| qdisc.parent == parent);
        let gone = traffic.qdiscs.remove(at.ok_or(ENOENT)?);
        let is_of = |handle: Handle| handle & MAJOR == gone.handle & MAJOR;
        traffic.qdiscs.retain(|qdisc| !is_of(qdisc.parent));
        traffic.classes.retain(|class| !is_of(class.handle));
        traffic.filters.retain(|filter| !is_of(filter.parent));
        Ok(())
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
        if class.rate == 0 || class.burst == 0 || class.handle & MAJOR != class.parent & MAJOR {
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
        let is_hook = |qdisc: &Qdisc| {
            let is_there = qdisc.handle & MAJOR == filter.parent & MAJOR;
            is_there && !matches!(qdisc.discipline, Discipline::Tbf(_))
        };
        if !traffic.qdiscs.iter().any(is_hook) {
            return refuse(ENOENT);
        }
        if matches!(filter.action, Action::Classify(_)) && !traffic.has_htb(filter.parent) {
            return refuse(EOPNOTSUPP);
        }
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

impl Traffic {
    fn has_class(&self, handle: Handle) -> bool {
        self.classes.iter().any(|class| class.handle == handle)
    }

    fn has_htb(&self, handle: Handle) -> bool {
        let is_htb = |q: &Qdisc| matches!(q.discipline, Discipline::Htb(_)) && q.handle == handle;
        self.qdiscs.iter().any(is_htb)
    }
}
