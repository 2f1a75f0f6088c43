//! The kernel, through the gate and with the grant of a handover.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use weir_files::Paths;
use weir_gate::Gate;
use weir_grant::{Invocation, Limits, Operation};
use weir_kernel::perform::perform;
use weir_kernel::{self as kernel, Linux, Namespaces, Perform, UndoLog};
use weir_sandbox::Sandbox;

use crate::cli::output::show;

pub struct Kernel<'a> {
    paths: &'a Paths,
    linux: Linux,
    /// Made when it is first needed: weir can be uninstalled from a machine on which it does not run.
    sandbox: Option<Arc<Sandbox>>,
}

impl<'a> Kernel<'a> {
    pub fn new(paths: &'a Paths) -> Self {
        let deadline = Instant::now() + Limits::MOST_TIME;
        Self {
            paths,
            linux: Linux::new(Namespaces::new(None), paths.clone(), deadline),
            sandbox: None,
        }
    }

    pub fn sandbox(&mut self) -> Result<Arc<Sandbox>> {
        if let Some(sandbox) = &self.sandbox {
            return Ok(Arc::clone(sandbox));
        }
        let sandbox = Sandbox::new(self.paths.clone(), false).map_err(show)?;
        Ok(Arc::clone(self.sandbox.insert(sandbox)))
    }

    pub fn namespaces(&mut self) -> &mut Namespaces {
        self.linux.namespaces()
    }

    /// Performs an operation, which is not undone. None if its object does not exist.
    pub fn perform<O, A>(&mut self, invocation: &Invocation, operation: O) -> Result<Option<A>>
    where
        O: Operation,
        Linux: Perform<O, A>,
    {
        self.perform_with(invocation, |gate, linux| {
            perform(gate, linux, &mut UndoLog::default(), operation)
        })
    }

    /// Returns the same by another function than [`perform`].
    pub fn perform_with<A>(
        &mut self,
        invocation: &Invocation,
        act: impl FnOnce(&mut Gate, &mut Linux) -> kernel::Result<A>,
    ) -> Result<Option<A>> {
        let gate = self.sandbox()?.handover_gate(invocation.clone());
        match act(&mut gate.map_err(show)?, &mut self.linux) {
            Err(error) if error.is_not_found() => Ok(None),
            performed => Ok(Some(performed?)),
        }
    }
}
