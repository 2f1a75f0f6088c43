//! Capability `log`: structured lines in weir's log, limited in size and without control characters.

pub(crate) mod lines;
mod loops;

use super::bindings::weir::cni::log::{Host as Contract, Level};
pub use lines::Log;
pub use loops::{shorten_loops, shorten_loops_of};

/// The field of an error that has the message of a panic.
const PANIC: &str = "panic";

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
        let panic = fields.iter().find(|(key, _)| key == PANIC);
        if let Some((_, text)) = panic.filter(|_| level == "error") {
            self.note_panic(text);
        }
        Log::write(self, level, &message, &fields);
        Ok(())
    }
}
