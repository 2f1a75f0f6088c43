//! Plugins made ready to run: code loaded, imports connected. Each once for a process.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use wasmtime::Engine;
use wasmtime::component::{Component, Linker};
use weir_cni::Error;
use weir_host::State;
use weir_host::bindings::PluginPre;

use super::catalogue::Plugin;
use super::{code, codes, contract, imports, linker};

/// The plugins that this process has made ready.
pub(super) struct ComponentCache {
    engine: Engine,
    contract: OnceLock<Linker<State>>,
    with_wasi: OnceLock<Linker<State>>,
    ready: Mutex<HashMap<String, PluginPre<State>>>,
}

impl ComponentCache {
    /// Errors: code 999 when this machine cannot run the engine.
    pub(super) fn new() -> Result<Self, Error> {
        let engine = weir_engine::runner().map_err(|e| {
            Error::internal(format!("the WebAssembly engine does not start: {e:#}"))
        })?;
        Ok(Self {
            engine,
            contract: OnceLock::new(),
            with_wasi: OnceLock::new(),
            ready: Mutex::new(HashMap::new()),
        })
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// A plugin, ready to be instantiated. Those of the binary's own have no use for WASI, and are
    /// not checked for imports that no plugin may have: a test does that.
    ///
    /// Errors: `codes::NO_PLUGIN`, `codes::OTHER_CONTRACT`, `codes::REFUSED_IMPORT`.
    pub(super) fn prepare(&self, plugin: &Plugin) -> Result<PluginPre<State>, Error> {
        let made = || self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = made().get(&plugin.name) {
            return Ok(ready.clone());
        }
        let component = code::load(&self.engine, plugin)?;
        let linker = if plugin.is_built_in() {
            self.contract()?
        } else {
            let subject = format!("plugin `{}`", plugin.name);
            check(&subject, &self.engine, &component)?;
            self.with_wasi()?
        };
        let ready = connect(&self.engine, linker, &component)
            .map_err(|e| e.with_prefix(format_args!("plugin `{}`", plugin.name)))?;
        made().insert(plugin.name.clone(), ready.clone());
        Ok(ready)
    }

    /// A component that is no plugin yet. Errors: `codes::NO_PLUGIN`.
    pub(super) fn connect(&self, component: &Component) -> Result<PluginPre<State>, Error> {
        connect(&self.engine, self.with_wasi()?, component)
    }

    fn contract(&self) -> Result<&Linker<State>, Error> {
        made(&self.contract, || linker::contract(&self.engine))
    }

    fn with_wasi(&self) -> Result<&Linker<State>, Error> {
        made(&self.with_wasi, || linker::with_wasi(&self.engine))
    }
}

/// Refuses a component that is built for another version of the contract, or imports what no plugin may.
///
/// Errors: `codes::OTHER_CONTRACT`, `codes::REFUSED_IMPORT`.
pub(super) fn check(subject: &str, engine: &Engine, component: &Component) -> Result<(), Error> {
    contract::check(subject, engine, component)?;
    imports::check(subject, &imports::requested(engine, component))
}

fn connect(
    engine: &Engine,
    linker: &Linker<State>,
    component: &Component,
) -> Result<PluginPre<State>, Error> {
    let connected = linker.instantiate_pre(component).and_then(PluginPre::new);
    connected.map_err(|e| {
        Error::new(
            codes::NO_PLUGIN,
            contract::unconnected(engine, component, &e),
        )
    })
}

fn made(
    linker: &OnceLock<Linker<State>>,
    make: impl FnOnce() -> wasmtime::Result<Linker<State>>,
) -> Result<&Linker<State>, Error> {
    if let Some(linker) = linker.get() {
        return Ok(linker);
    }
    let made =
        make().map_err(|e| Error::internal(format!("the contract cannot be linked: {e:#}")))?;
    Ok(linker.get_or_init(|| made))
}
