//! What the build puts into the binary: the standard plugins, the compiler, and the demo's hostile plugin.

use weir_sandbox::{Inside, put_inside};

include!(concat!(env!("OUT_DIR"), "/inside.rs"));

/// Registers the contents of the binary with the runtime.
pub fn put() {
    // SAFETY: the code was made by `weir-compiler`, built from the same sources (`tests/collect-plugins`).
    unsafe { put_inside(INSIDE) };
}
