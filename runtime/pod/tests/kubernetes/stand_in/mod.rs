//! What only a stand-in does at a test's wish.

mod cluster;
mod credentials;
mod events;
mod faults;
mod requests;
mod roles;
