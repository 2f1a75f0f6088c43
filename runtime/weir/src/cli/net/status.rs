//! `weir net status`: whether a network can take attachments, exhausted address ranges included.

use anyhow::Result;
use serde_json::{Map, Value};
use weir_cni::PluginConfig;

use super::NetworkArguments;
use crate::cli::output::show;

/// The IPAM plugin that reports an exhausted range only on request, since a runtime may regard the whole node as unusable.
const IPAM: &str = "host-local";

/// The key that requests this report.
const KEY: &str = "failStatusWhenExhausted";

/// Runs STATUS, with a report of exhausted ranges.
pub(super) fn run(arguments: &NetworkArguments) -> Result<()> {
    let directories = &arguments.directories;
    let list = directories.find(&arguments.network).map_err(show)?;
    let plugins = list.plugins.iter().cloned().map(with_exhausted_reported);
    let plugins = plugins.collect::<Result<_, _>>().map_err(show)?;
    let network = directories.open(list.with_plugins(plugins), Map::new())?;
    network.status().map_err(show)
}

fn with_exhausted_reported(plugin: PluginConfig) -> Result<PluginConfig, weir_cni::Error> {
    if plugin.ipam_type() != Some(IPAM) {
        return Ok(plugin);
    }
    let mut config = plugin.into_value();
    config["ipam"][KEY] = Value::Bool(true);
    PluginConfig::from_value(config)
}
