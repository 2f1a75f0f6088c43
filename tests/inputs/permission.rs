//! A kernel layer behind a gate that lets everything through.

use std::time::{Duration, Instant};

use weir_files::Paths;
use weir_gate::Gate;
use weir_grant::Operation;
use weir_kernel::perform::perform;
use weir_kernel::{Linux, Namespaces, Perform, UndoLog};
use weir_kit::gate;

/// Carries out whatever operation it is given.
pub(crate) struct Permitted {
    pub(crate) linux: Linux,
    gate: Gate,
    log: UndoLog,
}

impl Permitted {
    /// On a host with these sockets, and without files.
    pub(crate) fn on(host: Namespaces) -> Self {
        let deadline = Instant::now() + Duration::from_secs(1);
        Self {
            linux: Linux::new(host, Paths::below("/nonexistent"), deadline),
            gate: gate::everything(),
            log: UndoLog::default(),
        }
    }

    /// Carries an operation out. Whatever comes of it is as good.
    pub(crate) fn perform<O: Operation, A>(&mut self, operation: O)
    where
        Linux: Perform<O, A>,
    {
        let _ = perform(&mut self.gate, &mut self.linux, &mut self.log, operation);
    }
}
