//! Capability `ipam`: runs the IPAM plugin that the configuration names.

pub(crate) mod run;

use std::fmt;
use std::sync::{Arc, Mutex};

use weir_cni::{AddResult, Command, Error};
use weir_gate::{self as gate, Gate, Permit, Refusal};
use weir_grant::ipam::Run;
use weir_kernel::{Broker, Code, Inverse, Undo};

use super::bindings::weir::cni::cni::AttachmentResult;
use super::bindings::weir::cni::ipam::Host as Contract;
pub use run::RunIpam;

/// The CNI error code for a denial.
pub const DENIED: u32 = 220;

/// Runs the IPAM plugin of an invocation, for its plugin and for the undo log.
#[derive(Clone)]
pub struct SharedIpam(Arc<Mutex<dyn RunIpam>>);

impl SharedIpam {
    /// Shares `ipam` between both.
    pub fn new(ipam: impl RunIpam + 'static) -> Self {
        Self(Arc::new(Mutex::new(ipam)))
    }

    /// Runs a command of the IPAM plugin, through the gate.
    fn run(
        &self,
        command: Command,
        gate: &mut Gate,
        purpose: Purpose,
    ) -> Result<Option<AddResult>, Error> {
        let mut ipam = self.0.lock().expect("no thread panicked with it");
        let operation = Run {
            plugin: ipam.plugin()?,
            command: command.as_str(),
        };
        let _guard = gate.audit().run_another();
        let act = |_: &Permit<Run>| ipam.run(command).map_err(Outcome);
        let outcome = match purpose {
            Purpose::Perform => gate.perform(operation, act),
            Purpose::Undo => gate.undo(operation, act),
        };
        outcome.map_err(|e| e.0)
    }
}

/// Whether the plugin or the undo log runs a command.
enum Purpose {
    Perform,
    Undo,
}

/// The part of an invocation that the capability needs.
pub(crate) struct IpamView<'a> {
    pub broker: &'a mut Broker,
    pub ipam: &'a SharedIpam,
}

impl Contract for IpamView<'_> {
    fn add(&mut self) -> Result<AttachmentResult, Error> {
        let result = self.run(Command::Add)?;
        self.broker
            .note(Box::new(ReleaseAddresses(self.ipam.clone())));
        let result = result.ok_or_else(|| Error::internal("the IPAM plugin returned no result"))?;
        Ok(result.into())
    }

    fn del(&mut self) -> Result<(), Error> {
        self.run(Command::Del).map(drop)
    }

    fn check(&mut self) -> Result<(), Error> {
        self.run(Command::Check).map(drop)
    }

    fn status(&mut self) -> Result<(), Error> {
        self.run(Command::Status).map(drop)
    }

    fn gc(&mut self) -> Result<(), Error> {
        self.run(Command::Gc).map(drop)
    }
}

impl IpamView<'_> {
    fn run(&mut self, command: Command) -> Result<Option<AddResult>, Error> {
        self.ipam
            .run(command, self.broker.gate_mut(), Purpose::Perform)
    }
}

/// Releases what the IPAM plugin assigned, by its DEL.
struct ReleaseAddresses(SharedIpam);

impl Inverse for ReleaseAddresses {
    fn undo(self: Box<Self>, undo: &mut Undo<'_>) -> Result<(), weir_kernel::Error> {
        let given = self.0.run(Command::Del, undo.gate, Purpose::Undo);
        given
            .map(drop)
            .map_err(|e| weir_kernel::Error::new(Code::Failed, e.to_string()))
    }
}

/// A CNI error as the outcome of an operation.
struct Outcome(Error);

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Self {
        let why = refusal.to_string();
        Self(match refusal {
            Refusal::Denied(_) => Error::new(DENIED, why),
            Refusal::Refused(_) | Refusal::NotFound(_) => Error::invalid_config(why),
            Refusal::Unrecorded(_) => Error::io_failure(why),
        })
    }
}

impl gate::Outcome for Outcome {
    /// The error is the answer of the IPAM plugin.
    fn is_refusal(&self) -> bool {
        false
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
