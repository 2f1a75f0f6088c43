//! The networks of a pod: which are selected, how each is attached, what is remembered, and what the
//! cluster is told.
//!
//! Floor 7 of the house: weir as the *delegating plugin* of the Kubernetes Network Custom Resource
//! Definition De-facto Standard ("the standard" below; its sections are cited by number).

mod attach;
mod check;
pub mod cluster;
pub mod codes;
mod collect;
pub mod configuration;
pub mod default_route;
pub mod definition;
mod delegating;
mod detach;
pub mod devices;
mod execution;
pub mod hand_out;
mod journal;
pub mod kubernetes;
pub mod multus;
mod plan;
pub mod readiness;
mod record;
pub mod reference;
pub mod report;
pub mod selection;
pub mod status;
mod status_command;
pub mod verify;

pub use delegating::run;
