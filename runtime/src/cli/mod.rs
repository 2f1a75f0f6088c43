//! The three ways in: the delegating plugin, a standard plugin by its name, and the command line.
//!
//! Floor 8 of the house.

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
mod output;
mod outside;
mod plugin;
mod protocol;
mod record;
mod report;
mod standard_output;
#[cfg(test)]
mod static_inside;
mod throwaway;

use std::path::Path;
use std::process::ExitCode;

/// The name under which weir is the delegating plugin.
const OWN_NAME: &str = "weir";

/// Runs weir as it was called: `CNI_COMMAND` makes it a CNI plugin, and then the name it was
/// called by says which.
pub fn main() -> ExitCode {
    if std::env::var_os("CNI_COMMAND").is_some() {
        return protocol::serve(&called_as());
    }
    commands::run()
}

/// The last part of the name that the binary was called by.
fn called_as() -> String {
    let called = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&called).file_name().unwrap_or(OWN_NAME.as_ref());
    name.to_string_lossy().into_owned()
}
