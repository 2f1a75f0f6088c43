//! The command line. A CNI call uses none of it.

// They panic if nothing can be written. Commands print with `output`.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod audit;
mod command_pages;
mod commands;
mod compile_cache;
mod component;
mod config;
mod creation_time;
mod demo;
mod grants;
mod install;
mod net;
mod node_networks;
mod number;
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
mod table;
mod version;
mod watch;

pub use commands::run;
