//! The kernel, the file system and firewalld: what host functions really do.
//!
//! Floor 3 of the house. Every function that a plugin can reach takes a [`Permit`] and reads its
//! arguments from the operation inside. Four things need none, because the host does them on its
//! own behalf and shows no plugin what it sees: opening a namespace; [`link::find`], which tells what
//! a link is before the gate is asked about it; [`traffic::standing`], which tells the same of the
//! discipline that is to be removed; and [`lock`].
//!
//! [`Permit`]: crate::gate::Permit

pub mod address;
pub mod announce;
pub mod conntrack;
pub mod error;
pub mod file;
pub mod firewall;
pub mod firewalld;
pub mod link;
mod link_answer;
pub mod lock;
pub mod namespace;
pub mod neighbour;
mod netfilter;
pub mod netlink;
pub mod notification;
pub mod route;
pub mod store;
pub mod sysctl;
pub mod traffic;
mod traffic_answer;
mod visit;

#[cfg(test)]
mod tests;

pub use error::{Code, Error};
pub use namespace::{Namespaces, open_container};
