//! The delegating plugin's configuration, made from the default network's.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use weir_cni::NetworkConfigList;

use super::arguments::ConfigurationArguments;
use crate::OWN_NAME;

/// The paths in the configuration, on the node.
pub struct NodePaths {
    pub kubeconfig: String,
    pub conf_dir: String,
    /// The default network's file.
    pub default_network: String,
    /// The file that says that the default network is ready, if weir is to wait for it.
    pub readiness_indicator: Option<String>,
}

/// The text of the configuration: a list of one plugin, in the version of the default network.
///
/// The default network is a part of it, so that attaching it needs neither its file nor the cluster. With further networks for
/// every pod, it is named as they are: Multus does not allow `defaultNetworks` beside `delegates`.
pub fn render(
    network: &NetworkConfigList,
    arguments: &ConfigurationArguments,
    paths: &NodePaths,
) -> String {
    let mut plugin = Map::new();
    plugin.insert("type".into(), OWN_NAME.into());
    plugin.insert("kubeconfig".into(), paths.kubeconfig.as_str().into());
    let capabilities = capabilities(network);
    if !capabilities.is_empty() {
        plugin.insert("capabilities".into(), capabilities.into());
    }
    if arguments.default_networks.is_empty() {
        plugin.insert("delegates".into(), json!([whole(network)]));
    } else {
        let default_network = paths.default_network.as_str();
        plugin.insert("clusterNetwork".into(), default_network.into());
        plugin.insert("defaultNetworks".into(), json!(arguments.default_networks));
        plugin.insert("confDir".into(), paths.conf_dir.as_str().into());
    }
    add_options(&mut plugin, arguments);
    if let Some(file) = &paths.readiness_indicator {
        plugin.insert("readinessindicatorfile".into(), file.as_str().into());
    }
    let list = json!({
        "cniVersion": network.cni_version.as_str(),
        "name": arguments.network_name,
        "plugins": [plugin],
    });
    format!("{list:#}\n")
}

fn add_options(plugin: &mut Map<String, Value>, arguments: &ConfigurationArguments) {
    if arguments.namespace_isolation {
        plugin.insert("namespaceIsolation".into(), true.into());
    }
    if !arguments.global_namespaces.is_empty() {
        let names = arguments.global_namespaces.join(",");
        plugin.insert("globalNamespaces".into(), names.into());
    }
    if !arguments.system_namespaces.is_empty() {
        let names = json!(arguments.system_namespaces);
        plugin.insert("systemNamespaces".into(), names);
    }
    if let Some(namespace) = &arguments.multus_namespace {
        plugin.insert("multusNamespace".into(), namespace.as_str().into());
    }
    if let Some(level) = arguments.log_level {
        plugin.insert("logLevel".into(), level.as_str().into());
    }
}

/// The capabilities of the network's plugins, whose arguments the runtime is to pass on.
fn capabilities(network: &NetworkConfigList) -> Map<String, Value> {
    let plugins = network.plugins.iter();
    let names: BTreeSet<&str> = plugins.flat_map(|plugin| plugin.capabilities()).collect();
    let names = names.into_iter();
    names.map(|name| (name.to_owned(), true.into())).collect()
}

/// The network with all its plugins, including those in files of their own.
fn whole(network: &NetworkConfigList) -> Value {
    let mut whole = network.as_map().clone();
    whole.insert("plugins".into(), json!(network.plugins));
    whole.into()
}
