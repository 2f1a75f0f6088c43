//! The program: a CNI plugin when a container runtime calls it, a command line otherwise.
//!
//! Floor 8. [`run`] is all that the binary (`weir-program`) calls, after it has registered the standard plugins and the compiler
//! inside it. What a container waits for is `protocol`, and everything else is `cli`: nothing of the command line is in the way of
//! an ADD. It makes no system call that changes the network: that is the kernel floor's, by way of an invocation.
//!
//! ```no_run
//! static BUILD: weir::Build = weir::Build::unknown();
//!
//! fn main() -> std::process::ExitCode {
//!     weir::run(&BUILD)
//! }
//! ```
#![expect(
    unreachable_pub,
    reason = "what is public in a module is for the other modules of the program"
)]

mod build;
mod cli;
mod protocol;

use std::path::Path;
use std::process::ExitCode;

pub use build::Build;

/// The name under which weir is the delegating plugin.
const OWN_NAME: &str = "weir";

/// Runs weir as a CNI plugin if `CNI_COMMAND` is set. The name by which it was called says which plugin.
pub fn run(build: &'static Build) -> ExitCode {
    build::put(build);
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
