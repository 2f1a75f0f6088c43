//! The kernel of a machine, as one invocation uses it.

use std::time::Instant;

use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::link::Delete;
use weir_grant::sysctl::Write;
use weir_kernel::inverses::{KnownLinks, LinkHistory};
use weir_kernel::store::StoreOwner;
use weir_kernel::{Error, Kernel, Result};

use super::node::Node;
use super::state::{Machine, State};
use super::{link, sysctl};

/// The kernel of a [`Node`], as one invocation uses it.
pub struct Model {
    pub(crate) node: Node,
    pub(crate) known: KnownLinks,
    pub(crate) owner: StoreOwner,
    /// The number of an ADD: its changes of the host's parameters can be undone.
    pub(crate) add: Option<u32>,
}

impl Model {
    pub(crate) fn new(node: Node) -> Self {
        Self {
            node,
            known: KnownLinks::default(),
            owner: StoreOwner {
                plugin: "test".to_owned(),
                network: "pods".to_owned(),
                former: None,
            },
            add: None,
        }
    }

    /// Opens stores as those of a plugin on a network.
    #[must_use]
    pub fn with_stores_of(self, owner: StoreOwner) -> Self {
        Self { owner, ..self }
    }

    /// For an ADD, whose changes of the host's parameters can be undone.
    #[must_use]
    pub fn for_add(self) -> Self {
        let mut machine = self.node.machine();
        machine.last_add += 1;
        let add = Some(machine.last_add);
        drop(machine);
        Self { add, ..self }
    }

    /// Changes the machine, or leaves it as it is where that fails.
    pub(crate) fn change<T>(&self, act: impl FnOnce(&mut Machine) -> Result<T>) -> Result<T> {
        let mut machine = self.node.machine();
        let before = machine.state.clone();
        let outcome = act(&mut machine);
        if outcome.is_err() {
            machine.state = before;
        }
        outcome
    }

    /// Looks at the machine.
    pub(crate) fn look<T>(&self, act: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        act(&mut self.node.machine().state)
    }
}

impl LinkHistory for Model {
    fn known_links_mut(&mut self) -> &mut KnownLinks {
        &mut self.known
    }
}

impl Kernel for Model {
    fn delete_links(&mut self, permits: &[Permit<Delete>]) -> Result<()> {
        self.known.forget_all();
        let mut outcome = Ok(());
        for permit in permits {
            let deleted = self.change(|machine| link::delete(machine, &permit.operation().link));
            let is_gone = |error: &Error| error.is(Errno::ENODEV);
            outcome = outcome.and(deleted.or_else(|e| if is_gone(&e) { Ok(()) } else { Err(e) }));
        }
        outcome
    }

    fn set_back(&mut self, permit: &Permit<Write>, changed: &str) -> Result<()> {
        let write = permit.operation();
        let add = self.add;
        self.change(|machine| {
            let now = sysctl::read(machine.state.of(write.namespace)?, &write.key)?;
            let is_own = add.is_some() && machine.parameter_notes.get(&write.key).copied() == add;
            if !is_own || now != changed {
                let why = format!("{} stays: another attachment has set it since", write.key);
                return Err(Error::busy(why));
            }
            machine.parameter_notes.remove(&write.key);
            sysctl::write(machine, write)
        })
    }

    fn keep_parameter(&mut self, write: &Write) -> Result<()> {
        let mut machine = self.node.machine();
        if machine.parameter_notes.get(&write.key).copied() == self.add {
            machine.parameter_notes.remove(&write.key);
        }
        Ok(())
    }

    fn is_alone(&mut self) -> Result<bool> {
        Ok(!self.node.machine().is_shared)
    }

    fn wait_until(&mut self, _: Instant) {}
}
