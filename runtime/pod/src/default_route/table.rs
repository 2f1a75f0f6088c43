//! The container's main routing table: what is done to it through the gates of the interfaces, and how it
//! is put back. An interface is named by its place among all.

use ipnet::IpNet;
use weir_grant::address::Family;
use weir_grant::link::LinkFacts;
use weir_grant::{Namespace, address, route, sysctl};
use weir_kernel::link::LinkReference;
use weir_kernel::{self as kernel, Code, Namespaces};

use super::gateway::Reach;
use super::interface::Interface;
use super::plan::everywhere;

/// The table, and what was done to it so far.
pub(super) struct Table {
    namespaces: Namespaces,
    interfaces: Vec<Interface>,
    done: Vec<Done>,
}

/// Something that was done through the gate of an interface.
enum Done {
    Deleted(usize, route::Route),
    Added(usize, route::Route),
    /// A parameter was written that had another value, which is in it here.
    Written(usize, sysctl::Write),
}

impl Table {
    /// The table of a container with these interfaces.
    pub(super) fn new(namespaces: Namespaces, interfaces: Vec<Interface>) -> Self {
        Self {
            namespaces,
            interfaces,
            done: Vec::new(),
        }
    }

    /// The interfaces of all attachments.
    pub(super) fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Whether anything is other than it was.
    pub(super) fn has_changed(&self) -> bool {
        !self.done.is_empty()
    }

    /// Why audit records are missing, where they could not be written.
    pub(super) fn audit_failure(&self) -> Option<&str> {
        let mut gates = self.interfaces.iter().map(|interface| &interface.gate);
        gates.find_map(|gate| gate.audit_failure())
    }

    /// What is on the link of an interface.
    pub(super) fn reach(&mut self, at: usize) -> Result<Reach, kernel::Error> {
        let list = address::List {
            link: self.interfaces[at].link.clone(),
            family: None,
        };
        let spaces = &mut self.namespaces;
        let gate = &mut self.interfaces[at].gate;
        let addresses = gate.perform(list, |permit| kernel::address::list(spaces, permit))?;
        Ok(Reach::new(addresses, &self.routes(at, None)?))
    }

    /// The default routes of one family through an interface, whatever their metric.
    pub(super) fn default_routes(
        &mut self,
        at: usize,
        family: Family,
    ) -> Result<Vec<route::Route>, kernel::Error> {
        let found = self.routes(at, Some(everywhere(family)))?;
        found.into_iter().map(|route| self.written(route)).collect()
    }

    fn routes(
        &mut self,
        at: usize,
        destination: Option<IpNet>,
    ) -> Result<Vec<kernel::route::Route>, kernel::Error> {
        let list = route::List {
            namespace: Namespace::Container,
            family: None,
            destination,
            link: Some(self.interfaces[at].link.clone()),
            gateway: None,
            table: Some(route::MAIN_TABLE),
        };
        let spaces = &mut self.namespaces;
        let gate = &mut self.interfaces[at].gate;
        gate.perform(list, |permit| kernel::route::list(spaces, permit))
    }

    /// A route as an operation speaks of it.
    fn written(&mut self, found: kernel::route::Route) -> Result<route::Route, kernel::Error> {
        let mut next_hops = Vec::with_capacity(found.next_hops.len());
        for hop in found.next_hops {
            next_hops.push(route::NextHop {
                gateway: hop.gateway,
                link: self.facts(hop.link)?,
                weight: hop.weight,
                on_link: hop.on_link,
            });
        }
        Ok(route::Route {
            destination: found.destination,
            gateway: found.gateway,
            link: self.facts(found.link)?,
            source: found.source,
            table: found.table,
            scope: Some(found.scope),
            priority: found.priority,
            mtu: found.mtu,
            advmss: found.advmss,
            protocol: Some(found.protocol),
            kind: found.kind,
            on_link: found.on_link,
            next_hops,
        })
    }

