//! One invocation of one plugin: its code, its grant, its limits, and what is undone when it fails.
//!
//! A [`Sandbox`] knows the node's plugins ([`Catalogue`]) and their grants ([`deciding`]). For each [`Request`] it loads the plugin's
//! ahead-of-time code, makes a fresh store with the limits of the grant, links it with the host functions, and calls the
//! one function that the command names. A trap or an exceeded limit becomes a CNI error with one of the [`codes`], and
//! what the ADD had done is undone.
//!
//! WebAssembly ends here: the floors above deal with plugins, requests and results. This crate must not compile a component
//! while a container waits, load code that someone other than weir's user and root could have written, or link a plugin
//! with anything but the contract and the small part of WASI that Rust's standard library imports.
//!
//! # Example
//!
//! A node without plugins, whose error says so:
//!
//! ```
//! use std::sync::Arc;
//!
//! use weir_cni::Command;
//! use weir_files::Paths;
//! use weir_sandbox::{Request, Sandbox, codes};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let root = tempfile::tempdir()?;
//! let sandbox = Sandbox::new(Paths::below(root.path()), false)?;
//! let request = Request {
//!     command: Command::Status,
//!     container_id: String::new(),
//!     ifname: String::new(),
//!     network: "pods".into(),
//!     definition: None,
//!     requested_by_pod: Vec::new(),
//!     args: Vec::new(),
//!     pod: None,
//!     config: Arc::default(),
//!     previous: None,
//!     sandbox: String::new(),
//!     container: None,
//!     valid_attachments: Vec::new(),
//! };
//! let error = sandbox.run("bridge", &request, None).expect_err("there is no such plugin");
//! assert_eq!(error.code, codes::NO_PLUGIN);
//! # Ok(())
//! # }
//! ```

mod attached;
mod authors;
mod builtin;
mod call;
mod catalogue;
mod code;
pub mod codes;
mod compiler;
mod component_cache;
mod contract;
mod events;
mod final_output;
mod grants;
mod imports;
mod inspect;
mod installed;
mod internal_policy;
mod ipam;
mod linker;
mod plugin_store;
mod plugin_uri;
mod request;
mod sandbox;
mod seal;
mod seen;
mod trap;
mod validate_result;
mod watchdog;

pub use authors::authors;
pub use builtin::{
    BuiltIn, Inside, all as built_in, hostile, missing_plugins, put_inside, shipped_grant,
};
pub use catalogue::{Catalogue, KeptVersion, Listed, Plugin, Source};
pub use compiler::Compiled;
pub use grants::deciding::{Undecided, deciding, replaces};
pub use grants::{
    Broken, Fit, Invalid, Loaded, Origin, not_read, parse as parse_grant, read as read_grant,
    survey as survey_grants,
};
pub use imports::{Imports, Names, Refused};
pub use inspect::{Inspection, is_component};
pub use installed::{Installed, Provenance, Trusted, digest};
pub use internal_policy::own_digest;
pub use ipam::{CheckResult, NativeIpamCall, RunNativeIpam};
pub use plugin_uri::{PluginUri, UriTarget};
pub use request::{About, Request};
pub use sandbox::Sandbox;
pub use seal::seal;
