//! Capability `ipam`: running the IPAM plugin that the configuration names.

pub(crate) mod run;

use weir_cni::{AddResult, Command, Error};
use weir_gate::{self as gate, Refusal};
use weir_grant::ipam::Run;

use super::bindings::weir::cni::cni::AttachmentResult;
use super::bindings::weir::cni::ipam::Host as Contract;
use super::state::Host;
use super::undo::Undo;
pub use run::RunIpam;

/// CNI error code of what a grant does not allow.
pub const DENIED: u32 = 220;

impl Contract for Host {
    fn add(&mut self) -> Result<AttachmentResult, Error> {
        let result = self.run_ipam(Command::Add)?;
        self.done.push(Undo::Ipam);
        let result = result.ok_or_else(|| Error::internal("the IPAM plugin returned no result"))?;
        Ok(result.into())
    }

    fn del(&mut self) -> Result<(), Error> {
        self.run_ipam(Command::Del).map(drop)
    }

    fn check(&mut self) -> Result<(), Error> {
        self.run_ipam(Command::Check).map(drop)
    }

    fn status(&mut self) -> Result<(), Error> {
        self.run_ipam(Command::Status).map(drop)
    }

    fn gc(&mut self) -> Result<(), Error> {
        self.run_ipam(Command::Gc).map(drop)
    }
}

impl Host {
    fn run_ipam(&mut self, command: Command) -> Result<Option<AddResult>, Error> {
        let Some(ipam) = self.ipam.as_mut() else {
            return Err(Error::new(
                DENIED,
                "an IPAM plugin cannot run an IPAM plugin",
            ));
        };
        let operation = Run {
            plugin: ipam.plugin()?,
            command: command.as_str(),
        };
        self.gate
            .perform(operation, |_| ipam.run(command).map_err(Outcome))
            .map_err(|e| e.0)
    }

    /// Gives back what the IPAM plugin assigned.
    pub(super) fn undo_ipam(&mut self) -> Result<(), Error> {
        let Some(ipam) = self.ipam.as_mut() else {
            return Ok(());
        };
        let operation = Run {
            plugin: ipam.plugin()?,
            command: Command::Del.as_str(),
        };
        self.gate
            .undo(operation, |_| ipam.run(Command::Del).map_err(Outcome))
            .map(drop)
            .map_err(|e| e.0)
    }
}

/// A CNI error as an answer of the gate.
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
    /// The IPAM plugin has answered.
    fn is_refusal(&self) -> bool {
        false
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
