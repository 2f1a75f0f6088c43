//! The host functions: a call of the contract becomes an operation, passes the gate, and reaches the kernel.
//!
//! There is one file for each capability, and in it one short function for each function of the contract (`wit/`): from
//! what the guest refers to it makes the facts, as the kernel tells them, asks the gate, and answers. [`Host`] is the
//! state of one invocation of one plugin; it counts what the plugin takes of its limits, and keeps what it takes to undo
//! what was done (`undo`).
//!
//! This crate must not touch the kernel but by the functions of `weir-kernel`, believe a guest about what a link is, or
//! let a guest learn of what it may not see more than that it is denied. It runs no WebAssembly: that is the sandbox's.
//!
//! # Example
//!
//! A call as a plugin makes it, without the plugin:
//!
//! ```
//! use std::time::{Duration, Instant};
//!
//! use weir_files::Paths;
//! use weir_gate::{Audit, Gate, Subject};
//! use weir_grant::store::Configured;
//! use weir_grant::{Capabilities, Invocation, Limits};
//! use weir_host::bindings::weir::cni::sysctl::Host as _;
//! use weir_host::bindings::weir::cni::types::Namespace;
//! use weir_host::{Host, Log, Setup};
//! use weir_kernel::{Code, Namespaces};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let root = tempfile::tempdir()?;
//! # let paths = Paths::below(root.path());
//! let rules = r#"{ "sysctl": [{ "namespace": "host", "keys": ["net.ipv4.ip_forward"], "verbs": ["read"] }] }"#;
//! let capabilities: Capabilities = serde_json::from_str(rules)?;
//! let mut host = Host::new(Setup {
//!     gate: Gate::new(capabilities, Invocation::default(), Audit::nowhere(Subject::default())),
//!     namespaces: Namespaces::new(None),
//!     log: Log::new(paths.log(), serde_json::Value::Null, 0),
//!     paths,
//!     plugin: "example".into(),
//!     network: "pods".into(),
//!     previous: None,
//!     former_network: None,
//!     configured: Configured::default(),
//!     limits: Limits::default(),
//!     code: 0,
//!     deadline: Instant::now() + Duration::from_secs(1),
//!     lock: None,
//!     ipam: None,
//! });
//!
//! assert!(host.read(Namespace::Host, "net.ipv4.ip_forward".into()).is_ok());
//!
//! let denied = host.write(Namespace::Host, "net.ipv4.ip_forward".into(), "1".into());
//! assert_eq!(denied.map_err(|error| error.code), Err(Code::Denied));
//! # Ok(())
//! # }
//! ```

pub mod bindings;
pub mod convert;
pub mod state;
pub mod undo;

mod address;
mod conntrack;
mod firewall;
mod firewall_convert;
mod firewalld;
mod inverse;
mod ipam;
mod left;
mod link;
mod link_convert;
mod log;
mod neighbour;
mod resource;
mod route;
mod store;
mod sysctl;
mod traffic;
mod unsupported;

pub use ipam::{DENIED, RunIpam};
pub use log::{Log, printable};
pub use state::{Host, MOST_KEPT, Setup};
