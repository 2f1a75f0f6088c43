//! The kernel, the file system and firewalld: what host functions really do.
//!
//! Floor 3 of the house. Every function that a plugin can reach takes a [`Permit`] and reads its
//! arguments from the operation inside. What weir does on its own behalf, and shows no plugin, needs
//! none: opening a namespace; [`link::find`], which tells what a link is before the gate is asked about
//! it, and [`link::is_taken`], by which weir finds names for new ones; [`traffic::standing`], which tells
//! the same of the discipline that is to be removed; [`lock`]; and the renames in one step,
//! which are for installed plugins, too; and the sockets of [`netlink`] and [`netfilter`], with which `weir
//! plugin test` looks at what a plugin has left. An invocation's own are out of reach from the floors above.
//! A native plugin is no plugin of the sandbox, and running one ([`program`]) takes a permit all the same.
//!
//! [`Permit`]: weir_gate::Permit

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
pub mod memory;
pub mod namespace;
pub mod neighbour;
pub mod netfilter;
pub mod netlink;
pub mod notification;
pub mod program;
pub mod route;
pub mod socket;
pub mod store;
pub mod sysctl;
pub mod traffic;
mod traffic_answer;
mod visit;

#[cfg(test)]
mod tests;

pub use error::{Code, Error};
pub use namespace::{Namespaces, open_container};
