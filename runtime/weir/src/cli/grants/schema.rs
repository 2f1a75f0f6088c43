//! `weir grants schema`: the JSON Schema of a document.

use crate::cli::output::print_text;

/// The published copy; a test keeps it to the types.
const SCHEMA: &str = include_str!("../../../../../docs/plugin-grant.schema.json");

pub fn run() {
    print_text!("{SCHEMA}");
}
