//! Running an IPAM plugin.

use weir_cni::{AddResult, Command, Error};

/// Runs another plugin in a separate sandbox. The floor above implements it.
pub trait RunIpam: Send {
    /// `ipam.type` of this invocation's configuration. Errors: code 7 if there is none.
    fn plugin(&self) -> Result<String, Error>;

    /// Runs one command of that plugin with this invocation's request. Only ADD has a result.
    fn run(&mut self, command: Command) -> Result<Option<AddResult>, Error>;
}
