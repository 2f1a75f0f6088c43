//! Plugins ready to run, with their code loaded and their imports linked: each once for a process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use wasmtime::Engine;
use wasmtime::component::{Component, InstancePre, Linker};
use weir_cni::Error;
use weir_host::bindings::PluginPre;
use weir_host::{Commands, State};

use super::catalogue::{Plugin, of_kept_version};
use super::imports::{self, Imports};
use super::{code, codes, contract, linker};

/// A plugin, once it is prepared. A caller that asks while it is being prepared waits.
type Ready = Arc<OnceLock<Result<Commands, Error>>>;

pub(super) struct ComponentCache {
    engine: Engine,
    ready: Mutex<HashMap<String, Ready>>,
}

impl ComponentCache {
    /// Errors: code 999 when this machine cannot run the engine.
    pub(super) fn new() -> Result<Self, Error> {
        let engine = weir_engine::runner().map_err(|e| {
            Error::internal(format!("the WebAssembly engine does not start: {e:#}"))
        })?;
        Ok(Self {
            engine,
            ready: Mutex::new(HashMap::new()),
        })
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Prepares a plugin for instantiation. A built-in one does not use WASI, and a test checks its imports.
    ///
    /// Errors: `codes::NO_PLUGIN`, `codes::OTHER_CONTRACT`, `codes::REFUSED_IMPORT`.
    pub(super) fn prepare(&self, plugin: &Plugin) -> Result<Commands, Error> {
        // Two versions of an installed one may run in a process.
        let ready = if plugin.is_built_in() {
            self.ready(&plugin.name)
        } else {
            self.ready(&format!("{}@{}", plugin.name, plugin.digest))
        };
        ready.get_or_init(|| self.make(plugin)).clone()
    }

    fn ready(&self, plugin: &str) -> Ready {
        let mut all = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(plugin.to_owned()).or_default())
    }

    fn make(&self, plugin: &Plugin) -> Result<Commands, Error> {
        let component = code::load(&self.engine, plugin).map_err(|error| {
            if plugin.is_kept_version {
                of_kept_version(error, &plugin.digest)
            } else {
                error
            }
        })?;
        let subject = format!("plugin `{}`", plugin.name);
        let linker = if plugin.is_built_in() {
            weir_host::linker(&self.engine, &component)
        } else {
            check(&subject, &self.engine, &component)?;
            linker::with_wasi(&self.engine, &component)
        };
        connect(&self.engine, linker, &component, Commands::new).map_err(|e| e.with_prefix(subject))
    }

    /// Prepares a component that is not installed. Errors: `codes::NO_PLUGIN`.
    pub(super) fn connect(&self, component: &Component) -> Result<PluginPre<State>, Error> {
        let linker = linker::with_wasi(&self.engine, component);
        connect(&self.engine, linker, component, PluginPre::new)
    }
}

/// Refuses a component that is built for another version of the contract, or has a forbidden import.
///
/// Errors: `codes::OTHER_CONTRACT`, `codes::REFUSED_IMPORT`.
pub(super) fn check(subject: &str, engine: &Engine, component: &Component) -> Result<(), Error> {
    contract::check(subject, engine, component)?;
    imports::check(subject, &Imports::of(engine, component))
}

fn connect<T>(
    engine: &Engine,
    linker: wasmtime::Result<Linker<State>>,
    component: &Component,
    exports: fn(InstancePre<State>) -> wasmtime::Result<T>,
) -> Result<T, Error> {
    let linker = linker.map_err(|e| not_linked(&e))?;
    let connected = linker.instantiate_pre(component).and_then(exports);
    connected.map_err(|e| {
        Error::new(
            codes::NO_PLUGIN,
            contract::unconnected(engine, component, &e),
        )
    })
}

fn not_linked(why: &wasmtime::Error) -> Error {
    Error::internal(format!("the contract cannot be linked: {why:#}"))
}
