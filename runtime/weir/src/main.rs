//! The weir binary: a CNI plugin when a container runtime calls it, a command line otherwise.
//!
//! [`protocol`] is what a runtime calls, [`cli`] the command line, and [`inside`] has the standard plugins.

mod cli;
mod inside;
mod protocol;

use std::path::Path;
use std::process::ExitCode;

#[global_allocator]
static HEAP: weir_heap::Heap = weir_heap::Heap::new();

/// The name under which weir is the delegating plugin.
const OWN_NAME: &str = "weir";

/// Runs weir as a CNI plugin if `CNI_COMMAND` is set. The name by which it was called says which plugin.
fn main() -> ExitCode {
    inside::put();
    match std::env::var_os("CNI_COMMAND") {
        Some(_) => protocol::serve(&called_as()),
        None => cli::run(),
    }
}

/// The last part of the name that the binary was called by.
fn called_as() -> String {
    let called = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&called).file_name().unwrap_or(OWN_NAME.as_ref());
    name.to_string_lossy().into_owned()
}
