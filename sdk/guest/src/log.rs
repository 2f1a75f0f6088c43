//! Capability `log`: structured lines in weir's log, which names attachment, network and plugin by
//! itself.
//!
//! ```no_run
//! weir_sdk::log::warn("cannot announce addresses", &[("link", "eth0")]);
//! ```

use crate::bindings::weir::cni::log as raw;

pub use raw::Level;

/// Writes one line, with fields beside the message.
pub fn write(level: Level, message: &str, fields: &[(&str, &str)]) {
    let owned = |(key, value): &(&str, &str)| (key.to_string(), value.to_string());
    let fields: Vec<(String, String)> = fields.iter().map(owned).collect();
    raw::write(level, message, &fields);
}

/// Writes a line for the author of a plugin.
pub fn debug(message: &str, fields: &[(&str, &str)]) {
    write(Level::Debug, message, fields);
}

/// Writes a line about what was done.
pub fn info(message: &str, fields: &[(&str, &str)]) {
    write(Level::Info, message, fields);
}

/// Writes a line about what went wrong without failing the command.
pub fn warn(message: &str, fields: &[(&str, &str)]) {
    write(Level::Warn, message, fields);
}

/// Writes a line about a failure.
pub fn error(message: &str, fields: &[(&str, &str)]) {
    write(Level::Error, message, fields);
}
