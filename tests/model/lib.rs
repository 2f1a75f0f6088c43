//! A model of the kernel: the second implementation of [`Kernel`](weir_kernel::Kernel), for tests that need no root.
//!
//! A [`Node`] is a machine with a host and, mostly, one container, as plain data. [`Node::kernel`] gives the kernel that
//! one invocation uses; [`Node::state`] shows the outcome, to compare. Inverses are the real ones
//! ([`weir_kernel::inverses`]), and errors have the real kernel's numbers.
//!
//! # What it does not have
//!
//! A second gateway to an IPv6 destination with the same priority is answered with `Unsupported`.
//!
//! Otherwise than in the kernel:
//!
//! - No packet is sent. Connections are never tracked: a deletion is recorded in [`State::forgotten`].
//! - An index is not used again, and is no other link's in the other namespace either.
//! - Duplicate address detection is over at once, and links have no addresses in `fe80::/10` of their own.
//! - A wait whose condition does not hold times out at once.
//! - Routes are looked up without policy rules.
//! - An update of a link that is refused changes nothing, where the kernel may have changed a part.
//! - Nothing is shaped. A link that is down lists no queueing discipline of the kernel's own, and classes are listed by
//!   their handles. Filters of `ingress` belong to its handle, whichever number below it was named.
//! - Of the reference plugins there are rules in nftables alone, and none in the kernel's older tables.
//! - Rules are not compiled, the types of elements are not checked, and ranges of a set may overlap.
//! - Parameters are those of `weir_sdk::testing::parameters`, and any value is taken that is a number where the default is one.
//! - A store is never full, and its directory needs no mode and no owner.

mod address;
mod conntrack;
mod device;
mod error;
mod facts;
mod firewall;
mod firewalld;
mod kernel;
mod link;
mod neighbour;
mod node;
mod policy_rule;
mod route;
mod state;
mod store;
mod sysctl;
mod traffic;

pub use kernel::Model;
pub use node::Node;
pub use state::{Device, NetworkState, State, Table};
pub use traffic::{InstalledFilter, Priority, Traffic};
