//! What the host takes back when an `add` fails, traps or is stopped half-way.
//!
//! Every host function that creates something notes its inverse here, and so does every one that
//! changes a link's attributes or a bridge port's flags in the container's namespace
//! ([`inverse`](super::inverse)), or a parameter. A parameter of the host is set back unless another attachment has come
//! to rely on it, as on `ip_forward`. Links of the host that this invocation did not make stay as it left them.
//!
//! The inverses run in reverse order, each with a permit of the gate's and a record in the audit log.

pub mod done;
pub mod step;

use std::time::{Duration, Instant};

use weir_grant::section::in_one_part;
use weir_grant::{Namespace, link};
use weir_kernel::store::StorePlace;
use weir_kernel::sysctl::shared::Notes;
use weir_kernel::without_permit::SharedLock;
use weir_kernel::{self as kernel, Code, Error};

use super::state::Host;
pub use step::Undo;

/// How long an undo waits for others when the invocation's own time is over.
const PATIENCE: Duration = Duration::from_secs(10);

impl Host {
    /// Undoes all that this invocation did. Returns what could not be undone, for the log.
    pub fn undo(&mut self) -> Vec<String> {
        self.close();
        let mut failures = self.undo_links();
        while let Some(undo) = self.done.pop() {
            let what = format!("{undo:?}");
            if let Err(error) = self.undo_one(undo) {
                failures.push(format!("{what}: {error}"));
            }
        }
        failures
    }

    /// What this invocation did stands. Returns what of it could not be noted, for the log.
    pub fn settle(&mut self) -> Vec<String> {
        let invocation = self.gate.recorded_as().to_owned();
        let notes = Notes::new(&self.paths, &invocation);
        let steps = self.done.iter_mut();
        let settled = steps.filter_map(|step| match step {
            Undo::SharedParameter { back, .. } => notes.settle(back).err(),
            _ => None,
        });
        settled.map(|error| error.to_string()).collect()
    }

    /// Removes links that were made, each namespace's in one request: the kernel waits once for all of them. With them
    /// go their addresses, routes and disciplines, so that nothing is lost by its order.
    fn undo_links(&mut self) -> Vec<String> {
        let (host, container): (Vec<_>, Vec<_>) = (self.done.take_links().into_iter())
            .partition(|delete| delete.link.namespace == Namespace::Host);
        let mut failures = Vec::new();
        for deletes in [container, host] {
            let spaces = &mut self.namespaces;
            let removed = self
                .gate
                .undo_all(deletes, |permits| kernel::link::delete_all(spaces, permits));
            failures.extend(removed.err().map(|error| error.to_string()));
        }
        failures
    }

    fn undo_one(&mut self, undo: Undo) -> Result<(), String> {
        let spaces = &mut self.namespaces;
        let patient = self.deadline.max(Instant::now() + PATIENCE);
        let may_be_shared = matches!(undo, Undo::Firewall(_) | Undo::SharedParameter { .. });
        let outcome = match undo {
            Undo::Ipam => return self.undo_ipam().map_err(|e| e.to_string()),
            Undo::Link(delete) if delete.link.kind == "bridge" => self.undo_bridge(delete),
            Undo::Link(delete) => self
                .gate
                .undo(delete, |permit| kernel::link::delete(spaces, permit)),
            Undo::Update(back) => self
                .gate
                .undo(*back, |permit| kernel::link::update(spaces, permit)),
            Undo::Port(back) => self
                .gate
                .undo(back, |permit| kernel::link::update_port(spaces, permit)),
            Undo::Move { back, index } => self.undo_move(back, index),
            Undo::Parameter(back) => self
                .gate
                .undo(back, |permit| kernel::sysctl::write(spaces, permit)),
            Undo::SharedParameter { back, changed } => {
                let invocation = self.gate.recorded_as().to_owned();
                let notes = Notes::new(&self.paths, &invocation);
                self.gate
                    .undo(back, |permit| notes.set_back(spaces, permit, &changed))
            }
            Undo::Address(delete) => self
                .gate
                .undo(delete, |permit| kernel::address::delete(spaces, permit)),
            Undo::Route(delete) => self
                .gate
                .undo(delete, |permit| kernel::route::delete(spaces, permit)),
            Undo::Neighbour(delete) => self
                .gate
                .undo(delete, |permit| kernel::neighbour::delete(spaces, permit)),
            Undo::Qdisc(delete) => self.gate.undo(delete, |permit| {
                kernel::traffic::delete_qdisc(spaces, permit)
            }),
            Undo::Class(delete) => self.gate.undo(delete, |permit| {
                kernel::traffic::delete_class(spaces, permit)
            }),
            Undo::Filter(delete) => self.gate.undo(delete, |permit| {
                kernel::traffic::delete_filter(spaces, permit)
            }),
            Undo::Firewall(apply) => self
                .gate
                .undo(apply, |permit| kernel::firewall::apply(spaces, permit))
                .map(drop),
            Undo::Source(remove) => {
                self.firewalld.wait_until(patient);
                self.gate.undo(remove, |permit| {
                    kernel::firewalld::remove_source(&mut self.firewalld, permit)
                })
            }
            Undo::Store(revert) => {
                let network = in_one_part(&self.gate.invocation().network);
                let place = StorePlace {
                    paths: &self.paths,
                    plugin: &self.plugin,
                    network: &network,
                    former: None,
                };
                self.gate.undo(revert, |permit| {
                    kernel::store::revert(permit, &place, patient)
                })
            }
        };
        match outcome {
            // A link's removal takes its addresses, routes and disciplines with it.
            Err(error) if error.is_not_found() => Ok(()),
            // Others have put something into it meanwhile.
            Err(error) if error.code == Code::Busy && may_be_shared => Ok(()),
            outcome => outcome.map_err(|e| e.to_string()),
        }
    }

    /// A link that comes back may get another index than the one by which the inverses of what was
    /// done before name it.
    fn undo_move(&mut self, back: link::Move, index: u32) -> Result<(), Error> {
        let was = (back.to, index);
        let spaces = &mut self.namespaces;
        let moved = self
            .gate
            .undo(back, |permit| kernel::link::move_to(spaces, permit))?;
        let links = self.done.iter_mut().filter_map(Undo::link_that_stays);
        for link in links.filter(|link| (link.namespace, link.index) == was) {
            link.index = moved.index;
        }
        Ok(())
    }

    /// A bridge that this invocation made may have got other containers' ports since: it goes only
    /// while no other invocation is under way, and only without ports.
    fn undo_bridge(&mut self, delete: link::Delete) -> Result<(), Error> {
        let alone = self
            .lock
            .as_mut()
            .map(SharedLock::try_exclusive)
            .transpose()?;
        if alone != Some(true) {
            return Ok(());
        }
        let ports = link::List {
            namespace: delete.link.namespace,
            kind: None,
            master: Some(delete.link.index),
        };
        let spaces = &mut self.namespaces;
        if self
            .gate
            .undo(ports, |permit| kernel::link::list(spaces, permit))?
            .is_empty()
        {
            self.gate
                .undo(delete, |permit| kernel::link::delete(spaces, permit))?;
        }
        Ok(())
    }
}
