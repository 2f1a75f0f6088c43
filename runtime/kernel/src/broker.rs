//! The way of every privileged act of an invocation: gate, kernel, undo log.

use weir_gate::Gate;
use weir_grant::{Namespace, Operation, link};

use super::error::Result;
use super::perform::{
    Changes, DynKernel, DynTransaction, Inverse, Kernel, Perform, UndoLog, perform,
};

/// What stands between one invocation and the kernel.
pub struct Broker {
    gate: Gate,
    kernel: Box<dyn Kernel>,
    log: UndoLog,
}

impl Broker {
    /// For one invocation, which has done nothing yet.
    pub fn new(gate: Gate, kernel: Box<dyn Kernel>) -> Self {
        Self {
            gate,
            kernel,
            log: UndoLog::default(),
        }
    }

    /// The gate, to be asked.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The gate, for what is no operation of the kernel's.
    pub fn gate_mut(&mut self) -> &mut Gate {
        &mut self.gate
    }

    /// The kernel, for facts. It carries out nothing without a permit.
    pub fn kernel(&mut self) -> &mut DynKernel {
        &mut *self.kernel
    }

    /// What has been done, as far as it can be taken back.
    pub fn log(&self) -> &UndoLog {
        &self.log
    }

    /// Authorises an operation, carries it out, records both, and notes what takes it back.
    ///
    /// Errors: `Denied` and the other refusals of the gate; those of the operation.
    pub fn perform<O, A>(&mut self, operation: O) -> Result<A>
    where
        O: Operation,
        DynKernel: Perform<O, A>,
    {
        perform(&mut self.gate, &mut *self.kernel, &mut self.log, operation)
    }

    /// The same for an operation on an open store.
    pub fn perform_in<O, A>(&mut self, store: &mut DynTransaction, operation: O) -> Result<A>
    where
        O: Operation,
        DynTransaction: Perform<O, A>,
    {
        perform(&mut self.gate, store, &mut self.log, operation)
    }

    /// Commits what a transaction of a store has changed. Errors: `Exhausted`, `Failed`.
    pub fn commit(&mut self, store: &mut DynTransaction) -> Result<()> {
        store.commit(&mut Changes::new(&mut self.log))
    }

    /// Deletes links of one namespace in one step, each of which is authorised and recorded. Those that are not there are
    /// left out.
    ///
    /// Errors: those of [`perform`](Self::perform), the first.
    pub fn delete_links(&mut self, deletes: Vec<link::Delete>) -> Result<()> {
        let kernel = &mut self.kernel;
        self.gate
            .perform_all(deletes, |permits| kernel.delete_links(permits))
    }

    /// Notes what takes back something that was done above the kernel.
    pub fn note(&mut self, inverse: Box<dyn Inverse>) {
        self.log.note(inverse);
    }

    /// Takes everything back that was done. Returns what could not be, for the log.
    pub fn undo(&mut self) -> Vec<String> {
        self.log.undo(&mut self.gate, &mut *self.kernel)
    }

    /// Lets everything stand that was done. Returns what could not be noted, for the log.
    pub fn keep(&mut self) -> Vec<String> {
        self.log.keep(&mut *self.kernel)
    }

    /// Removes links of the host with a mark that is meant, as an `add` left them that was killed. Those of a kind that
    /// the grant lets nobody create are others', and stay.
    ///
    /// Errors: those of the deletion; `Failed` where the links cannot be listed.
    pub fn remove_left(&mut self, is_meant: &dyn Fn(&str) -> bool) -> Result<()> {
        if !self.gate.may_create_links(Namespace::Host) {
            return Ok(());
        }
        let left = self.kernel.marked_links(is_meant)?.into_iter();
        // Other plugins of the network make others, and remove them with a DEL of their own.
        let own = left.filter(|link| self.gate.may_have_created(link));
        let deletes = own.map(|link| link::Delete { link }).collect();
        let kernel = &mut self.kernel;
        self.gate
            .undo_all(deletes, |permits| kernel.delete_links(permits))
    }
}
