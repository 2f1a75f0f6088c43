//! The weir binary: a CNI plugin when a runtime calls it, a command line otherwise.

#[cfg(target_arch = "x86_64")]
mod copy;
mod inside;

use std::process::ExitCode;

use dlmalloc::GlobalDlmalloc;

/// musl's own allocator gives memory back to the kernel and takes it again hundreds of times in an invocation of a few
/// milliseconds; this one keeps it.
#[global_allocator]
static HEAP: GlobalDlmalloc = GlobalDlmalloc;

fn main() -> ExitCode {
    inside::put();
    weir::cli::main()
}
