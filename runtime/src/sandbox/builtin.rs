//! The plugins inside the binary: ahead-of-time code, digest and grant, put there by the build.

use weir_engine::Embedded;

/// A plugin of the binary's own.
pub struct BuiltIn {
    pub name: &'static str,
    /// `sha256:…` of the component.
    pub digest: &'static str,
    /// The component itself, for `weir plugin inspect`.
    pub component: &'static [u8],
    /// Ahead-of-time code for this target.
    pub code: &'static Embedded<[u8]>,
    /// The shipped grant, as JSON.
    pub grant: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/builtin.rs"));

/// The built-in plugin of that name.
pub fn find(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|plugin| plugin.name == name)
}

/// All of them, by name.
pub fn all() -> &'static [BuiltIn] {
    BUILT_IN
}
