//! The binary `weir`: what the program is, and what the build puts inside it.
//!
//! It is a crate of its own so that a changed plugin, or the compiler, builds and links these lines alone.

use std::process::ExitCode;

use weir::Build;
use weir_sandbox::{Inside, put_inside};

include!(concat!(env!("OUT_DIR"), "/inside.rs"));

#[global_allocator]
static HEAP: weir_heap::Heap = weir_heap::Heap::new();

fn main() -> ExitCode {
    // SAFETY: the code was made by `weir-compiler`, built from the same sources (`tests/collect-plugins`).
    unsafe { put_inside(INSIDE) };
    weir::run(&BUILD)
}
