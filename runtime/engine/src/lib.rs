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
mod embedded;
mod memory;

use std::sync::{Arc, OnceLock};

use wasmtime::{Config, Engine, Result};

pub use embedded::{Embedded, load_embedded};

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
