//! The kernel, the file system and firewalld: where operations are carried out.
//!
//! A [`Kernel`] performs each operation that there is, as its permit says, and notes what takes it back ([`Perform`],
//! [`Inverse`]). [`Linux`] is the one that weir runs on: there is a module for each capability, `address` to `traffic`,
//! which speaks to the kernel through the sockets of an invocation's [`Namespaces`], by netlink and never by a program. A
//! [`Broker`] has the order of every privileged act: the gate authorises and records it, the kernel carries it out, its
//! answer is recorded, and its inverse goes into the [`UndoLog`]. An [`Error`] has the kernel's own words where it gave any.
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
//! use std::time::{Duration, Instant};
//!
//! use weir_files::Paths;
//! use weir_gate::{Audit, Gate, Subject};
//! use weir_grant::sysctl::{Read, SysctlRule};
//! use weir_grant::{Capabilities, Invocation, Namespace};
//! use weir_kernel::{Broker, Error, Linux, Namespaces};
//!
//! # fn main() -> Result<(), Error> {
//! let capabilities = Capabilities { sysctl: vec![SysctlRule::default()], ..Capabilities::default() };
//! let gate = Gate::new(capabilities, Invocation::default(), Audit::nowhere(Subject::default()));
//!
//! // The host's namespace alone: this invocation has no container.
//! let deadline = Instant::now() + Duration::from_secs(1);
//! let linux = Linux::new(Namespaces::new(None), Paths::below("/"), deadline);
//! let mut broker = Broker::new(gate, Box::new(linux));
//! let value = broker.perform(Read { namespace: Namespace::Host, key: "net.ipv4.ip_forward".into() })?;
//! assert!(["0", "1"].contains(&value.as_str()));
//! # Ok(())
//! # }
//! ```

mod address;
mod broker;
pub mod checks;
mod conditions;
mod conntrack;
mod error;
pub mod exec;
mod facts;
mod file;
pub mod firewall;
mod firewalld;
pub mod inverses;
mod link;
mod linux;
mod namespace;
mod neighbour;
mod netlink;
mod netns;
pub mod perform;
mod route;
pub mod store;
mod sysctl;
mod traffic;
pub mod without_permit;

#[cfg(test)]
mod tests;

pub use broker::Broker;
pub use error::{Code, Error, Result, WhileDoing};
pub use linux::Linux;
pub use namespace::{Namespaces, NetworkNamespace};
pub use perform::{
    Changes, DynKernel, DynTransaction, Facts, Inverse, Kernel, Perform, Transaction, Undo, UndoLog,
};
