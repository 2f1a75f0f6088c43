//! The host functions: a call of the contract becomes an operation, passes the gate, and reaches
//! the kernel.
//!
//! Floor 4 of the house. One file per capability, and in it one short function per function of the
//! contract: build the operation, ask the gate, call the kernel, answer.

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
mod route;
mod store;
mod sysctl;
mod traffic;
mod unsupported;

pub use ipam::{DENIED, RunIpam};
pub use log::{Log, printable};
pub use state::{Host, MOST_KEPT, Setup};
