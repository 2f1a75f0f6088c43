//! How messages show a value that somebody else chose.

/// Puts a text in backticks. What could control a terminal is escaped.
pub(crate) fn quoted(text: &str) -> String {
    format!("`{}`", text.escape_debug())
}
