//! Filters of disciplines and classes.

use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::link::LinkFacts;
use weir_grant::traffic::{
    Action, AddFilter, DeleteFilter, Discipline, Filter, HTB, Handle, ListFilters,
};
use weir_kernel::{Answer, Changes, Error, Perform, Result, WhileDoing as _, checks};

use super::priority::{InstalledFilter, Priority};
use super::{Traffic, missing, of, of_mut};
use crate::kernel::Model;
use crate::link;
use crate::state::{Machine, NetworkState};

/// Where `clsact` has its filters.
pub(super) const CLSACT_HOOKS: [Handle; 2] = [Handle(0xffff_fff2), Handle(0xffff_fff3)];

impl Perform<AddFilter> for Model {
    fn perform(&mut self, permit: &Permit<AddFilter>, changes: &mut Changes<'_>) -> Result<()> {
        let AddFilter { link, filter } = permit.operation();
        let made = self
            .change(|machine| add(machine, link, filter))
            .while_doing(format_args!("add a filter to {} of {link}", filter.parent))?;
        changes.undo_with(DeleteFilter {
            link: link.clone(),
            parent: filter.parent,
            priority: made.priority,
            handle: (filter.priority != 0).then_some(made.handle),
            protocol: made.protocol,
            action: filter.action.clone(),
        });
        Ok(())
    }
}

/// Which filter was made.
struct Made {
    priority: u16,
    protocol: u16,
    handle: u32,
}

fn add(machine: &mut Machine, link: &LinkFacts, filter: &Filter) -> Result<Made> {
    let network = machine.state.of(link.namespace)?;
    let protocol = checks::traffic_filter(link, filter)?.protocol();
    let traffic = of(network, link)?;
    let block = traffic.block_for(filter)?;
    let (priority, at) = traffic.find_or_choose(block, filter.priority, protocol)?;
    let action = match &filter.action {
        Action::Redirect(target) => Action::Redirect(target_of(network, target)?),
        Action::Classify(class) => Action::Classify(*class),
    };
    let is_bound = matches!(action, Action::Classify(class) if traffic.has_class(class));
    let traffic = of_mut(network, link)?;
    let at = at.unwrap_or_else(|| traffic.new_priority(block, priority, protocol));
    let handle = traffic.priorities[at].insert(InstalledFilter {
        handle: 0,
        source: filter.source,
        destination: filter.destination,
        action,
        is_bound,
    });
    Ok(Made {
        priority,
        protocol,
        handle,
    })
}

/// The link that packets are sent to. Errors: `NotFound`, `Invalid` for one that has never been.
fn target_of(network: &NetworkState, target: &LinkFacts) -> Result<u32> {
    if target.index == 0 {
        return Err(Errno::EINVAL.into());
    }
    Ok(link::find(network, target)?.link.index)
}

impl Traffic {
    /// Where a new filter belongs. Errors: `NotFound`, `Unsupported`, `Invalid`.
    fn block_for(&self, filter: &Filter) -> Result<Handle> {
        let discipline = filter.parent.discipline();
        let is_classified = matches!(filter.action, Action::Classify(_));
        if is_classified && !self.has_classes(discipline) {
            let why = format!("no such {HTB} discipline: {discipline}");
            return Err(Error::not_found(why));
        }
        self.block(filter.parent)
    }

    /// The place of filters at a parent. `ingress` has one place under all numbers.
    ///
    /// Errors: `NotFound`; `Unsupported` for a discipline without filters; `Invalid` for `clsact` without a hook.
    fn block(&self, parent: Handle) -> Result<Handle> {
        let Some(of) = self.discipline(parent.discipline()) else {
            return Err(missing());
        };
        match of.discipline {
            Discipline::Tbf(_) | Discipline::Other { .. } => Err(Errno::EOPNOTSUPP.into()),
            Discipline::Ingress => Ok(of.handle),
            _ if parent.minor() != 0 && !self.has_class(parent) => Err(Errno::ENOENT.into()),
            Discipline::Clsact if parent.minor() == 0 => Err(Errno::EINVAL.into()),
            Discipline::Clsact | Discipline::Htb { .. } => Ok(parent),
        }
    }

    fn delete_filter(&mut self, wanted: &DeleteFilter) -> Result<()> {
        let block = self.block(wanted.parent).map_err(|error| {
            // The kernel layer takes a wrong argument for a discipline that is gone.
            if error.is(Errno::EINVAL) {
                missing()
            } else {
                error
            }
        })?;
        let at = self.find(block, wanted.priority).ok_or(Errno::ENOENT)?;
        let priority = &mut self.priorities[at];
        if priority.protocol != wanted.protocol {
            return Err(missing());
        }
        let Some(handle) = wanted.handle else {
            self.priorities.remove(at);
            return Ok(());
        };
        let mut filters = priority.filters.iter();
        let filter = filters.position(|filter| filter.handle == handle);
        priority.filters.remove(filter.ok_or(Errno::ENOENT)?);
        // The last of the discipline takes its priority along.
        if priority.filters.is_empty() && self.of_discipline(block).count() == 1 {
            self.priorities.remove(at);
        }
        Ok(())
    }

    /// The filters at a place in the kernel's order. The kernel lists those of one priority at each place of a discipline
    /// that has the priority; for packets of another type, they are left out.
    fn list(&self, parent: Handle) -> Vec<Filter<u32>> {
        let root = self.at(Handle::ROOT).map(|root| root.handle);
        let parent = if parent.0 == 0 { root } else { Some(parent) };
        let Some(block) = parent.and_then(|parent| self.block(parent).ok()) else {
            return Vec::new();
        };
        let at_block = self.priorities.iter().filter(|p| p.parent == block);
        let mut keys: Vec<(u16, u16)> = at_block.map(Priority::key).collect();
        keys.sort_unstable();
        let told = |key: (u16, u16)| {
            let mut all: Vec<&Priority> = self.of_discipline(block).collect();
            all.retain(|found| found.key() == key);
            let filters = all.into_iter().rev().flat_map(|found| &found.filters);
            filters.map(move |filter| Filter {
                parent: block,
                priority: key.0,
                source: filter.source,
                destination: filter.destination,
                action: filter.action.clone(),
            })
        };
        keys.into_iter().flat_map(told).collect()
    }
}

impl Answer<DeleteFilter> for Model {
    fn answer(&mut self, permit: &Permit<DeleteFilter>) -> Result<()> {
        let wanted = permit.operation();
        let DeleteFilter { link, parent, .. } = wanted;
        self.change(|machine| {
            let traffic = of_mut(machine.state.of(link.namespace)?, link)?;
            traffic.delete_filter(wanted)
        })
        .while_doing(format_args!("remove a filter from {parent} of {link}"))
    }
}

impl Answer<ListFilters, Vec<Filter<u32>>> for Model {
    fn answer(&mut self, permit: &Permit<ListFilters>) -> Result<Vec<Filter<u32>>> {
        let ListFilters { link, parent } = permit.operation();
        self.look(|state| Ok(of(state.of(link.namespace)?, link)?.list(*parent)))
    }
}

/// Has the filters that send packets to a link tell that it is gone.
pub(crate) fn forget_target(network: &mut NetworkState, index: u32) {
    let priorities = (network.links.iter_mut()).flat_map(|device| &mut device.traffic.priorities);
    for filter in priorities.flat_map(|priority| &mut priority.filters) {
        if filter.action == Action::Redirect(index) {
            filter.action = Action::Redirect(0);
        }
    }
}
