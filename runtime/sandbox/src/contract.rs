//! Which version of the contract a component is built for, and which versions this weir supports.
//!
//! `wit/README.md` says what may change between versions.

use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;
use weir_cni::Error;
use weir_grant::ContractInterface;

use super::codes;

const CONTRACT: &str = "weir:cni@0.2.0";
/// The supported version; any patch of it is supported.
const RUNS: (u64, u64) = (0, 2);
/// The interface that a plugin exports.
const COMMANDS: &str = "commands";
/// The functions that a plugin exported in version 0.1, which had no such interface.
const BARE: [&str; 6] = ["add", "check", "del", "gc", "status", "version"];
/// The version of a component that exports these.
const VERSION_OF_BARE: &str = "0.1.0";

/// Whether this weir supports a version of the contract, such as `0.2.7`.
pub(crate) fn is_current(version: &str) -> bool {
    numbers(version) == Some(RUNS)
}

/// The imports and exports of a component that belong to the contract, in any version.
#[derive(Debug, Default)]
struct Used {
    /// The imported interfaces, with their versions.
    imports: Vec<String>,
    /// `weir:cni/commands@0.2.0`.
    commands: Option<String>,
    /// The commands that are exported as bare functions.
    bare: Vec<&'static str>,
}

impl Used {
    fn by(engine: &Engine, component: &Component) -> Self {
        let ty = component.component_type();
        let imports = ty.imports(engine).map(|(name, _)| name.to_owned());
        let mut used = Self {
            imports: imports
                .filter(|name| ContractInterface::parse(name).is_some())
                .collect(),
            ..Self::default()
        };
        for (name, export) in ty.exports(engine) {
            match export.ty {
                ComponentItem::ComponentInstance(_) if is_commands(name) => {
                    used.commands = Some(name.to_owned());
                }
                ComponentItem::ComponentFunc(_) => {
                    used.bare.extend(BARE.iter().find(|bare| **bare == name));
                }
                _ => {}
            }
        }
        used.imports.sort_unstable();
        used.bare.sort_unstable();
        used
    }

    /// The version that it is built for; none if it does not use the contract.
    fn version(&self) -> Option<&str> {
        let mut names = self.commands.iter().chain(&self.imports);
        names
            .find_map(|name| version_of(name))
            .or_else(|| (!self.bare.is_empty()).then_some(VERSION_OF_BARE))
    }

    /// The imports and exports of another version, for an error.
    fn in_another_version(&self) -> String {
        let quoted = |names: &[&str]| format!("`{}`", names.join("`, `"));
        let imports = self.imports.iter().map(String::as_str);
        let imports: Vec<&str> = imports
            .filter(|name| version_of(name).is_some_and(|version| !is_current(version)))
            .collect();
        let mut parts = Vec::new();
        if !imports.is_empty() {
            parts.push(format!("imports {}", quoted(&imports)));
        }
        if let Some(commands) = &self.commands {
            parts.push(format!("exports `{commands}`"));
        } else if !self.bare.is_empty() {
            parts.push(format!("exports the functions {}", quoted(&self.bare)));
        }
        parts.join(" and ")
    }
}

/// Returns the version of the contract that a component is built for; none if it does not use the contract.
pub(crate) fn version(engine: &Engine, component: &Component) -> Option<String> {
    Used::by(engine, component).version().map(str::to_owned)
}

/// Refuses a component that is built for an unsupported version of the contract. One that does not use the contract is not
/// refused here.
///
/// Errors: `codes::OTHER_CONTRACT`, about `subject`, which names the plugin or the component.
pub(crate) fn check(subject: &str, engine: &Engine, component: &Component) -> Result<(), Error> {
    let used = Used::by(engine, component);
    match used.version() {
        Some(version) if !is_current(version) => {
            Err(other(subject, version, &used.in_another_version()))
        }
        _ => Ok(()),
    }
}

/// Explains why a component that [`check`] accepts cannot be linked.
pub(crate) fn unconnected(engine: &Engine, component: &Component, why: &wasmtime::Error) -> String {
    if Used::by(engine, component).commands.is_none() {
        let (_, version) = CONTRACT.split_once('@').unwrap_or_default();
        return format!(
            "exports no interface `weir:cni/{COMMANDS}@{version}`: it is not a plugin for weir"
        );
    }
    format!("does not fit the contract of this weir, `{CONTRACT}`: {why:#}")
}

fn other(subject: &str, version: &str, found: &str) -> Error {
    let (major, minor) = RUNS;
    let what = format!(
        "{subject} is built for version {version} of the contract `weir:cni`, and this weir runs version {major}.{minor}"
    );
    let remedy = if numbers(version) > Some(RUNS) {
        format!("update weir, or build the plugin for version {major}.{minor}")
    } else {
        "build it again with the SDK of this weir and install it with `weir plugin add --replace FILE`"
            .to_owned()
    };
    Error::new(codes::OTHER_CONTRACT, what).with_details(format!("it {found}; {remedy}"))
}

/// Whether an export is the interface that a plugin exports, in any version.
fn is_commands(export: &str) -> bool {
    ContractInterface::parse(export).is_some_and(|interface| interface.name == COMMANDS)
}

fn version_of(name: &str) -> Option<&str> {
    name.split_once('@').map(|(_, version)| version)
}

/// Major and minor.
fn numbers(version: &str) -> Option<(u64, u64)> {
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_of_the_version_are_run_and_no_other() {
        for version in ["0.2.0", "0.2.7", "0.2.12"] {
            assert!(is_current(version), "{version}");
        }
        for version in [
            "0.1.0", "0.3.0", "0.20.0", "1.2.0", "0.2x.0", "x.2.0", "2", "",
        ] {
            assert!(!is_current(version), "{version}");
        }
    }

    #[test]
    fn the_contract_is_that_of_wit() {
        let world = include_str!("../../../wit/world.wit");
        assert!(
            world.contains(&format!("package {CONTRACT};")),
            "{CONTRACT}"
        );
        assert!(is_current(version_of(CONTRACT).expect("a version")));
    }

    #[test]
    fn an_older_version_is_built_again_and_a_newer_one_waits_for_weir() {
        let used = Used {
            imports: vec!["weir:cni/log@0.1.0".to_owned()],
            commands: None,
            bare: vec!["add", "del"],
        };
        let error = other("plugin `p`", "0.1.0", &used.in_another_version());
        assert_eq!(
            error.msg,
            "plugin `p` is built for version 0.1.0 of the contract `weir:cni`, and this weir runs version 0.2"
        );
        assert_eq!(
            error.details,
            "it imports `weir:cni/log@0.1.0` and exports the functions `add`, `del`; build it again with the SDK of \
             this weir and install it with `weir plugin add --replace FILE`"
        );
        let error = other("plugin `p`", "0.3.0", "exports `weir:cni/commands@0.3.0`");
        assert!(error.details.contains("update weir"), "{error}");
    }

    #[test]
    fn bare_functions_are_of_the_first_version() {
        let bare = Used {
            bare: vec!["add"],
            ..Used::default()
        };
        assert_eq!(bare.version(), Some("0.1.0"));
        assert_eq!(Used::default().version(), None);
    }
}
