//! Capability `log`: structured lines in weir's log, limited in size and without control characters.

pub(crate) mod lines;

use super::bindings::weir::cni::log::{Host as Contract, Level};
pub use lines::{Log, printable};

impl Contract for Log {
    fn write(
        &mut self,
        level: Level,
        message: String,
        fields: Vec<(String, String)>,
    ) -> wasmtime::Result<()> {
        let level = match level {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        Log::write(self, level, &message, &fields);
        Ok(())
    }
}
