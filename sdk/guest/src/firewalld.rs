//! Capability `firewalld`: the zones of firewalld, where it runs.
//!
//! ```no_run
//! use std::net::IpAddr;
//! use weir_sdk::{OperationError, firewalld};
//!
//! fn let_pass(address: IpAddr) -> Result<(), OperationError> {
//!     if firewalld::is_running()? {
//!         firewalld::add_source("trusted", address)?;
//!     }
//!     Ok(())
//! }
//! ```

use std::net::IpAddr;

use crate::Result;
use crate::bindings::weir::cni::firewalld as raw;

pub use raw::is_running;

/// Returns the zone that an address is bound to; none if it is not. Errors: `unsupported` where firewalld does not run.
pub fn zone_of_source(source: IpAddr) -> Result<Option<String>> {
    raw::zone_of_source(source.into())
}

/// Binds an address to a zone, until firewalld reloads. Errors: `exists` when it is bound to one
/// already, `not-found` when there is no such zone, `unsupported`.
pub fn add_source(zone: &str, source: IpAddr) -> Result<()> {
    raw::add_source(zone, source.into())
}

/// Removes an address from a zone. Errors: `not-found` if it is not in that zone, `unsupported`.
pub fn remove_source(zone: &str, source: IpAddr) -> Result<()> {
    raw::remove_source(zone, source.into())
}
