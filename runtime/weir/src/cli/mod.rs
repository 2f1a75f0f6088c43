//! The command line: what people type. Nothing here is in the way of a CNI call.

// They panic where nothing can be written: `output` has what commands print with.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod audit;
mod commands;
mod component;
mod config;
mod demo;
mod grants;
mod install;
mod net;
pub mod output;
mod outside;
mod plugin;
mod policy;
mod record;
mod report;
mod scratch_node;
mod standard_output;
#[cfg(test)]
mod static_inside;

pub use commands::run;
