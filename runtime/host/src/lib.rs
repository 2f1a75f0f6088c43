//! The host functions: a call of the contract becomes an operation, passes the gate, and reaches the kernel.
//!
//! There is one file for each capability, and in it one short function for each function of the contract (`wit/`): from
//! what the guest refers to it makes the facts, as the kernel tells them, has the operation performed, and answers. An
//! interface is implemented by no more than it needs: most by the [`Broker`](weir_kernel::Broker) alone, which is gate,
//! kernel and undo log; the others by a view of an invocation's [`State`], which also counts what the plugin takes of its
//! limits. [`add_to_linker`] connects each interface to its view.
//!
//! This crate must not touch the kernel but through a broker, believe a guest about what a link is, or let a guest learn of
//! what it may not see more than that it is denied. It runs no WebAssembly: that is the sandbox's.
//!
//! # Example
//!
//! A call as a plugin makes it, without the plugin:
//!
//! ```
//! use weir_gate::{Audit, Gate, Subject};
//! use weir_grant::{Capabilities, Invocation};
//! use weir_host::bindings::weir::cni::sysctl::Host as _;
//! use weir_host::bindings::weir::cni::types::Namespace;
//! use weir_kernel::{Broker, Code};
//! use weir_model::Node;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rules = r#"{ "sysctl": [{ "namespace": "host", "keys": ["net.ipv4.ip_forward"], "verbs": ["read"] }] }"#;
//! let capabilities: Capabilities = serde_json::from_str(rules)?;
//! let gate = Gate::new(capabilities, Invocation::default(), Audit::nowhere(Subject::default()));
//! // A model of the kernel, as the tests of this crate use it. `weir_kernel::Linux` is the real one.
//! let kernel = Node::new().kernel();
//! let mut sysctl = Broker::new(gate, Box::new(kernel));
//!
//! assert_eq!(sysctl.read(Namespace::Host, "net.ipv4.ip_forward".into())?, "0");
//!
//! let denied = sysctl.write(Namespace::Host, "net.ipv4.ip_forward".into(), "1".into());
//! assert_eq!(denied.map_err(|error| error.code), Err(Code::Denied));
//! # Ok(())
//! # }
//! ```

pub mod bindings;
pub mod convert;
pub mod state;

mod address;
mod conntrack;
mod facts;
mod firewall;
mod firewall_convert;
mod firewalld;
mod ipam;
mod left;
mod link;
mod link_convert;
mod linker;
mod log;
mod neighbour;
mod resource;
mod route;
mod store;
mod sysctl;
#[cfg(test)]
mod tests;
mod traffic;
mod unsupported;
mod usage;

pub use ipam::{DENIED, RunIpam, SharedIpam};
pub use linker::add_to_linker;
pub use log::{Log, printable};
pub use state::{Setup, State};
pub use usage::{MOST_KEPT, Usage};
