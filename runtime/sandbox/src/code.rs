//! Ahead-of-time code: loaded, never compiled here.

use wasmtime::Engine;
use wasmtime::component::Component;
use weir_cni::Error;

use super::catalogue::{Plugin, Source};
use super::codes;

/// A plugin's code, ready to be instantiated.
///
/// Errors: `codes::NO_PLUGIN` if the code is damaged or for another version of the engine.
pub(crate) fn load(engine: &Engine, plugin: &Plugin) -> Result<Component, Error> {
    match &plugin.source {
        // SAFETY: the build compiled these bytes with this engine, and they are part of the binary.
        Source::BuiltIn(built_in) => unsafe { weir_engine::load_embedded(built_in.code) }
            .map_err(|e| unusable(plugin, &format!("{e:#}"))),
        Source::Installed(installed) => {
            let code = installed.code()?;
            // SAFETY: the bytes have the digest of what weir itself compiled and wrote. They and their
            // manifest were read from files that only weir's user or root can write, in a directory
            // that is theirs, too: `Installed::open` looked at what it opened.
            unsafe { Component::deserialize(engine, &code) }.map_err(|e| {
                let by = &installed.manifest().compiled_by;
                unusable(plugin, &format!("compiled by weir {by}: {e:#}"))
            })
        }
    }
}

fn unusable(plugin: &Plugin, why: &str) -> Error {
    let name = &plugin.name;
    Error::new(
        codes::NO_PLUGIN,
        format!("plugin `{name}` cannot be loaded by this weir: {why}"),
    )
    .with_details("install it again with `weir plugin add --replace FILE`")
}
