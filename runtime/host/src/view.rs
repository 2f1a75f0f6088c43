//! The view of an invocation that a capability's host functions have: facts, and operations of that capability only.

use std::marker::PhantomData;

use weir_gate::{Gate, Permit};
use weir_grant::link::{self, LinkRule};
use weir_grant::store::StoreRule;
use weir_grant::{Operation, Rule};
use weir_kernel::{Broker, DynKernel, DynTransaction, Error, Perform, Result};

/// Performs the operations that rules of the type `R` allow: those of one capability.
///
/// ```compile_fail,E0271
/// # use weir_grant::{conntrack::ConntrackRule, sysctl};
/// # use weir_host::View;
/// fn read(mut conntrack: View<'_, ConntrackRule>, operation: sysctl::Read) {
///     let _ = conntrack.perform::<sysctl::Read, String>(operation);
/// }
/// ```
pub struct View<'a, R> {
    broker: &'a mut Broker,
    rule: PhantomData<R>,
}

impl<'a, R: Rule> View<'a, R> {
    /// Returns the view of the capability with this rule.
    pub fn new(broker: &'a mut Broker) -> Self {
        Self {
            broker,
            rule: PhantomData,
        }
    }

    /// Returns the gate.
    pub(super) fn gate(&self) -> &Gate {
        self.broker.gate()
    }

    /// Returns the kernel, for facts.
    pub(super) fn kernel(&mut self) -> &mut DynKernel {
        self.broker.kernel()
    }

    /// Authorises an operation of the capability, carries it out and records both.
    ///
    /// Errors: `Denied` and the other refusals of the gate; those of the operation.
    pub fn perform<O, A>(&mut self, operation: O) -> Result<A>
    where
        O: Operation<Rule = R>,
        DynKernel: Perform<O, A>,
    {
        self.broker.perform(operation)
    }

    /// Asks the gate for an operation that weir cannot carry out. Errors: `Denied`, otherwise `error`.
    pub(super) fn refuse<O, A>(&mut self, operation: O, error: Error) -> Result<A>
    where
        O: Operation<Rule = R>,
    {
        let act = |_: &Permit<O>| Err(error);
        self.broker.gate_mut().perform(operation, act)
    }
}

impl View<'_, LinkRule> {
    /// Deletes links of one namespace in one step. Errors: those of [`perform`](Self::perform), the first.
    pub(super) fn delete_links(&mut self, deletes: Vec<link::Delete>) -> Result<()> {
        self.broker.delete_links(deletes)
    }
}

impl View<'_, StoreRule> {
    /// Returns the same as [`perform`](Self::perform) for an operation on an open store.
    pub(super) fn perform_in<O, A>(&mut self, store: &mut DynTransaction, operation: O) -> Result<A>
    where
        O: Operation<Rule = StoreRule>,
        DynTransaction: Perform<O, A>,
    {
        self.broker.perform_in(store, operation)
    }

    /// Commits what a transaction has changed. Errors: `Exhausted`, `Failed`.
    pub(super) fn commit(&mut self, store: &mut DynTransaction) -> Result<()> {
        self.broker.commit(store)
    }

    /// Returns the bytes that weir keeps to undo the invocation.
    pub(super) fn kept(&self) -> usize {
        self.broker.log().size()
    }
}
