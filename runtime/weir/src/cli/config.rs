//! What a person gives to a command that runs a network: the file of its configuration, and capability
//! arguments.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};
use weir_cni::NetworkConfigList;

use super::output::show;

/// A network configuration, or a list. Errors name the file.
pub fn read_network(file: &Path) -> Result<NetworkConfigList> {
    let shown = file.display();
    let bytes = fs::read(file).with_context(|| format!("read `{shown}`"))?;
    let text = String::from_utf8(bytes).with_context(|| format!("`{shown}` is not text"))?;
    let list = NetworkConfigList::parse(&text)
        .map_err(|e| show(e.with_prefix(format_args!("`{shown}`"))))?;
    if list.plugins.is_empty() {
        bail!("`{shown}` has no plugins")
    } else {
        Ok(list)
    }
}

/// The value of `--capability-args`, where it was given.
pub fn capability_args(text: Option<&str>) -> Result<Map<String, Value>> {
    match text {
        None => Ok(Map::new()),
        Some(text) => serde_json::from_str(text)
            .with_context(|| format!("--capability-args {text}: not a JSON object")),
    }
}
