//! Capability `ipam`: running the IPAM plugin that the configuration names, [`config::Ipam`](crate::config::Ipam).

use weir_cni::{AddResult, Error};

use crate::bindings::weir::cni::ipam as raw;
use crate::codes;
use crate::config::Ipam;

/// ADD: the addresses, routes and DNS settings to configure. When this invocation fails later, the
/// host runs DEL of the same IPAM plugin.
pub fn add() -> Result<AddResult, Error> {
    Ok(raw::add()?.into())
}

/// All but [`assign`](Ipam::assign) do nothing where no IPAM plugin is named.
impl Ipam {
    /// ADD for a main plugin: the addresses become those of the interface with this index in its result.
    ///
    /// Errors: [`codes::NO_ADDRESS`] where the IPAM plugin returns none.
    pub fn assign(&self, interface: u32) -> Result<AddResult, Error> {
        let mut assigned = add()?;
        if assigned.ips.is_empty() {
            let msg = format!("IPAM plugin `{}` returned no IP address", self.plugin);
            return Err(Error::new(codes::NO_ADDRESS, msg));
        }
        for ip in &mut assigned.ips {
            ip.interface = Some(interface);
        }
        Ok(assigned)
    }

    /// DEL.
    pub fn del(&self) -> Result<(), Error> {
        self.run(raw::del)
    }

    /// CHECK.
    pub fn check(&self) -> Result<(), Error> {
        self.run(raw::check)
    }

    /// STATUS.
    pub fn status(&self) -> Result<(), Error> {
        self.run(raw::status)
    }

    /// GC, with the valid attachments that this plugin was given.
    pub fn gc(&self) -> Result<(), Error> {
        self.run(raw::gc)
    }

    fn run(&self, command: fn() -> Result<(), raw::Failure>) -> Result<(), Error> {
        if self.is_configured() {
            command()?;
        }
        Ok(())
    }
}
