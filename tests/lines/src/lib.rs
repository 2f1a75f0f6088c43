//! Counts the lines of code of a crate: without tests, blank lines and comments, as rustfmt formats them.
//!
//! What is code is for the parser to say: neither a comment's sign in a string nor a test module in a file of its own
//! misleads it.

mod count;
mod format;
mod sources;

use std::path::Path;

use anyhow::Result;

pub use sources::{directory_of_children, is_for_tests};

/// Returns how many lines of code a crate has. Errors: what cannot be read, is not Rust, or tells rustfmt to skip it.
pub fn of_crate(directory: &Path) -> Result<usize> {
    let mut lines = 0;
    for file in sources::files(directory)? {
        lines += count::lines(&format::formatted(&file)?)?;
    }
    Ok(lines)
}
