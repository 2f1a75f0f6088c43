//! The model against the kernel: the same operations on both, each in two fresh namespaces, must be answered alike, leave
//! the same behind, and leave the same once they are undone. They run as root, or in a user namespace (`unshare -Urn`).
//!
//! The SDK's fake host against the model: the same operations are answered alike and leave the same behind.

mod address;
mod device;
mod fake;
mod firewall;
mod link;
mod neighbour;
mod policy_rule;
mod random;
mod route;
mod side;
mod store;
mod sysctl;
mod traffic;
