//! The host functions: a call of the contract becomes an operation, passes the gate, and reaches the kernel.
//!
//! There is one file for each capability, with one short function for each function of the contract (`wit/`). It reads
//! the facts about what the guest refers to from the kernel, performs the operation and returns the answer. Each interface
//! is implemented on a view of an invocation's [`State`]: most on [`View`], which has facts and the operations of one
//! capability, and the others on one with more beside it, such as the open stores. [`linker()`] connects each interface to
//! its view.
//!
//! This crate must reach the kernel only through a broker. It must not believe a guest about what a link is, or tell a
//! guest more about a hidden object than that the operation is denied. It runs no WebAssembly; the sandbox does.
//!
//! # Example
//!
//! A call of a plugin, made without a plugin:
//!
//! ```
//! use weir_gate::{Audit, Gate, Subject};
//! use weir_grant::{Capabilities, Invocation};
//! use weir_host::bindings::weir::cni::sysctl::Host as _;
//! use weir_host::bindings::weir::cni::types::Namespace;
//! use weir_host::View;
//! use weir_kernel::{Broker, Code};
//! use weir_model::Node;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rules = r#"{ "sysctl": [{ "namespace": "host", "keys": ["net.ipv4.ip_forward"], "verbs": ["read"] }] }"#;
//! let capabilities: Capabilities = serde_json::from_str(rules)?;
//! let gate = Gate::new(capabilities, Invocation::default(), Audit::nowhere(Subject::default()));
//! // A model of the kernel, which the tests of this crate use. `weir_kernel::Linux` is the real one.
//! let kernel = Node::new().kernel();
//! let mut broker = Broker::new(gate, Box::new(kernel));
//! let mut sysctl = View::new(&mut broker);
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
mod commands;
mod conntrack;
mod device;
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
mod policy_rule;
mod resource;
mod route;
mod store;
mod sysctl;
#[cfg(test)]
mod tests;
mod traffic;
mod unsupported;
mod usage;
mod view;

pub use commands::Commands;
pub use ipam::{DENIED, RunIpam, SharedIpam};
pub use linker::linker;
pub use log::{Log, shorten_loops, shorten_loops_of};
pub use state::{Setup, State};
pub use usage::{MOST_KEPT, Usage};
pub use view::View;
