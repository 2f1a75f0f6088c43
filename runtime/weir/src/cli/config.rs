//! Reads the arguments of commands that run a network: its configuration, and capability arguments.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value};
use weir_cni::NetworkConfigList;

use super::output::show;

/// Reads a network configuration, or a list. Errors name the file.
pub fn read_network(file: &Path) -> Result<NetworkConfigList> {
    let shown = file.display();
    let bytes = fs::read(file).with_context(|| format!("read `{shown}`"))?;
    let text = String::from_utf8(bytes).with_context(|| format!("`{shown}` is not text"))?;
    let list = NetworkConfigList::parse(&text)
        .map_err(|e| show(e.with_prefix(format_args!("`{shown}`"))))?;
    ensure!(!list.plugins.is_empty(), "`{shown}` has no plugins");
    Ok(list)
}

pub fn capability_args(text: Option<&str>) -> Result<Map<String, Value>> {
    let text = text.unwrap_or("{}");
    serde_json::from_str(text)
        .with_context(|| format!("--capability-args {text}: not a JSON object"))
}
