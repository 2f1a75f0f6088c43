//! What the build puts into the binary: the standard plugins, the compiler of others, and the demo's hostile
//! plugin.

use weir_sandbox::{Inside, put_inside};

include!(concat!(env!("OUT_DIR"), "/inside.rs"));

/// Gives the runtime what is inside its binary.
pub fn put() {
    // SAFETY: the code was made by `weir-compiler`, built from the same sources (`tests/collect-plugins`).
    unsafe { put_inside(INSIDE) };
}
