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
    pub default_network: String,
    /// The file that exists when the default network is ready, if weir waits for it.
    pub readiness_indicator: Option<String>,
}

/// Returns the text of the configuration: a list of one plugin, in the version of the default network.
///
/// It contains the default network, so that attaching it needs neither its file nor the cluster. With further networks for
/// every pod, it is only named: Multus does not allow `defaultNetworks` beside `delegates`.
pub fn render(
    network: &NetworkConfigList,
    arguments: &ConfigurationArguments,
    paths: &NodePaths,
) -> String {
    let given = |names: &[String]| (!names.is_empty()).then(|| names.to_vec());
    let has_further = !arguments.default_networks.is_empty();
    let mut plugin = json!({
        "type": OWN_NAME,
        "kubeconfig": paths.kubeconfig,
        "capabilities": Some(capabilities(network)).filter(|all| !all.is_empty()),
        "delegates": (!has_further).then(|| [whole(network)]),
        "clusterNetwork": has_further.then_some(&paths.default_network),
        "defaultNetworks": given(&arguments.default_networks),
        "confDir": has_further.then_some(&paths.conf_dir),
        "namespaceIsolation": arguments.namespace_isolation.then_some(true),
        "globalNamespaces": given(&arguments.global_namespaces).map(|names| names.join(",")),
        "systemNamespaces": given(&arguments.system_namespaces),
        "multusNamespace": arguments.multus_namespace,
        "logLevel": arguments.log_level,
        "readinessindicatorfile": paths.readiness_indicator,
    });
    if let Some(keys) = plugin.as_object_mut() {
        keys.retain(|_, value| !value.is_null());
    }
    let list = json!({
        "cniVersion": network.cni_version.as_str(),
        "name": arguments.network_name,
        "plugins": [plugin],
    });
    format!("{list:#}\n")
}

/// The capabilities of the network's plugins, whose arguments the runtime passes on.
fn capabilities(network: &NetworkConfigList) -> Map<String, Value> {
    let plugins = network.plugins.iter();
    let names: BTreeSet<&str> = plugins.flat_map(|plugin| plugin.capabilities()).collect();
    let names = names.into_iter();
    names.map(|name| (name.to_owned(), true.into())).collect()
}

/// The network with all its plugins, including those in separate files.
fn whole(network: &NetworkConfigList) -> Value {
    let mut whole = network.as_map().clone();
    whole.insert("plugins".into(), json!(network.plugins));
    whole.into()
}
