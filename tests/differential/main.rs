//! The same calls of a container runtime through the reference plugins and through weir, and
//! everything that can be seen afterwards compared: results, links, addresses, routes, rules,
//! neighbours, parameters under `net.*`, and leases byte for byte.
//!
//! Each test has two nodes, one per side, which take every step together. What may differ is in
//! [`normalise`], and nowhere else.

mod bridge;
mod case;
mod compare;
mod damage;
mod host_local;
mod normalise;
mod side;
mod snapshot;
mod switch;
mod traffic;
mod versions;
mod weir_alone;
