//! The weir binary: a CNI plugin when a runtime calls it, a command line otherwise.

use std::process::ExitCode;

/// musl's allocator gives memory back to the kernel and takes it again hundreds of times in an
/// invocation of a few milliseconds; this one keeps it.
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    weir::cli::main()
}
