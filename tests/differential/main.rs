//! The same calls of a container runtime through the reference plugins and through weir, and
//! everything that can be seen afterwards compared: results, links, addresses, routes, rules,
//! neighbours, parameters under `net.*`, and leases byte for byte.
//!
//! Each test has two nodes, one per side, which take every step together. What may differ is in
//! [`normalise`], and nowhere else.

mod bandwidth;
mod bridge;
mod bridge_mac;
mod case;
mod compare;
mod damage;
mod devconf;
mod dummy;
mod firewall;
mod firewalld;
mod floor;
mod flushed;
mod handover;
mod host_device;
mod host_local;
mod loopback;
mod normalise;
mod over;
mod parameters;
mod portmap;
mod probe;
mod ptp;
mod recorded;
mod renamed;
mod sbr;
mod side;
mod snapshot;
mod stale;
mod r#static;
mod subnets;
mod switch;
mod tap;
mod traffic;
mod tuning;
mod versions;
mod vrf;
mod weir_alone;
