//! `weir net status`: whether a network can take attachments, exhausted address ranges included.

use anyhow::Result;
use serde_json::{Map, Value};
use weir_cni::{NetworkConfigList, PluginConfig};
use weir_files::Paths;
use weir_network::find;

use super::NetworkArguments;
use crate::cli::output::show;

/// The IPAM plugin that leaves an exhausted range to ADD unless it is asked, since a runtime may take the whole node for
/// unusable.
const ASKED: &str = "host-local";

/// The key by which it is asked.
const KEY: &str = "failStatusWhenExhausted";

/// Asks all plugins of the network, and host-local for its ranges as well.
pub(super) fn run(arguments: &NetworkArguments) -> Result<()> {
    let paths = Paths::from_environment();
    let directory = arguments.places.configurations(&paths);
    let list = find(&directory, &arguments.network).map_err(show)?;
    let list = about_ranges(list)?;
    let network = arguments.places.with_args(paths, list, Map::new())?;
    network.status().map_err(show)
}

fn about_ranges(list: NetworkConfigList) -> Result<NetworkConfigList> {
    let plugins = list.plugins.iter().cloned().map(asked);
    let plugins = plugins.collect::<Result<Vec<PluginConfig>, _>>();
    Ok(list.with_plugins(plugins.map_err(show)?))
}

fn asked(plugin: PluginConfig) -> Result<PluginConfig, weir_cni::Error> {
    if plugin.ipam_type() != Some(ASKED) {
        return Ok(plugin);
    }
    let mut config = plugin.into_value();
    config["ipam"][KEY] = Value::Bool(true);
    PluginConfig::from_value(config)
}
