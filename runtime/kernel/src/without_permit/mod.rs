//! Everything that weir does on its own behalf, without asking the gate.
//!
//! No plugin sees the results of these functions:
//!
//! | for | functions |
//! |---|---|
//! | an invocation | [`open_container`], [`SharedLock`] |
//! | the facts that the gate decides by | [`find_link`], [`find_element`], [`is_port_taken`], [`overlapping_routes`], [`default_route_links`], [`present_qdisc`] |
//! | names of weir's own choice | [`is_name_taken`] |
//! | what a killed ADD left | [`marked_links`] |
//! | `weir uninstall` | [`own_tables`], [`own_elements`], [`administrators`], [`count_reference`], [`marked_links`] |
//! | `weir plugin test`, on a node that it throws away | [`Inventory`], [`set_loopback_up`] |
//!
//! An invocation reads the facts through [`Facts`](crate::Facts).
//!
//! Every other function of this crate takes a permit; `tests/house` checks that.

mod inventory;
pub(crate) mod lock;
mod loopback;
mod ports;
mod routes;

pub use inventory::Inventory;
pub use lock::SharedLock;
pub use loopback::set_loopback_up;
pub use ports::is_port_taken;
pub use routes::{default_route_links, overlapping_routes};

pub use crate::firewall::find::find_element;
pub use crate::firewall::plugin_tables::{
    OwnElement, OwnTable, administrators, own_elements, own_tables,
};
pub use crate::firewall::reference::count_reference;
pub use crate::link::find::{find_link, is_name_taken, marked_links};
pub use crate::namespace::open_container;
pub use crate::traffic::qdisc::present_qdisc;