    fn facts(&mut self, index: Option<u32>) -> Result<Option<LinkFacts>, kernel::Error> {
        let Some(index) = index else {
            return Ok(None);
        };
        let mut known = self.interfaces.iter().map(|interface| &interface.link);
        if let Some(known) = known.find(|link| link.index == index) {
            return Ok(Some(known.clone()));
        }
        let (there, reference) = (Namespace::Container, LinkReference::Index(index));
        let found = kernel::without_permit::find_link(self.namespaces.of(there)?, &reference)?;
        Ok(Some(found.facts(there)))
    }

    /// Makes the kernel take no default route over an interface from a router's advertisement: before the
    /// routes are looked at, so that none comes in between.
    pub(super) fn refuse_advertised(&mut self, at: usize) -> Result<(), kernel::Error> {
        // A dot inside a name is a slash in a key.
        let name = self.interfaces[at].link.name.replace('.', "/");
        let write = sysctl::Write {
            owner: String::new(),
            namespace: Namespace::Container,
            key: format!("net.ipv6.conf.{name}.accept_ra_defrtr"),
            value: "0".to_owned(),
        };
        let spaces = &mut self.namespaces;
        let gate = &mut self.interfaces[at].gate;
        let replaced = gate.perform(write.clone(), |permit| {
            kernel::sysctl::replace(spaces, permit)
        });
        match replaced {
            Ok(Some(value)) if value != write.value => {
                self.done
                    .push(Done::Written(at, sysctl::Write { value, ..write }));
                Ok(())
            }
            Ok(_) => Ok(()),
            // The kernel, or the link, is without IPv6.
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Removes a route.
    pub(super) fn delete(&mut self, at: usize, route: route::Route) -> Result<(), kernel::Error> {
        let delete = route::Delete {
            namespace: Namespace::Container,
            route: route.clone(),
        };
        let spaces = &mut self.namespaces;
        let gate = &mut self.interfaces[at].gate;
        match gate.perform(delete, |permit| kernel::route::delete(spaces, permit)) {
            // An advertised one may have expired.
            Err(error) if error.is_not_found() => return Ok(()),
            deleted => deleted?,
        }
        self.done.push(Done::Deleted(at, route));
        Ok(())
    }

    /// Adds a route.
    pub(super) fn add(&mut self, at: usize, route: route::Route) -> Result<(), kernel::Error> {
        let add = route::Add {
            overlap: None,
            namespace: Namespace::Container,
            route: route.clone(),
        };
        let spaces = &mut self.namespaces;
        let gate = &mut self.interfaces[at].gate;
        gate.perform(add, |permit| kernel::route::add(spaces, permit))?;
        self.done.push(Done::Added(at, route));
        Ok(())
    }

    /// Undoes everything, the last first. Returns what could not be undone.
    pub(super) fn put_back(&mut self) -> Vec<String> {
        let mut failures = Vec::new();
        while let Some(done) = self.done.pop() {
            failures.extend(self.undo(done).err().map(|error| error.to_string()));
        }
        failures
    }

    fn undo(&mut self, done: Done) -> Result<(), kernel::Error> {
        let namespace = Namespace::Container;
        let spaces = &mut self.namespaces;
        let undone = match done {
            Done::Deleted(at, route) => {
                let add = route::Add {
                    namespace,
                    route,
                    overlap: None,
                };
                let gate = &mut self.interfaces[at].gate;
                // One that was before others of its metric is before them again.
                gate.undo(add, |permit| kernel::route::add(spaces, permit))
            }
            Done::Added(at, route) => {
                let delete = route::Delete { namespace, route };
                let gate = &mut self.interfaces[at].gate;
                gate.undo(delete, |permit| kernel::route::delete(spaces, permit))
            }
            Done::Written(at, back) => {
                let gate = &mut self.interfaces[at].gate;
                gate.undo(back, |permit| kernel::sysctl::write(spaces, permit))
            }
        };
        match undone {
            // It is as it was already.
            Err(error) if matches!(error.code, Code::Exists | Code::NotFound) => Ok(()),
            undone => undone,
        }
    }
}
