//! Native plugins: what runs outside the sandbox, and only where it is listed.

mod answers;
mod bounds;
mod calls;
mod dhcp;
mod ipam;
mod ipam_failures;
mod listing;
mod reference;
mod reservations;
mod world;
