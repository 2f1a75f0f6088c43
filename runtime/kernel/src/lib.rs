//! The kernel, the file system and firewalld: where operations are carried out.
//!
//! A [`Kernel`] performs each operation with a permit for it, and notes its inverse ([`Perform`], [`Inverse`]). [`Linux`] is
//! the one that weir runs on. It has a module for each capability, `address` to `traffic`, which uses the netlink sockets
//! of an invocation's [`Namespaces`] and runs no programs. A [`Broker`] orders every privileged act: the gate authorises and
//! records it, the kernel carries it out, its answer is recorded, and its inverse goes into the [`UndoLog`]. An [`Error`]
//! has the kernel's own text if there is any.
//!
//! What weir does on its own behalf needs no permit, is not shown to plugins, and is all in [`without_permit`]. No socket
//! leaves this crate, because its owner could bypass the gate.
//!
//! This crate does not decide what a plugin may do, and does not know WebAssembly, the contract, or pods.
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
mod device;
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
mod policy_rule;
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
    Answer, Changes, DynKernel, DynTransaction, Facts, Inverse, Kernel, Perform, Transaction, Undo,
    UndoLog,
};
