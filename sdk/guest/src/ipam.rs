//! Capability `ipam`: running the IPAM plugin that the configuration names.
//!
//! Which plugin that is, and whether there is one, says [`config::Ipam`](crate::config::Ipam).

use weir_cni::{AddResult, Error};

use crate::bindings::weir::cni::ipam as raw;

/// ADD: the addresses, routes and DNS settings to configure. When this invocation fails later, the
/// host runs DEL of the same IPAM plugin.
pub fn add() -> Result<AddResult, Error> {
    Ok(raw::add()?.into())
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
