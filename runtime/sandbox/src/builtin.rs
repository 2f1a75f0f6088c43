//! What the binary has inside: the standard plugins with their ahead-of-time code, digests and grants, the
//! compiler of other plugins, and the demo's hostile plugin.
//!
//! The program puts it in when it starts (`runtime/weir`), so that another plugin has the program linked
//! anew and not this crate compiled. A build without `make` has nothing inside.

use std::sync::OnceLock;

use weir_engine::Embedded;
use weir_grant::Document;

/// All that a binary can have inside.
#[derive(Clone, Copy, Default)]
pub struct Inside {
    /// Sorted by name.
    pub plugins: &'static [BuiltIn],
    /// The program `weir-compiler`.
    pub compiler: Option<&'static [u8]>,
    /// The component of `examples/hostile`.
    pub hostile: Option<&'static [u8]>,
}

/// A plugin of the binary's own.
pub struct BuiltIn {
    pub name: &'static str,
    /// `sha256:…` of the component.
    pub digest: &'static str,
    /// The component itself, for `weir plugin inspect`.
    pub component: &'static [u8],
    /// Ahead-of-time code for this target.
    pub code: &'static Embedded<[u8]>,
    /// The shipped grant without what tenants may do, as JSON.
    pub grant: &'static str,
    /// What tenants may do under the shipped grant, `spec.tenants`, as JSON.
    pub tenants: &'static str,
}

impl BuiltIn {
    /// The shipped grant.
    pub fn grant(&self) -> Document {
        let mut grant = self.grant_without_tenants();
        grant.spec.tenants = serde_json::from_str(self.tenants).expect(CHECKED);
        grant
    }

    /// The shipped grant as far as it concerns the node's own networks: to parse the rest takes as long again.
    pub(crate) fn grant_without_tenants(&self) -> Document {
        serde_json::from_str(self.grant).expect(CHECKED)
    }
}

/// What the tests hold every shipped grant to.
const CHECKED: &str = "a shipped grant is valid";

static INSIDE: OnceLock<Inside> = OnceLock::new();

/// Tells what this process's binary has inside, once and before anything else: what is told later counts
/// for nothing.
///
/// # Safety
///
/// Each plugin's `code` must be what `weir-compiler`, built with the same engine, made of its component.
pub unsafe fn put_inside(inside: Inside) {
    let _ = INSIDE.set(inside);
}

fn inside() -> &'static Inside {
    static NOTHING: Inside = Inside {
        plugins: &[],
        compiler: None,
        hostile: None,
    };
    INSIDE.get().unwrap_or(&NOTHING)
}

/// The built-in plugin of that name.
pub(crate) fn find(name: &str) -> Option<&'static BuiltIn> {
    all().iter().find(|plugin| plugin.name == name)
}

/// All of them, by name.
pub(crate) fn all() -> &'static [BuiltIn] {
    inside().plugins
}

/// The program `weir-compiler`.
pub(crate) fn compiler() -> Result<&'static [u8], Missing> {
    inside().compiler.ok_or(Missing("the compiler of plugins"))
}

/// The demo's hostile plugin.
pub fn hostile() -> Result<&'static [u8], Missing> {
    inside().hostile.ok_or(Missing("the demo's hostile plugin"))
}

/// What this binary was built without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this weir was built without {0}: `cargo build` alone puts nothing inside, `make build` does"
)]
pub struct Missing(&'static str);

/// Why there may be no standard plugin at all.
pub fn missing_plugins() -> Option<Missing> {
    all().is_empty().then_some(Missing("the standard plugins"))
}
