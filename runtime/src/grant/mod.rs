//! What a plugin may do: the policy document, the operations it speaks of, and their matching.
//!
//! Floor 1 of the house. Everything here is pure: no file, no socket, no clock. One file per
//! capability holds that capability's operations, its rule in a grant and how the two are matched.

pub mod address;
pub mod conntrack;
pub mod document;
pub mod firewall;
pub mod firewalld;
pub mod ipam;
pub mod link;
pub mod neighbour;
pub mod operation;
pub mod pattern;
pub mod route;
pub mod store;
pub mod sysctl;
pub mod traffic;

pub use document::{Capabilities, Document, Limits};
pub use operation::{Capability, Decision, Invocation, Namespace, Operation, Rule, Verb, decide};
