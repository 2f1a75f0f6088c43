//! The weir binary: a CNI plugin when a runtime calls it, a command line otherwise.

#[cfg(target_arch = "x86_64")]
mod copy;
mod heap;
mod inside;

use std::process::ExitCode;

#[global_allocator]
static HEAP: heap::Heap = heap::Heap::new();

fn main() -> ExitCode {
    inside::put();
    weir::cli::main()
}
