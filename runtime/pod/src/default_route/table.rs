//! The container's main routing table: it is changed through the gates of the interfaces, and can be restored.

use ipnet::IpNet;
use weir_grant::address::Family;
use weir_grant::link::{LinkFacts, LinkReference};
use weir_grant::{Namespace, Operation, address, route, sysctl};
use weir_kernel::perform::perform;
use weir_kernel::{self as kernel, Code, Facts as _, Inverse, Linux, Perform, Undo, UndoLog};

use super::gateway::Reach;
use super::interface::Interface;
use super::plan::everywhere;

/// The table, and what was done to it.
pub(super) struct Table {
    kernel: Linux,
    pub(super) interfaces: Vec<Interface>,
    /// What was done, each with the index of the interface whose gate it passed.
    done: Vec<(usize, UndoLog)>,
}

impl Table {
    pub(super) fn new(kernel: Linux, interfaces: Vec<Interface>) -> Self {
        Self {
            kernel,
            interfaces,
            done: Vec::new(),
        }
    }

    pub(super) fn has_changed(&self) -> bool {
        !self.done.is_empty()
    }

    /// How an interface reaches gateways.
    pub(super) fn reach(&mut self, at: usize) -> Result<Reach, kernel::Error> {
        let list = address::List {
            link: self.interfaces[at].link.clone(),
            family: None,
        };
        let addresses = self.perform(at, list)?;
        Ok(Reach::new(addresses, &self.routes(at, None)?))
    }

    /// The default routes of one family through an interface, of any metric.
    pub(super) fn default_routes(
        &mut self,
        at: usize,
        family: Family,
    ) -> Result<Vec<route::Route>, kernel::Error> {
        let found = self.routes(at, Some(everywhere(family)))?.into_iter();
        let routes = found.map(|route| route.with_links(|link| self.facts(link)));
        routes.collect()
    }

    fn routes(
        &mut self,
        at: usize,
        destination: Option<IpNet>,
    ) -> Result<Vec<route::Route<u32>>, kernel::Error> {
        let list = route::List {
            destination,
            link: Some(self.interfaces[at].link.clone()),
            table: Some(route::MAIN_TABLE),
            ..route::List::all(Namespace::Container)
        };
        self.perform(at, list)
    }

    /// Carries out an operation through the gate of an interface.
    fn perform<O, A>(&mut self, at: usize, operation: O) -> Result<A, kernel::Error>
    where
        O: Operation,
        Linux: Perform<O, A>,
    {
        let mut log = UndoLog::default();
        let gate = &mut self.interfaces[at].gate;
        let answer = perform(gate, &mut self.kernel, &mut log, operation);
        if log.noted() > 0 {
            self.done.push((at, log));
        }
        answer
    }

    fn facts(&mut self, index: u32) -> Result<LinkFacts, kernel::Error> {
        let mut known = self.interfaces.iter().map(|interface| &interface.link);
        if let Some(known) = known.find(|link| link.index == index) {
            return Ok(known.clone());
        }
        let (there, reference) = (Namespace::Container, LinkReference::Index(index));
        let found = self.kernel.find_link(there, &reference)?;
        Ok(found.facts(there))
    }

    /// Makes the kernel ignore default routes in a router's advertisements on an interface. Call it before reading the
    /// routes, so that none is added in between.
    pub(super) fn refuse_advertised(&mut self, at: usize) -> Result<(), kernel::Error> {
        // A dot inside a name is a slash in a key.
        let name = self.interfaces[at].link.name.replace('.', "/");
        let write = sysctl::Write {
            owner: String::new(),
            namespace: Namespace::Container,
            key: format!("net.ipv6.conf.{name}.accept_ra_defrtr"),
            value: "0".to_owned(),
        };
        match self.perform(at, write) {
            // The kernel or the link has no IPv6.
            Err(error) if error.is_not_found() => Ok(()),
            written => written,
        }
    }

    pub(super) fn delete(&mut self, at: usize, route: route::Route) -> Result<(), kernel::Error> {
        let delete = route::Delete {
            namespace: Namespace::Container,
            route: route.clone(),
        };
        match self.perform(at, delete) {
            // An advertised one may have expired.
            Err(error) if error.is_not_found() => return Ok(()),
            deleted => deleted?,
        }
        let mut log = UndoLog::default();
        log.note(Box::new(AddAgain(route)));
        self.done.push((at, log));
        Ok(())
    }

    pub(super) fn add(&mut self, at: usize, route: route::Route) -> Result<(), kernel::Error> {
        let add = route::Add {
            overlap: None,
            namespace: Namespace::Container,
            route,
        };
        self.perform(at, add)
    }

    /// Undoes everything, last first. Returns what could not be undone.
    pub(super) fn put_back(&mut self) -> Vec<String> {
        let mut failures = Vec::new();
        while let Some((at, mut log)) = self.done.pop() {
            failures.extend(log.undo(&mut self.interfaces[at].gate, &mut self.kernel));
        }
        failures
    }
}

/// Adds a deleted route again, before others of its metric.
struct AddAgain(route::Route);

impl Inverse for AddAgain {
    fn undo(self: Box<Self>, undo: &mut Undo<'_>) -> Result<(), kernel::Error> {
        let add = route::Add {
            namespace: Namespace::Container,
            route: self.0,
            overlap: None,
        };
        match undo.perform(add) {
            // Its owner has already added it again.
            Err(error) if error.code == Code::Exists => Ok(()),
            added => added,
        }
    }
}
