//! Ahead-of-time compilation of a component, with the settings of [`weir_engine`].
//!
//! Two programs use it: `weir-compiler`, which is built into the binary and reads untrusted components, and `weir-aot`, which
//! builds the standard plugins. This crate must not open a file or a socket: the kernel would kill the first one for it
//! ([`confine`]).
//!
//! # Example
//!
//! ```
//! # fn main() -> wasmtime::Result<()> {
//! let compiler = weir_compiler::Compiler::new()?;
//! // The smallest component there is.
//! let code = compiler.compile(b"\0asm\x0d\0\x01\0")?;
//! assert!(!code.is_empty());
//!
//! assert!(compiler.compile(b"no component").is_err());
//! # Ok(())
//! # }
//! ```

pub mod confine;
mod core_module;

use wasmtime::error::Context;
use wasmtime::{Engine, Error, OptLevel, Result};

/// A compiler that is built without optimisation, as for tests, is slow, and what it compiles runs a few times: there it leaves
/// optimisation out as well, which is a quarter of its work.
const OPTIMISED: OptLevel = if cfg!(debug_assertions) {
    OptLevel::None
} else {
    OptLevel::Speed
};

/// A compiler for any processor of the target's architecture, so that the code also runs on an older one.
pub struct Compiler(Engine);

impl Compiler {
    /// Errors: the engine does not know the target.
    pub fn new() -> Result<Self> {
        let mut config = weir_engine::settings();
        config.cranelift_opt_level(OPTIMISED);
        config
            .target(env!("WEIR_TARGET"))
            .context("the target of this build cannot run WebAssembly code")?;
        Ok(Self(Engine::new(&config)?))
    }

    /// Returns the code of a component, which the engine of [`weir_engine::runner`] loads.
    ///
    /// Errors: `component` is not a valid WebAssembly component, with the position; a core module, with what to do.
    pub fn compile(&self, component: &[u8]) -> Result<Vec<u8>> {
        if let Some(why) = core_module::explain(component) {
            return Err(Error::msg(why));
        }
        self.0.precompile_component(component)
    }
}
