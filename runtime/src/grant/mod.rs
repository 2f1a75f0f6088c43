//! What a plugin may do: the policy document, the operations it speaks of, and their matching.
//!
//! Floor 1 of the house. Everything here is pure: no file, no socket, no clock. One file per
//! capability holds that capability's operations, its rule in a grant and how the two are matched.

pub mod address;
pub mod asked;
pub mod compare;
pub mod conntrack;
pub mod device;
pub mod document;
mod facts;
pub mod fields;
pub mod firewall;
pub mod firewalld;
pub mod flow;
pub mod ipam;
pub mod link;
pub mod mistake;
pub mod named;
mod namespace;
pub mod native;
pub mod neighbour;
pub mod operation;
pub mod outline;
mod overlap;
pub mod own;
pub mod owner;
pub mod packet;
pub mod pattern;
pub mod plugin;
mod quantity;
pub mod reading;
pub mod route;
pub mod rule;
#[cfg(test)]
mod schema;
pub mod section;
pub mod size;
pub mod store;
pub mod suggest;
pub mod sysctl;
pub mod traffic;
pub mod width;
pub mod words;

pub use document::{Capabilities, Document, Limits};
pub use namespace::Namespace;
pub use operation::{Capability, Closest, Decision, Invocation, Operation, Rule, Verb, decide};
pub use overlap::Overlap;
pub use section::Section;
