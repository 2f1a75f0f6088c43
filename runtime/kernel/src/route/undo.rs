//! The inverse of adding a route.

use ipnet::IpNet;
use weir_grant::Namespace;
use weir_grant::route::{Delete, MAIN_TABLE, Route};

use crate::error::Result;
use crate::perform::{Changes, Inverse, Undo};

/// `IP6_RT_PRIO_USER`.
const DEFAULT_PRIORITY_OF_IPV6: u32 = 1024;

/// Removes a route that an invocation made.
pub struct RemoveRoute(Delete);

impl RemoveRoute {
    /// Notes the removal of a route that was added.
    pub fn note(namespace: Namespace, route: &Route, changes: &mut Changes<'_>) {
        changes.undo_with(Self::new(namespace, route));
    }

    /// Notes a replacement: if this invocation had made the former route, the new one is removed instead.
    pub fn note_replaced(namespace: Namespace, route: &Route, changes: &mut Changes<'_>) {
        let removal = Self::new(namespace, route);
        changes
            .log
            .amend(|made: &mut Self| made.give_way_to(&removal));
    }

    fn new(namespace: Namespace, route: &Route) -> Self {
        Self(Delete {
            namespace,
            route: route.clone(),
        })
    }

    /// Removes another route instead, if that has replaced this one. Returns whether it has.
    fn give_way_to(&mut self, other: &Self) -> bool {
        let is_replaced = self.place() == other.place();
        if is_replaced {
            self.0 = other.0.clone();
        }
        is_replaced
    }

    /// What identifies a route to the kernel: one with the same replaces it.
    fn place(&self) -> (Namespace, IpNet, u32, u32) {
        let Delete { namespace, route } = &self.0;
        let default_priority = match route.destination {
            IpNet::V4(_) => 0,
            IpNet::V6(_) => DEFAULT_PRIORITY_OF_IPV6,
        };
        // The kernel takes 0 for "not given".
        let given = |value: &u32| *value != 0;
        let table = Some(route.table).filter(given).unwrap_or(MAIN_TABLE);
        let priority = route.priority.filter(given).unwrap_or(default_priority);
        (*namespace, route.destination, table, priority)
    }
}

impl Inverse for RemoveRoute {
    fn undo(self: Box<Self>, undo: &mut Undo<'_>) -> Result<()> {
        undo.perform(self.0)
    }
}
