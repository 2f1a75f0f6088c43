//! The undo log of an invocation.
//!
//! Each operation that changes something notes its inverse while it is carried out. When an `add` fails, traps or is
//! stopped, the inverses are carried out in reverse order, each with a permit of the gate's and a record in the audit log.
//! Most inverses are operations. The others have types next to the operation that they take back: a removal with a
//! condition, a move back, and what lies above the kernel.

use std::any::Any;
use std::time::{Duration, Instant};

use weir_gate::Gate;
use weir_grant::link::{Delete, LinkFacts};
use weir_grant::{Namespace, Operation};

use super::{Changes, DynKernel, Perform};
use crate::error::Result;

/// How long an undo waits for others when the invocation's own time is over.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a step takes in memory beside its [`Inverse::size`], in bytes, about.
const STEP_SIZE: usize = 512;

/// Takes back what an operation did.
pub trait Inverse: Any + Send {
    /// Takes it back.
    ///
    /// Errors: why it stays; `NotFound` if it is gone already.
    fn undo(self: Box<Self>, undo: &mut Undo<'_>) -> Result<()>;

    /// Keeps what the operation did. Errors: what could not be noted.
    fn keep(&self, _kernel: &mut DynKernel) -> Result<()> {
        Ok(())
    }

    /// What it takes in memory beyond its fixed part, in bytes.
    fn size(&self) -> usize {
        0
    }

    /// The link that it removes, if that may be deleted together with others.
    fn removed_link(&self) -> Option<&Delete> {
        None
    }

    /// Whether a link may have another index after it.
    fn moves_link(&self) -> bool {
        false
    }

    /// The link that it still refers to after the link has moved: a move takes a link's addresses and routes away.
    fn link_that_stays(&mut self) -> Option<&mut LinkFacts> {
        None
    }
}

impl<O> Inverse for O
where
    O: Operation + Send + 'static,
    DynKernel: Perform<O>,
{
    fn undo(self: Box<Self>, undo: &mut Undo<'_>) -> Result<()> {
        undo.perform(*self)
    }
}

/// What takes an invocation's changes back.
pub struct Undo<'a> {
    pub gate: &'a mut Gate,
    pub kernel: &'a mut DynKernel,
    /// What is still to be taken back.
    pub earlier: &'a mut UndoLog,
}

impl Undo<'_> {
    /// Carries out an operation that takes something back.
    ///
    /// Errors: those of the gate and of the operation.
    pub fn perform<O, A>(&mut self, operation: O) -> Result<A>
    where
        O: Operation,
        DynKernel: Perform<O, A>,
    {
        let mut ignored = UndoLog::default();
        self.gate.undo(operation, |permit| {
            (self.kernel).perform(permit, &mut Changes::new(&mut ignored))
        })
    }
}

/// The inverses of what an invocation did. The last is carried out first.
#[derive(Default)]
pub struct UndoLog {
    steps: Vec<Box<dyn Inverse>>,
    noted: u64,
    size: usize,
}

impl UndoLog {
    /// Notes the inverse of what was done just now.
    pub fn note(&mut self, inverse: Box<dyn Inverse>) {
        self.noted += 1;
        self.size += STEP_SIZE + inverse.size();
        self.steps.push(inverse);
    }

    /// Offers the steps of a type to `change`, the last first, until it returns true. False if it never does.
    pub(crate) fn amend<I: Inverse>(&mut self, mut change: impl FnMut(&mut I) -> bool) -> bool {
        let size = &mut self.size;
        let mut steps = self.steps.iter_mut().rev();
        steps.any(|step| amend(step, size, &mut change))
    }

    /// Offers the last step to `change`, if it is of a type. Returns what that returns, or false.
    pub(crate) fn amend_last<I: Inverse>(&mut self, change: impl FnOnce(&mut I) -> bool) -> bool {
        let last = self.steps.last_mut();
        last.is_some_and(|step| amend(step, &mut self.size, change))
    }

    /// Takes the steps of a type out, the last first.
    #[cfg(test)]
    pub(crate) fn take<I: Inverse>(&mut self) -> Vec<I> {
        let is_meant = |step: &mut Box<dyn Inverse>| (&**step as &dyn Any).is::<I>();
        let taken: Vec<_> = self.steps.extract_if(.., is_meant).collect();
        let taken = taken.into_iter().rev();
        taken
            .filter_map(|step| (step as Box<dyn Any>).downcast().ok())
            .map(|inverse| *inverse)
            .collect()
    }

    /// Returns how many changes have been noted, for an invocation's limit. An amended step counts once.
    pub fn noted(&self) -> u64 {
        self.noted
    }

    /// Returns what the steps take in memory, in bytes, about.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Undoes everything. Returns the failures, for the log.
    pub fn undo(&mut self, gate: &mut Gate, kernel: &mut DynKernel) -> Vec<String> {
        kernel.wait_until(Instant::now() + PATIENCE);
        let mut failures = self.undo_links(gate, kernel);
        while let Some(step) = self.steps.pop() {
            let mut undo = Undo {
                gate,
                kernel,
                earlier: self,
            };
            match step.undo(&mut undo) {
                Err(error) if !error.is_not_found() => failures.push(error.to_string()),
                // A link's removal takes its addresses, routes and disciplines with it.
                _ => {}
            }
        }
        failures
    }

    /// Keeps everything. Returns the failures, for the log.
    pub fn keep(&self, kernel: &mut DynKernel) -> Vec<String> {
        let kept = self.steps.iter().map(|step| step.keep(kernel));
        kept.filter_map(Result::err)
            .map(|error| error.to_string())
            .collect()
    }

    /// Gives another index to a link in all steps that are still about it.
    pub(crate) fn renumber(&mut self, namespace: Namespace, from: u32, to: u32) {
        let links = self
            .steps
            .iter_mut()
            .filter_map(|step| step.link_that_stays());
        for link in links.filter(|link| (link.namespace, link.index) == (namespace, from)) {
            link.index = to;
        }
    }

    /// Removes links that were made, each namespace's in one request, for which the kernel waits only once. Their addresses,
    /// routes and disciplines go with them, so that the order does not matter.
    fn undo_links(&mut self, gate: &mut Gate, kernel: &mut DynKernel) -> Vec<String> {
        let (host, container): (Vec<_>, Vec<_>) = (self.take_links().into_iter())
            .partition(|delete| delete.link.namespace == Namespace::Host);
        let mut failures = Vec::new();
        for deletes in [container, host] {
            let removed: Result<()> =
                gate.undo_all(deletes, |permits| kernel.delete_links(permits));
            failures.extend(removed.err().map(|error| error.to_string()));
        }
        failures
    }

    /// Takes out the links that can be deleted together, as far as no later step may have changed their index.
    fn take_links(&mut self) -> Vec<Delete> {
        let last_move = self.steps.iter().rposition(|step| step.moves_link());
        let after = last_move.map_or(0, |at| at + 1);
        let taken = self
            .steps
            .extract_if(after.., |step| step.removed_link().is_some());
        taken
            .filter_map(|step| step.removed_link().cloned())
            .collect()
    }
}

/// Offers a step to `change` if it is of a type, and updates the size of all steps.
fn amend<I: Inverse>(
    step: &mut Box<dyn Inverse>,
    size: &mut usize,
    change: impl FnOnce(&mut I) -> bool,
) -> bool {
    let before = step.size();
    let inverse = (&mut **step as &mut dyn Any).downcast_mut();
    let is_meant = inverse.is_some_and(change);
    *size = *size + step.size() - before;
    is_meant
}
