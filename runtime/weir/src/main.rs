//! The weir binary: a CNI plugin when a container runtime calls it, a command line otherwise.
//!
//! [`protocol`] is what a runtime calls. All that people use, the demo, the installation, and what reads grants, plugins and
//! the audit log, is in [`cli`]; the standard plugins are [`inside`].

mod cli;
#[cfg(target_arch = "x86_64")]
mod copy;
mod inside;
mod protocol;

use std::path::Path;
use std::process::ExitCode;

use dlmalloc::GlobalDlmalloc;

/// musl's own allocator gives memory back to the kernel and takes it again hundreds of times in an invocation of a few
/// milliseconds; this one keeps it.
#[global_allocator]
static HEAP: GlobalDlmalloc = GlobalDlmalloc;

/// The name under which weir is the delegating plugin.
const OWN_NAME: &str = "weir";

/// Runs weir as it was called: `CNI_COMMAND` makes it a CNI plugin, and then the name it was
/// called by says which.
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
