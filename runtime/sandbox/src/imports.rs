//! What a component imports: its request for capabilities, and what no plugin may import.

use std::collections::BTreeMap;

use serde::Serialize;
use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;
use weir_cni::Error;
use weir_grant::phrase::joined;
use weir_grant::{Capability, ContractInterface};

use super::{codes, contract};

/// The interfaces of WASI that Rust's standard library needs to start, to print a panic and to exit. They give access to
/// nothing: no files, no sockets, no environment, and no waiting.
const WASI: [&str; 15] = [
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
];

/// The interfaces of random numbers.
const WASI_RANDOM: &str = "wasi:random/";

/// What a component imports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imports {
    /// The functions of each requested capability, sorted; `[method]transaction.get` is one of a resource.
    pub functions: BTreeMap<Capability, Vec<String>>,
    pub wasi: Vec<String>,
    /// Forbidden imports.
    pub refused: Vec<Refused>,
}

/// The names of all that a component imports and exports, such as `weir:cni/link@0.2.0`, in its own order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    pub imports: Vec<String>,
    pub exports: Vec<String>,
}

impl Names {
    pub(crate) fn of(engine: &Engine, component: &Component) -> Self {
        let ty = component.component_type();
        Self {
            imports: ty
                .imports(engine)
                .map(|(name, _)| name.to_owned())
                .collect(),
            exports: ty
                .exports(engine)
                .map(|(name, _)| name.to_owned())
                .collect(),
        }
    }
}

/// A forbidden import, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// `wasi:filesystem/types@0.2.6`.
    #[serde(rename = "import")]
    pub name: String,
    pub reason: &'static str,
}

impl Imports {
    /// Reads a component's imports.
    pub(crate) fn of(engine: &Engine, component: &Component) -> Self {
        let mut imports = Self::default();
        for (name, item) in component.component_type().imports(engine) {
            match judge(name) {
                Ok(Some(capability)) => {
                    let functions = imports.functions.entry(capability).or_default();
                    if let ComponentItem::ComponentInstance(interface) = item.ty {
                        let exports = interface.exports(engine);
                        let found = exports
                            .filter(|(_, item)| matches!(item.ty, ComponentItem::ComponentFunc(_)));
                        functions.extend(found.map(|(function, _)| function.to_owned()));
                        functions.sort();
                    }
                }
                Ok(None) if name.starts_with("wasi:") => imports.wasi.push(name.to_owned()),
                Ok(None) => {}
                Err(reason) => imports.refused.push(Refused {
                    name: name.to_owned(),
                    reason,
                }),
            }
        }
        imports
    }

    /// The requested capabilities, in the order of the contract.
    pub fn capabilities(&self) -> impl Iterator<Item = Capability> {
        self.functions.keys().copied()
    }
}

impl Refused {
    /// The names of forbidden imports by the reason that they share, in the order of the imports.
    pub fn by_reason(refused: &[Self]) -> Vec<(Vec<String>, &'static str)> {
        let mut reasons: Vec<(Vec<String>, &'static str)> = Vec::new();
        for Self { name, reason } in refused {
            let name = format!("`{}`", name.escape_debug());
            match reasons.iter_mut().find(|(_, known)| known == reason) {
                Some((names, _)) => names.push(name),
                None => reasons.push((vec![name], reason)),
            }
        }
        reasons
    }
}

/// Refuses a component with a forbidden import. Errors: `codes::REFUSED_IMPORT`, about `subject`, which names the plugin or the
/// component.
pub(crate) fn check(subject: &str, imports: &Imports) -> Result<(), Error> {
    let Some(first) = imports.refused.first() else {
        return Ok(());
    };
    let all: Vec<String> = Refused::by_reason(&imports.refused)
        .into_iter()
        .map(|(names, reason)| format!("{}: {reason}", joined(names, "and")))
        .collect();
    Err(Error::new(
        codes::REFUSED_IMPORT,
        format!(
            "{subject} imports `{}`, which no plugin may import",
            first.name.escape_debug()
        ),
    )
    .with_details(all.join("; ")))
}

/// The capability that an import requests, if any. Errors: why it is refused.
fn judge(import: &str) -> Result<Option<Capability>, &'static str> {
    if let Some(interface) = ContractInterface::parse(import) {
        return judge_own(interface);
    }
    let (interface, _version) = import.split_once('@').unwrap_or((import, ""));
    if WASI.contains(&interface) || interface.starts_with(WASI_RANDOM) {
        return Ok(None);
    }
    if interface.starts_with("wasi:") {
        return Err(wasi_reason(interface));
    }
    Err("a plugin may import only `weir:cni`")
}

/// Why an interface of WASI is refused, and what the contract has in its place.
fn wasi_reason(interface: &str) -> &'static str {
    if interface.starts_with("wasi:filesystem/") {
        "a plugin has no file system: `store.read-file` reads a file that its grant names, and `store.open` keeps state \
         (in Rust `weir_sdk::store::read_file` and `weir_sdk::store::open` in place of `std::fs`)"
    } else if interface.starts_with("wasi:sockets/") {
        "a plugin has no sockets: it changes the network by the functions of the contract (in Rust the modules of \
         `weir_sdk` in place of `std::net`)"
    } else {
        "of WASI, a plugin may import only clocks, random numbers, standard error and exit"
    }
}

/// The capability that an interface of the contract is, if any. Errors: why it is refused.
fn judge_own(interface: ContractInterface<'_>) -> Result<Option<Capability>, &'static str> {
    if !contract::is_current(interface.version) {
        return Err("this weir supports another version of the contract");
    }
    match Capability::from_word(interface.name) {
        Some(capability) => Ok(Some(capability)),
        // The contract's types request nothing.
        None if matches!(interface.name, "types" | "cni") => Ok(None),
        None => Err("the contract has no such interface"),
    }
}
