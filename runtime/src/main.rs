//! The weir binary: a CNI plugin when a runtime calls it, a command line otherwise.

use std::process::ExitCode;

fn main() -> ExitCode {
    weir::cli::main()
}
