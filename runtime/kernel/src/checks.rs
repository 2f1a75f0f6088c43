//! What is malformed in an operation, whichever kernel carries it out: checks that touch nothing.

pub use crate::address::check as address;
pub use crate::conntrack::check as filter;
pub use crate::device::{check_auxiliary_name, check_kernel_path, check_pci_address};
pub use crate::link::name::check as link_name;
pub use crate::link::vlan::{check as vlan, no_port};
pub use crate::policy_rule::check as policy_rule;
pub use crate::route::check as route;
pub use crate::store::key::{check as key, check_entry as entry};
pub use crate::traffic::class::check as class;
pub use crate::traffic::filter::check as traffic_filter;
pub use crate::traffic::qdisc::check as qdisc;
