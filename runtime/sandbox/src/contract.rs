//! Which version of the contract a component is for.
//!
//! `wit/README.md` says what may change between versions, and which components a weir runs.

use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::{self, ComponentItem};

/// How the names of the contract's interfaces begin.
pub(crate) const PACKAGE: &str = "weir:cni/";

/// The version that this weir runs: components for any patch of it.
const VERSION: (u64, u64) = (0, 2);

/// Why an interface of another version is refused.
pub(crate) const OTHER_VERSION: &str =
    "this weir runs another version of the contract, 0.2: build it with this weir's SDK";

/// What a plugin exports.
const COMMANDS: &str = "weir:cni/commands@";

/// Whether this weir runs components for a version of the contract, such as `0.2.7`.
pub(crate) fn is_run(version: &str) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse::<u64>().ok());
    let (major, minor) = (numbers.next().flatten(), numbers.next().flatten());
    (major, minor) == (Some(VERSION.0), Some(VERSION.1))
}

/// Why a component that does not connect is not for this weir; none where its exports are as they should be.
pub(crate) fn mismatch(engine: &Engine, component: &Component) -> Option<String> {
    let component = component.component_type();
    let mut commands = component
        .exports(engine)
        .filter_map(|(name, _)| name.strip_prefix(COMMANDS));
    match commands.next() {
        Some(version) if is_run(version) => None,
        Some(version) => Some(other_version(version)),
        None if has_bare_commands(engine, &component) => Some(other_version("0.1")),
        None => Some(format!(
            "exports no interface `{COMMANDS}{}.{}.0`: it is not a plugin for weir",
            VERSION.0, VERSION.1
        )),
    }
}

/// As the contract had them in version 0.1: functions, in no interface.
fn has_bare_commands(engine: &Engine, component: &types::Component) -> bool {
    let add = component.get_export(engine, "add");
    add.is_some_and(|add| matches!(add.ty, ComponentItem::ComponentFunc(_)))
}

fn other_version(version: &str) -> String {
    format!(
        "is for version {version} of the contract `weir:cni`, and this weir runs {}.{}: build it with this weir's SDK",
        VERSION.0, VERSION.1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_of_the_version_are_run() {
        for version in ["0.2.0", "0.2.7", "0.2.12"] {
            assert!(is_run(version), "{version}");
        }
        for version in ["0.1.0", "0.3.0", "0.20.0", "1.2.0", "0.2x.0", "", "2"] {
            assert!(!is_run(version), "{version}");
        }
    }
}
