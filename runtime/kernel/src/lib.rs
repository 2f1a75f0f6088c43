//! The kernel, the file system and firewalld: what host functions really do.
//!
//! Every function that a plugin can reach takes a [`Permit`] and reads its arguments from the operation inside, so that
//! what was authorised is what is done. There is a module for each capability, `address` to `traffic`; they speak to the
//! kernel through the sockets of an invocation's [`Namespaces`], by netlink and never by a program. An [`Error`] has the
//! kernel's own words where it gave any.
//!
//! What weir does on its own behalf, and shows no plugin, needs no permit, and all of it is in [`without_permit`]. No socket
//! leaves this crate: who has one is past the gate.
//!
//! This crate must not decide what a plugin may do, nor know of WebAssembly, of the contract, or of pods: whoever calls it
//! has asked the gate.
//!
//! # Example
//!
//! ```
//! use weir_gate::{Audit, Gate, Subject};
//! use weir_grant::sysctl::{Read, SysctlRule};
//! use weir_grant::{Capabilities, Invocation, Namespace};
//! use weir_kernel::{Error, Namespaces, sysctl};
//!
//! # fn main() -> Result<(), Error> {
//! let capabilities = Capabilities { sysctl: vec![SysctlRule::default()], ..Capabilities::default() };
//! let mut gate = Gate::new(capabilities, Invocation::default(), Audit::nowhere(Subject::default()));
//!
//! // The host's namespace alone: this invocation has no container.
//! let mut namespaces = Namespaces::new(None);
//! let read = Read { namespace: Namespace::Host, key: "net.ipv4.ip_forward".into() };
//! let value = gate.perform(read, |permit| sysctl::read(&mut namespaces, permit))?;
//! assert!(["0", "1"].contains(&value.as_str()));
//! # Ok(())
//! # }
//! ```
//!
//! [`Permit`]: weir_gate::Permit

pub mod address;
pub mod conntrack;
pub mod error;
pub mod file;
pub mod firewall;
pub mod firewalld;
pub mod link;
mod namespace;
pub mod neighbour;
mod netlink;
pub mod program;
pub mod route;
pub mod store;
pub mod sysctl;
pub mod traffic;
mod visit;
pub mod without_permit;

#[cfg(test)]
mod tests;

pub use error::{Code, Error};
pub use namespace::{Namespaces, NetworkNamespace};
