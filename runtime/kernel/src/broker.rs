//! The path of every privileged act of an invocation: gate, kernel, undo log.

use weir_gate::Gate;
use weir_grant::{Namespace, Operation, link};

use super::error::Result;
use super::perform::{
    Changes, DynKernel, DynTransaction, Inverse, Kernel, Perform, UndoLog, perform,
};

/// Mediates between one invocation and the kernel.
pub struct Broker {
    gate: Gate,
    kernel: Box<dyn Kernel>,
    log: UndoLog,
}

impl Broker {
    /// For a new invocation.
    pub fn new(gate: Gate, kernel: Box<dyn Kernel>) -> Self {
        Self {
            gate,
            kernel,
            log: UndoLog::default(),
        }
    }

    /// Returns the gate.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Returns the gate, for what is not an operation of the kernel.
    pub fn gate_mut(&mut self) -> &mut Gate {
        &mut self.gate
    }

    /// Returns the kernel, for facts. It carries out nothing without a permit.
    pub fn kernel(&mut self) -> &mut DynKernel {
        &mut *self.kernel
    }

    /// Returns the undo log.
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

    /// Returns the same for an operation on an open store.
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

    /// Deletes links of one namespace in one step. Each is authorised and recorded. Links that do not exist are skipped.
    ///
    /// Errors: those of [`perform`](Self::perform), the first.
    pub fn delete_links(&mut self, deletes: Vec<link::Delete>) -> Result<()> {
        let kernel = &mut self.kernel;
        self.gate
            .perform_all(deletes, |permits| kernel.delete_links(permits))
    }

    /// Notes the inverse of something done above the kernel.
    pub fn note(&mut self, inverse: Box<dyn Inverse>) {
        self.log.note(inverse);
    }

    /// Undoes everything. Returns the failures, for the log.
    pub fn undo(&mut self) -> Vec<String> {
        self.log.undo(&mut self.gate, &mut *self.kernel)
    }

    /// Keeps everything. Returns the failures, for the log.
    pub fn keep(&mut self) -> Vec<String> {
        self.log.keep(&mut *self.kernel)
    }

    /// Removes marked links of the host that a killed `add` left. Links of a kind that the grant does not let the plugin
    /// create belong to others and stay.
    ///
    /// Errors: those of the deletion; `Failed` where the links cannot be listed.
    pub fn remove_left(&mut self, is_meant: &dyn Fn(&str) -> bool) -> Result<()> {
        if !self.gate.may_create_links(Namespace::Host) {
            return Ok(());
        }
        let left = self.kernel.marked_links(is_meant)?.into_iter();
        // The others are those of other plugins of the network, which remove them in their own DEL.
        let own = left.filter(|link| self.gate.may_have_created(link));
        let deletes = own.map(|link| link::Delete { link }).collect();
        let kernel = &mut self.kernel;
        self.gate
            .undo_all(deletes, |permits| kernel.delete_links(permits))
    }
}
