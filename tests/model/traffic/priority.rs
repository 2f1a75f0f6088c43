//! Priorities: the tables that the kernel keeps filters in.

use ipnet::IpNet;
use nix::errno::Errno;
use weir_grant::traffic::{Action, Handle};
use weir_kernel::Result;

use super::Traffic;

/// The kernel chooses priorities from the second of these down to the first.
const CHOSEN: (u16, u16) = (0x8000, 0xc000);

/// The first table of a discipline, and the first filter of a table.
const FIRST: u32 = 0x800;

/// The filters of one priority at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Priority {
    /// The discipline, class or hook.
    pub parent: Handle,
    pub priority: u16,
    /// The Ethernet type of the packets.
    pub protocol: u16,
    /// The number of the table that they are in, of all tables of the discipline.
    pub table: u32,
    /// By their handles.
    pub filters: Vec<InstalledFilter>,
}

/// One filter.
#[derive(Clone, Debug, PartialEq)]
pub struct InstalledFilter {
    pub handle: u32,
    pub source: Option<IpNet>,
    pub destination: Option<IpNet>,
    pub action: Action<u32>,
    /// Whether its class cannot be removed: the filter found it.
    pub is_bound: bool,
}

impl Priority {
    /// What the kernel lists its filters by: the priority, and the type of the packets.
    pub(super) fn key(&self) -> (u16, u16) {
        (self.priority, self.protocol)
    }

    /// Puts a filter into the first free place of the table, and returns its handle.
    pub(super) fn insert(&mut self, filter: InstalledFilter) -> u32 {
        let first = self.table << 20 | FIRST;
        let mut taken = self.filters.iter().map(|filter| filter.handle);
        let is_free = |handle: &u32| taken.next() != Some(*handle);
        let handle = (first..).find(is_free).unwrap_or(first);
        let at = (handle - first) as usize;
        self.filters
            .insert(at, InstalledFilter { handle, ..filter });
        handle
    }
}

impl Traffic {
    /// A priority, where it is already, or one that is free if `wanted` is 0.
    ///
    /// Errors: `Invalid` for one with filters for packets of another type; `Exhausted`.
    pub(super) fn find_or_choose(
        &self,
        block: Handle,
        wanted: u16,
        protocol: u16,
    ) -> Result<(u16, Option<usize>)> {
        if wanted == 0 {
            return Ok((self.chosen(block)?, None));
        }
        let at = self.find(block, wanted);
        match at.map(|at| self.priorities[at].protocol) {
            Some(other) if other != protocol => Err(Errno::EINVAL.into()),
            _ => Ok((wanted, at)),
        }
    }

    pub(super) fn find(&self, block: Handle, priority: u16) -> Option<usize> {
        let is_it = |found: &Priority| (found.parent, found.priority) == (block, priority);
        self.priorities.iter().position(is_it)
    }

    /// The priority that the kernel chooses: before all of those that it may have chosen. Errors: `Exhausted`.
    fn chosen(&self, block: Handle) -> Result<u16> {
        let (least, most) = CHOSEN;
        let at_block = self.priorities.iter().filter(|p| p.parent == block);
        let behind = at_block.map(|p| p.priority).filter(|p| *p >= least);
        match behind.min() {
            None => Ok(most),
            Some(first) if first == least => Err(Errno::ENOSPC.into()),
            Some(first) => Ok(first - 1),
        }
    }

    /// Makes a priority, and returns its place.
    pub(super) fn new_priority(&mut self, parent: Handle, priority: u16, protocol: u16) -> usize {
        let tables = self.of_discipline(parent).map(|other| other.table);
        let table = tables.max().map_or(FIRST, |last| last + 1);
        self.priorities.push(Priority {
            parent,
            priority,
            protocol,
            table,
            filters: Vec::new(),
        });
        self.priorities.len() - 1
    }

    /// The priorities of all places of a discipline.
    pub(super) fn of_discipline(&self, parent: Handle) -> impl Iterator<Item = &Priority> {
        let discipline = parent.discipline();
        let all = self.priorities.iter();
        all.filter(move |priority| priority.parent.discipline() == discipline)
    }

    /// Has filters that lead to a class keep it, or no longer: those that the kernel finds from the classes of the
    /// discipline, which are all of a priority that a class has filters of.
    pub(super) fn bind(&mut self, class: Handle, is_bound: bool) {
        let all = self.of_discipline(class);
        let in_classes = all.filter(|priority| priority.parent.minor() != 0);
        let numbers: Vec<u16> = in_classes.map(|priority| priority.priority).collect();
        let discipline = class.discipline();
        let found = self.priorities.iter_mut().filter(|priority| {
            priority.parent.discipline() == discipline && numbers.contains(&priority.priority)
        });
        for filter in found.flat_map(|priority| &mut priority.filters) {
            if filter.action == Action::Classify(class) {
                filter.is_bound = is_bound;
            }
        }
    }

    /// Whether filters keep a class.
    pub(super) fn leads_to(&self, class: Handle) -> bool {
        let mut filters = self.of_discipline(class).flat_map(|p| &p.filters);
        filters.any(|filter| filter.is_bound && filter.action == Action::Classify(class))
    }
}
