//! What a plugin may do: the grant, the operations that it speaks of, and whether it allows one.
//!
//! Everything here is pure: an [`Operation`] comes in with the facts that it is about, and a [`Decision`] goes out. There
//! is one file for each capability, and in it that capability's operations, its rule in a grant and how the two are
//! matched. Documents are read by [`reading`], with the place of every mistake, and [`operation_names`] finds an operation by the
//! name that a person types.
//!
//! This crate must not open a file or a socket, read a clock, or know of the kernel, of processes or of WebAssembly. What
//! it decides depends on its arguments alone, so that a decision can be tried, explained and fuzzed anywhere.
//!
//! # Example
//!
//! ```
//! use weir_grant::sysctl::Write;
//! use weir_grant::{Decision, Document, Invocation, Namespace, decide};
//!
//! let grant = Document::read(
//!     br#"
//! apiVersion: weir.dev/v1alpha1
//! kind: PluginGrant
//! metadata:
//!   name: router
//! spec:
//!   plugin:
//!     name: router
//!   networks: ["*"]
//!   capabilities:
//!     sysctl:
//!       - namespace: host
//!         keys: ["net.ipv4.ip_forward"]
//!         values: ["1"]
//!         verbs: [write]
//! "#,
//! )
//! .expect("a valid grant");
//!
//! let invocation = Invocation {
//!     container_id: "c1".into(),
//!     ifname: "eth0".into(),
//!     network: "pods".into(),
//! };
//! let write = |value: &str| Write {
//!     namespace: Namespace::Host,
//!     key: "net.ipv4.ip_forward".into(),
//!     value: value.into(),
//!     owner: String::new(),
//! };
//!
//! let decision = decide(&grant.spec.capabilities, &invocation, &write("1"));
//! assert!(matches!(decision, Decision::Allowed { rules } if rules == ["sysctl[0]"]));
//!
//! // The rule that came closest is named, with the field in which it missed.
//! let decision = decide(&grant.spec.capabilities, &invocation, &write("0"));
//! let Decision::Denied { closest: Some(closest), .. } = decision else {
//!     panic!("the grant allows no other value");
//! };
//! assert_eq!((closest.rule.as_str(), closest.field.as_str()), ("sysctl[0]", "values"));
//! ```

pub mod address;
pub mod capability;
pub mod conntrack;
pub mod device;
pub mod diagnostic;
pub mod document;
pub mod examples;
mod facts;
pub mod field;
pub mod firewall;
pub mod firewalld;
pub mod flow;
pub mod ipam;
pub mod link;
mod namespace;
pub mod native;
pub mod neighbour;
pub mod operation;
pub mod operation_names;
mod overlap;
pub mod own;
pub mod owner;
pub mod packet;
pub mod pattern;
pub mod plugin;
mod quantity;
pub mod query;
pub mod reading;
pub mod route;
pub mod rule;
pub mod rule_fields;
#[cfg(test)]
mod schema;
pub mod section;
pub mod sentence;
pub mod size;
mod spell;
pub mod store;
pub mod sysctl;
pub mod traffic;

pub use capability::{Capabilities, Capability};
pub use document::{Document, Limits};
pub use namespace::Namespace;
pub use operation::{Closest, Decision, Invocation, Operation, Rule, Verb, decide};
pub use overlap::Overlap;
pub use section::Section;
