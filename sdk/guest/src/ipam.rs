//! Capability `ipam`: running the IPAM plugin that the configuration names.
//!
//! Which plugin that is, and whether there is one, says [`config::Ipam`](crate::config::Ipam).

use weir_cni::{AddResult, Error};

use crate::bindings::weir::cni::ipam as raw;
use crate::codes;

/// ADD: the addresses, routes and DNS settings to configure. When this invocation fails later, the
/// host runs DEL of the same IPAM plugin.
pub fn add() -> Result<AddResult, Error> {
    Ok(raw::add()?.into())
}

/// ADD for a main plugin: the addresses become those of an interface of its result, by the
/// interface's place in it. `plugin` is the IPAM plugin's name, for the error.
///
/// Errors: [`codes::NO_ADDRESS`] where the IPAM plugin returns none.
pub fn assign(plugin: &str, interface: u32) -> Result<AddResult, Error> {
    let mut assigned = add()?;
    if assigned.ips.is_empty() {
        let msg = format!("IPAM plugin `{plugin}` returned no IP address");
        return Err(Error::new(codes::NO_ADDRESS, msg));
    }
    for ip in &mut assigned.ips {
        ip.interface = Some(interface);
    }
    Ok(assigned)
}

/// DEL.
pub fn del() -> Result<(), Error> {
    Ok(raw::del()?)
}

/// CHECK.
pub fn check() -> Result<(), Error> {
    Ok(raw::check()?)
}

/// STATUS.
pub fn status() -> Result<(), Error> {
    Ok(raw::status()?)
}

/// GC, with the valid attachments that this plugin was given.
pub fn gc() -> Result<(), Error> {
    Ok(raw::gc()?)
}
