//! How the binary was built.

use std::sync::OnceLock;

use serde::Serialize;
use serde_with::skip_serializing_none;

static BUILD: OnceLock<&'static Build> = OnceLock::new();

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

impl Build {
    /// A build whose inputs were not recorded.
    pub const fn unknown() -> Self {
        Self {
            commit: None,
            target: "",
            rustc: "",
            wasmtime: "",
            optimised: false,
            profile: None,
            layout: None,
            compiler: None,
        }
    }
}

/// Registers how the binary was built, once.
pub(crate) fn put(build: &'static Build) {
    let _ = BUILD.set(build);
}

/// Returns how the binary was built.
pub(crate) fn build() -> &'static Build {
    static UNKNOWN: Build = Build::unknown();
    BUILD.get().copied().unwrap_or(&UNKNOWN)
}
