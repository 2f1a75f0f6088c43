//! What is built into the binary: the standard plugins with their ahead-of-time code, digests and grants, the compiler, and
//! the demo's hostile plugin.
//!
//! The binary (`runtime/program`) registers it at its start, so that a changed plugin only relinks the program. A build without
//! `make` has nothing built in.

use std::sync::OnceLock;

use weir_engine::Embedded;
use weir_grant::Document;

/// Everything that can be built into a binary.
#[derive(Clone, Copy, Default)]
pub struct Inside {
    /// Sorted by name.
    pub plugins: &'static [BuiltIn],
    /// The program `weir-compiler`.
    pub compiler: Option<&'static [u8]>,
    /// The component of `examples/hostile`.
    pub hostile: Option<&'static [u8]>,
}

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
    pub fn grant(&self) -> Document {
        let mut grant = self.grant_without_tenants();
        grant.spec.tenants = serde_json::from_str(self.tenants).expect(CHECKED);
        grant
    }

    /// The shipped grant for the node's own networks only. Parsing the rest takes as long again.
    pub(crate) fn grant_without_tenants(&self) -> Document {
        serde_json::from_str(self.grant).expect(CHECKED)
    }
}

/// Tests check that every shipped grant is valid.
const CHECKED: &str = "a shipped grant is valid";

static INSIDE: OnceLock<Inside> = OnceLock::new();

/// Registers what this process's binary has built in. Call it once, before anything else; later calls have no effect.
///
/// # Safety
///
/// Each plugin's `code` must be the output of `weir-compiler`, built with the same engine, for its component.
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

pub(crate) fn find(name: &str) -> Option<&'static BuiltIn> {
    all().iter().find(|plugin| plugin.name == name)
}

/// Returns the grant that comes with a plugin; none if the plugin is not built in.
pub fn shipped_grant(plugin: &str) -> Option<Document> {
    find(plugin).map(BuiltIn::grant)
}

/// All built-in plugins, by name.
pub fn all() -> &'static [BuiltIn] {
    inside().plugins
}

/// The program `weir-compiler`.
pub(crate) fn compiler() -> Result<&'static [u8], Missing> {
    inside().compiler.ok_or(Missing("the compiler of plugins"))
}

pub fn hostile() -> Result<&'static [u8], Missing> {
    inside().hostile.ok_or(Missing("the demo's hostile plugin"))
}

/// What this binary was built without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this weir was built without {0}: `cargo build` alone puts nothing inside, `make build` does"
)]
pub struct Missing(&'static str);

/// Why there are no standard plugins, if there are none.
pub fn missing_plugins() -> Option<Missing> {
    all().is_empty().then_some(Missing("the standard plugins"))
}
