//! Queueing disciplines.

use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::link::LinkFacts;
use weir_grant::traffic::{
    AddQdisc, DeleteQdisc, Discipline, Handle, ListQdiscs, PresentQdisc, Qdisc,
};
use weir_kernel::{Answer, Changes, Error, Perform, Result, WhileDoing as _, checks};

use super::{Traffic, default, missing, of, of_mut, rate};
use crate::kernel::Model;
use crate::link;
use crate::state::{Machine, NetworkState};

impl Perform<AddQdisc> for Model {
    fn perform(&mut self, permit: &Permit<AddQdisc>, changes: &mut Changes<'_>) -> Result<()> {
        let AddQdisc { link, qdisc } = permit.operation();
        let word = qdisc.discipline.word();
        let doing = format_args!("add {word} {} to {link} at {}", qdisc.handle, qdisc.parent);
        let handle = self
            .change(|machine| add(machine, link, qdisc))
            .while_doing(doing)?;
        changes.undo_with(permit.operation().inverse(handle));
        Ok(())
    }
}

/// Returns the handle, which the kernel may have chosen.
fn add(machine: &mut Machine, link: &LinkFacts, wanted: &Qdisc) -> Result<Handle> {
    let network = machine.state.of(link.namespace)?;
    checks::qdisc(wanted)?;
    let traffic = of_mut(network, link)?;
    check_place(traffic, wanted)?;
    let handle = match &wanted.discipline {
        Discipline::Ingress | Discipline::Clsact => Handle::INGRESS.discipline(),
        _ if wanted.handle == Handle(0) => chosen(&mut machine.last_qdisc),
        _ => wanted.handle,
    };
    let made = Qdisc {
        handle,
        parent: traffic.place(wanted.parent),
        discipline: match &wanted.discipline {
            Discipline::Tbf(bucket) => Discipline::Tbf(rate::kept_bucket(bucket)),
            other => other.clone(),
        },
    };
    traffic.qdiscs.push(made);
    Ok(handle)
}

/// Errors: `Exists`, `NotFound`, `Invalid`.
fn check_place(traffic: &Traffic, wanted: &Qdisc) -> Result<()> {
    let parent = wanted.parent;
    let is_in_class = parent.major() != Handle::ROOT.major();
    if is_in_class && !traffic.has_class(parent) {
        return Err(Errno::ENOENT.into());
    }
    if traffic.at(parent).is_some() || traffic.discipline(wanted.handle).is_some() {
        return Err(Errno::EEXIST.into());
    }
    // Only a class without classes has a discipline.
    if is_in_class && traffic.has_children(parent) {
        return Err(Errno::EINVAL.into());
    }
    Ok(())
}

/// The kernel's handles are 8001: and so on.
fn chosen(last: &mut u16) -> Handle {
    *last += 1;
    Handle((0x8000 + u32::from(*last)) << 16)
}

impl Answer<DeleteQdisc> for Model {
    fn answer(&mut self, permit: &Permit<DeleteQdisc>) -> Result<()> {
        let DeleteQdisc {
            link,
            parent,
            present,
        } = permit.operation();
        let Some(present) = present else {
            let why = format!("no discipline to remove from {link} at {parent}");
            return Err(Error::not_found(why));
        };
        let doing = format_args!(
            "remove {} {} from {link}",
            present.discipline, present.handle
        );
        let deleted = self.change(|machine| {
            let traffic = of_mut(machine.state.of(link.namespace)?, link)?;
            if present_at(traffic, *parent).as_ref() != Some(present) {
                return Err(missing());
            }
            traffic.remove(present.handle);
            Ok(())
        });
        deleted.while_doing(doing)
    }
}

fn present_at(traffic: &Traffic, parent: Handle) -> Option<PresentQdisc> {
    traffic.at(parent).map(|found| PresentQdisc {
        handle: found.handle,
        discipline: found.discipline.word().to_owned(),
    })
}

/// The discipline at a place; none if it is the kernel's own. Errors: `NotFound`.
pub(crate) fn present(
    network: &NetworkState,
    link: &LinkFacts,
    parent: Handle,
) -> Result<Option<PresentQdisc>> {
    Ok(present_at(of(network, link)?, parent))
}

impl Answer<ListQdiscs, Vec<Qdisc>> for Model {
    fn answer(&mut self, permit: &Permit<ListQdiscs>) -> Result<Vec<Qdisc>> {
        let ListQdiscs { link } = permit.operation();
        let listed = self.look(|state| {
            let device = link::find(state.of(link.namespace)?, link)?;
            let traffic = &device.traffic;
            let root = traffic.at(Handle::ROOT).cloned();
            let hook = traffic.at(Handle::INGRESS).cloned();
            let mut listed: Vec<Qdisc> =
                root.or_else(|| default(&device.link)).into_iter().collect();
            listed.extend(hook);
            let mut in_classes: Vec<Qdisc> = traffic.qdiscs.clone();
            in_classes.retain(|qdisc| qdisc.parent.major() != Handle::ROOT.major());
            in_classes.sort_by_key(|qdisc| qdisc.parent.0);
            listed.extend(in_classes);
            Ok(listed)
        });
        listed.while_doing(format_args!("list the disciplines of {link}"))
    }
}
