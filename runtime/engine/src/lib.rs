//! The one WebAssembly engine configuration of weir, and the engine that runs plugins.
//!
//! Code is compiled when weir is built (the standard plugins) or when a plugin is installed, never while a container waits, and
//! by another program (`weir-compiler`). Both must use the same settings, so they are in a crate below everything else.
//!
//! This crate must not know what a plugin is, link anything, or have a compiler: it is part of what starts for each container.
//!
//! # Example
//!
//! ```
//! use wasmtime::component::Component;
//!
//! # fn main() -> wasmtime::Result<()> {
//! let engine = weir_engine::runner()?;
//! // SAFETY: the engine checks first that these bytes are code.
//! let loaded = unsafe { Component::deserialize(&engine, b"no code") };
//! assert!(loaded.is_err());
//! # Ok(())
//! # }
//! ```

pub mod bounds;
mod memory;

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use wasmtime::component::Component;
use wasmtime::{Config, Engine, Error, Result};

/// The settings that change the compiled code, and so must be the same for loading it.
pub fn settings() -> Config {
    let mut config = Config::new();
    // The wall-clock limit of an invocation.
    config.epoch_interruption(true);
    // The kind of a trap is enough; a plugin's own messages say where.
    config.wasm_backtrace_max_frames(None);
    config.native_unwind_info(false);
    config.generate_address_map(false);
    // Plugins are single-threaded and finish.
    config.concurrency_support(false);
    config.wasm_component_model(true);
    // A plugin's data segments are small: copying them is faster than a memory file each.
    config.memory_init_cow(false);
    config
}

/// The process's engine, which runs compiled code: this program has no compiler.
///
/// Errors: this processor or kernel cannot run the engine.
pub fn runner() -> Result<Engine> {
    static RUNNER: OnceLock<Engine> = OnceLock::new();
    match RUNNER.get() {
        Some(engine) => Ok(engine.clone()),
        None => new_runner().map(|engine| RUNNER.get_or_init(|| engine).clone()),
    }
}

fn new_runner() -> Result<Engine> {
    Engine::new(&settings_to_load())
}

/// The settings of an engine without a compiler.
fn settings_to_load() -> Config {
    let mut config = settings();
    config.with_custom_code_memory(Some(Arc::new(memory::InPlace)));
    config
}

/// Code built into the binary: page-aligned, so that it runs in place.
#[repr(C, align(4096))]
pub struct Embedded<T: ?Sized>(pub T);

/// Code of the binary, once it is loaded. Whoever asks while it is being loaded waits.
type Loaded = Arc<OnceLock<std::result::Result<Component, String>>>;

/// Loads code that is a part of the binary into the [`runner`], without copying it.
///
/// The engine knows each region of code once in a process, so that code which runs in place is loaded once, however many nodes
/// a test has, and stays loaded.
///
/// Errors: it is for another version of the engine.
///
/// # Safety
///
/// The bytes must be the output of `weir-compiler`.
pub unsafe fn load_embedded(engine: &Engine, code: &'static Embedded<[u8]>) -> Result<Component> {
    let loaded = loaded(code);
    let component = loaded.get_or_init(|| {
        // SAFETY: the caller's, and a part of the binary is never changed or freed.
        let component = unsafe { Component::deserialize_raw(engine, NonNull::from(&code.0)) };
        component.map_err(|why| format!("{why:#}"))
    });
    component.clone().map_err(Error::msg)
}

fn loaded(code: &'static Embedded<[u8]>) -> Loaded {
    static ALL: Mutex<BTreeMap<usize, Loaded>> = Mutex::new(BTreeMap::new());
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(all.entry(code.0.as_ptr().addr()).or_default())
}
