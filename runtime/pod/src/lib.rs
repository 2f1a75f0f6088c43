//! The networks of a Kubernetes pod: selection, attachment, record and status.
//!
//! weir as the *delegating plugin* of the Kubernetes Network Custom Resource Definition De-facto Standard ("the standard"
//! below; its sections are cited by number). [`run`] carries out one call of the runtime: the pod's [`selection`] and the
//! cluster's definitions become a plan, the plan is recorded on disk, each network is attached by `weir-network`, and
//! the status goes to the API server ([`kubernetes`]). DEL, CHECK and GC use the record and need no cluster.
//!
//! No object of the cluster decides which plugin may run or what it may do: grants, plugins and limits are the node's. This
//! crate knows nothing of components, and changes the pod's network only through the gate, by a grant that is fixed in the
//! binary ([`default_route`]).
//!
//! # Example
//!
//! What a pod's annotation selects:
//!
//! ```
//! use weir_pod::selection;
//!
//! let selection = selection::networks("storage, backup/offsite@net2", "apps").expect("a valid selection");
//! let [storage, offsite] = &selection.elements[..] else {
//!     panic!("two networks are selected");
//! };
//! assert_eq!(storage.reference.to_string(), "apps/storage");
//! assert_eq!(offsite.reference.to_string(), "backup/offsite");
//! assert_eq!(offsite.interface.as_deref(), Some("net2"));
//!
//! // All mistakes are reported at once.
//! assert!(selection::networks(r#"[{ "name": "storage", "ips": ["10.0.0.300"] }]"#, "apps").is_err());
//! ```

mod attach;
mod check;
pub mod cluster;
pub mod codes;
mod collect;
pub mod configuration;
pub mod default_route;
mod definition;
mod delegating;
mod delegating_call;
mod detach;
mod devices;
mod journal;
pub mod kubernetes;
pub mod multus;
mod plan;
mod quoted;
mod readiness;
pub mod reference;
pub mod report;
mod runtime_config;
pub mod selection;
mod status;
mod status_command;
mod verify;

pub use delegating::run;
