//! Plugins that a configuration of the node names by a URI: the name of the plugin that was fetched from it takes its place
//! before anything runs. Nothing is fetched here; `weir net fetch` does that.
//!
//! A cluster object cannot name a plugin in this way, even one that was fetched: otherwise a tenant would choose what the node
//! asks other servers for.

use serde_json::Value;
use weir_cni::{Command, Error, NetworkConfigList, PluginConfig, is_plugin_uri};
use weir_sandbox::{Catalogue, PluginUri, codes};

use super::source::Source;

/// The keys that name a plugin.
const TYPE: &str = "type";
const IPAM_TYPE: &str = "ipam.type";

/// Returns the URIs by which a plugin's configuration names plugins: its own, and that of its IPAM plugin.
pub fn uris(plugin: &PluginConfig) -> impl Iterator<Item = &str> {
    named(plugin).map(|(_, uri)| uri)
}

/// The same with the key of each.
fn named(plugin: &PluginConfig) -> impl Iterator<Item = (&'static str, &str)> {
    let own = Some((TYPE, plugin.plugin_type()));
    let ipam = plugin.ipam_type().map(|ipam| (IPAM_TYPE, ipam));
    let both = own.into_iter().chain(ipam);
    both.filter(|(_, name)| is_plugin_uri(name))
}

/// Whether a list names a plugin by a URI.
pub(super) fn has_uris(list: &NetworkConfigList) -> bool {
    list.plugins
        .iter()
        .any(|plugin| uris(plugin).next().is_some())
}

/// Returns a list of the node's own with names in place of the URIs. A plugin that was not fetched keeps its URI.
pub fn with_names(catalogue: &Catalogue, list: &NetworkConfigList) -> NetworkConfigList {
    let plugins = list.plugins.iter();
    list.with_plugins(plugins.map(|plugin| with_name(catalogue, plugin)).collect())
}

/// The same for one plugin's configuration.
fn with_name(catalogue: &Catalogue, plugin: &PluginConfig) -> PluginConfig {
    let mut config = plugin.as_map().clone();
    for (key, uri) in named(plugin) {
        let Some(name) = catalogue.fetched_from(uri) else {
            continue;
        };
        if key == TYPE {
            config.insert(TYPE.to_owned(), name.into());
        } else if let Some(ipam) = config.get_mut("ipam") {
            ipam[TYPE] = name.into();
        }
    }
    // What was read once is read again.
    PluginConfig::from_value(Value::Object(config)).unwrap_or_else(|_| plugin.clone())
}

/// Returns the configuration of one call with names in place of URIs, which only the node's own may have.
///
/// Errors: those of [`check`].
pub(super) fn of_call(
    catalogue: &Catalogue,
    plugin: &PluginConfig,
    source: &Source,
) -> Result<Option<PluginConfig>, Error> {
    // The type that the caller wrote is not what runs.
    if !plugin.ipam_type().is_some_and(is_plugin_uri) {
        return Ok(None);
    }
    let network = plugin.network_name()?;
    let plugin = if source.definition.is_some() {
        plugin.clone()
    } else {
        with_name(catalogue, plugin)
    };
    let ipam = named(&plugin).find(|(key, _)| *key == IPAM_TYPE);
    match ipam {
        Some((key, uri)) => Err(unusable(key, uri, network, source)),
        None => Ok(Some(plugin)),
    }
}

/// Whether a command has nothing to do where a URI stands for no plugin: ADD fails there, so nothing was attached with it. A DEL
/// with a result is of an attachment that was made.
pub(super) fn has_nothing_to_do(command: Command, config: &PluginConfig) -> bool {
    match command {
        Command::Gc => true,
        Command::Del => config.as_map().get("prevResult").is_none_or(Value::is_null),
        _ => false,
    }
}

/// Checks that no URI is left in a plugin's configuration.
///
/// Errors: `codes::NOT_FETCHED`, with the command that fetches it; `codes::REFUSED_URI` if it cannot be fetched.
pub(super) fn check(plugin: &PluginConfig, network: &str, source: &Source) -> Result<(), Error> {
    match named(plugin).next() {
        Some((key, uri)) => Err(unusable(key, uri, network, source)),
        None => Ok(()),
    }
}

/// Checks that the text of a cluster object names no plugin by a URI.
///
/// Errors: `codes::REFUSED_URI`.
pub fn refuse(list: &NetworkConfigList) -> Result<(), Error> {
    let mut uris = list.plugins.iter().flat_map(named);
    match uris.next() {
        Some((key, uri)) => Err(of_object(key, uri)),
        None => Ok(()),
    }
}

fn unusable(key: &str, uri: &str, network: &str, source: &Source) -> Error {
    if source.definition.is_some() {
        return of_object(key, uri);
    }
    if let Err(why) = uri.parse::<PluginUri>() {
        return Error::new(codes::REFUSED_URI, format!("{key}: {why}"));
    }
    let what = format!("plugin `{uri}` was not fetched");
    Error::new(codes::NOT_FETCHED, what).with_details(format!(
        "run `weir net fetch {network}` on this node, and then let it run with a grant: nothing is fetched while a container waits"
    ))
}

fn of_object(key: &str, uri: &str) -> Error {
    // It is the tenant's text, and may have a password.
    let shown = match uri.parse::<PluginUri>() {
        Ok(uri) => format!("`{uri}` is a URI"),
        Err(why) => why,
    };
    let what = format!("{key}: {shown}; a cluster object cannot name a plugin by a URI");
    Error::new(codes::REFUSED_URI, what).with_details(
        "name a plugin of the node, such as `bridge`; URIs are for the node's own network configurations",
    )
}
