//! Classes of `htb` disciplines.

use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::link::LinkFacts;
use weir_grant::traffic::{AddClass, Class, DeleteClass, Discipline, HTB, Handle, ListClasses};
use weir_kernel::{Answer, Changes, Error, Perform, Result, WhileDoing as _, checks};

use super::{Traffic, of, of_mut, rate};
use crate::kernel::Model;
use crate::state::Machine;

/// How many classes can be in one another.
const MOST_LEVELS: usize = 8;

impl Perform<AddClass> for Model {
    fn perform(&mut self, permit: &Permit<AddClass>, changes: &mut Changes<'_>) -> Result<()> {
        let AddClass { link, class } = permit.operation();
        self.change(|machine| add(machine, link, class))
            .while_doing(format_args!("add class {} to {link}", class.handle))?;
        changes.undo_with(permit.operation().inverse());
        Ok(())
    }
}

fn add(machine: &mut Machine, link: &LinkFacts, class: &Class) -> Result<()> {
    let network = machine.state.of(link.namespace)?;
    checks::class(class)?;
    let traffic = of_mut(network, link)?;
    let discipline = class.handle.discipline();
    if !traffic.has_classes(discipline) {
        let why = format!("no such {HTB} discipline: {discipline}");
        return Err(Error::not_found(why));
    }
    let level = levels_above(traffic, class)?;
    if traffic.class(class.handle).is_some() {
        return Err(Errno::EEXIST.into());
    }
    if level >= MOST_LEVELS {
        return Err(Errno::EINVAL.into());
    }
    if class.parent != discipline {
        traffic.empty(class.parent);
    }
    traffic.classes.push(rate::kept(class));
    traffic.classes.sort_by_key(|class| class.handle.0);
    traffic.bind(class.handle, true);
    Ok(())
}

/// How many classes a new one is in. Errors: `NotFound`.
fn levels_above(traffic: &Traffic, class: &Class) -> Result<usize> {
    let mut levels = 0;
    let mut parent = class.parent;
    while parent != class.handle.discipline() {
        levels += 1;
        parent = traffic.class(parent).ok_or(Errno::ENOENT)?.parent;
    }
    Ok(levels)
}

impl Traffic {
    /// Whether there is an `htb` of that handle.
    pub(super) fn has_classes(&self, discipline: Handle) -> bool {
        let found = self.discipline(discipline);
        found.is_some_and(|found| matches!(found.discipline, Discipline::Htb { .. }))
    }
}

impl Answer<DeleteClass> for Model {
    fn answer(&mut self, permit: &Permit<DeleteClass>) -> Result<()> {
        let DeleteClass { link, handle } = permit.operation();
        let deleted = self.change(|machine| {
            let traffic = of_mut(machine.state.of(link.namespace)?, link)?;
            if !traffic.has_class(*handle) {
                return Err(Errno::ENOENT.into());
            }
            if !traffic.has_classes(handle.discipline()) {
                return Err(Errno::EOPNOTSUPP.into());
            }
            let deleted = delete(traffic, *handle);
            // Whether the class is gone or not.
            traffic.bind(*handle, false);
            Ok(deleted)
        });
        deleted
            .and_then(|deleted| deleted)
            .while_doing(format_args!("remove class {handle} from {link}"))
    }
}

fn delete(traffic: &mut Traffic, class: Handle) -> Result<()> {
    if traffic.has_children(class) || traffic.leads_to(class) {
        return Err(Errno::EBUSY.into());
    }
    traffic.empty(class);
    traffic.classes.retain(|other| other.handle != class);
    traffic
        .priorities
        .retain(|priority| priority.parent != class);
    Ok(())
}

impl Answer<ListClasses, Vec<Class>> for Model {
    fn answer(&mut self, permit: &Permit<ListClasses>) -> Result<Vec<Class>> {
        let ListClasses { link } = permit.operation();
        self.look(|state| Ok(of(state.of(link.namespace)?, link)?.classes.clone()))
    }
}
