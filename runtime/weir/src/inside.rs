//! What the build puts into the binary: the standard plugins, the compiler, the demo's hostile plugin, and how it was built.

use serde::Serialize;
use serde_with::skip_serializing_none;
use weir_sandbox::{BuiltIn, Inside, put_inside};

include!(concat!(env!("OUT_DIR"), "/inside.rs"));

/// Registers the contents of the binary with the runtime.
pub fn put() {
    // SAFETY: the code was made by `weir-compiler`, built from the same sources (`tests/collect-plugins`).
    unsafe { put_inside(INSIDE) };
}

/// How the binary was built. With the same inputs the same binary is built.
#[skip_serializing_none]
#[derive(Serialize)]
pub struct Build {
    /// The commit of the sources. Only a release is built with it: an archive of the sources has none.
    pub commit: Option<&'static str>,
    pub target: &'static str,
    pub rustc: &'static str,
    pub wasmtime: &'static str,
    pub optimised: bool,
    /// The digest of the profile by which it was optimised.
    pub profile: Option<&'static str>,
    /// The digest of the linker script by which it was laid out.
    pub layout: Option<&'static str>,
    /// The digest of the compiler of plugins.
    pub compiler: Option<&'static str>,
}

/// Returns how the binary was built.
pub fn build() -> &'static Build {
    &BUILD
}

/// Returns the standard plugins in the binary, sorted by name.
pub fn plugins() -> &'static [BuiltIn] {
    INSIDE.plugins
}
