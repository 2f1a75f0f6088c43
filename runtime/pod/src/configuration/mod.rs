//! The delegating plugin's own configuration: Multus' keys, with their meaning in Multus.

mod delegate;
mod keys;
mod logging;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use serde_json::{Map, Value};
use weir_cni::{Error, NetworkConfigList, PluginConfig, Version};
use weir_files::Paths;

use keys::Keys;
pub use logging::{Level, Logging};

/// Every known key. Others are ignored, with a warning.
const KNOWN: [&str; 27] = [
    "cniVersion",
    "name",
    "type",
    "capabilities",
    "runtimeConfig",
    "args",
    "ipam",
    "dns",
    "prevResult",
    "clusterNetwork",
    "defaultNetworks",
    "delegates",
    "kubeconfig",
    "confDir",
    "cniDir",
    "binDir",
    "namespaceIsolation",
    "globalNamespaces",
    "systemNamespaces",
    "multusNamespace",
    "readinessindicatorfile",
    "logFile",
    "logLevel",
    "logToStderr",
    "logOptions",
    "retryDeleteOnError",
    "cni.dev/valid-attachments",
];

/// What the cluster-wide default network is (section 6).
#[derive(Clone, Debug, PartialEq)]
pub enum ClusterNetwork {
    /// `clusterNetwork`: a NetworkAttachmentDefinition, a network on disk, or a path.
    Named(String),
    /// The first of `delegates`.
    Given(NetworkConfigList),
}

/// Which namespaces' networks a pod may select (section 7.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Isolation {
    /// `namespaceIsolation`.
    pub is_on: bool,
    /// `globalNamespaces`: all pods may use what is in them.
    pub global: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// `name`.
    pub name: String,
    pub version: Version,
    pub cluster_network: ClusterNetwork,
    /// `delegates` after the first: attached to every pod.
    pub delegates: Vec<NetworkConfigList>,
    /// `defaultNetworks`: attached to every pod outside `system_namespaces`.
    pub default_networks: Vec<String>,
    /// `systemNamespaces`.
    pub system_namespaces: Vec<String>,
    /// `multusNamespace`: where the NetworkAttachmentDefinitions of the defaults are.
    pub namespace: String,
    pub isolation: Isolation,
    /// `kubeconfig`, as it is written.
    pub kubeconfig: Option<PathBuf>,
    /// `confDir`: networks on disk.
    pub conf_dir: PathBuf,
    /// `cniDir`: Multus' files about its pods.
    pub cni_dir: PathBuf,
    /// `binDir`: native plugins.
    pub bin_dir: Option<PathBuf>,
    /// `readinessindicatorfile`.
    pub readiness_indicator: Option<PathBuf>,
    pub logging: Logging,
    /// `runtimeConfig`: the runtime's capability arguments.
    pub capability_args: Map<String, Value>,
    pub valid_attachments: Vec<weir_cni::Attachment>,
    /// What weir does not do as the configuration says.
    pub warnings: Vec<String>,
}

impl Configuration {
    /// Reads a configuration. Paths are resolved below weir's root.
    ///
    /// Errors: code 7, naming the key, its value and what is expected; code 1 for an unknown version.
    pub fn read(config: &PluginConfig, paths: &Paths) -> Result<Self, Error> {
        let keys = Keys::of(config.as_map());
        let mut warnings = unknown(config.as_map());
        let mut delegates = delegate::read_all(config, &keys)?;
        let cluster_network = match keys.text("clusterNetwork")? {
            Some(name) => {
                if !delegates.is_empty() {
                    delegates.clear();
                    warnings.push("delegates: not used, because of clusterNetwork".to_owned());
                }
                ClusterNetwork::Named(name.to_owned())
            }
            None if delegates.is_empty() => return Err(no_default_network()),
            None => ClusterNetwork::Given(delegates.remove(0)),
        };
        let path_or = |key: &str, default: &str| -> Result<PathBuf, Error> {
            let path = keys.path(key)?.unwrap_or_else(|| PathBuf::from(default));
            Ok(paths.resolve(&path))
        };
        let resolved = |key: &str| -> Result<Option<PathBuf>, Error> {
            Ok(keys.path(key)?.map(|path| paths.resolve(&path)))
        };
        keys.flag("retryDeleteOnError")?;
        Ok(Self {
            name: config.network_name()?.to_owned(),
            version: config.version()?,
            cluster_network,
            delegates,
            default_networks: keys.texts("defaultNetworks")?.unwrap_or_default(),
            system_namespaces: keys
                .texts("systemNamespaces")?
                .unwrap_or_else(|| vec![SYSTEM.to_owned()]),
            namespace: keys.text("multusNamespace")?.unwrap_or(SYSTEM).to_owned(),
            isolation: Isolation {
                is_on: keys.flag("namespaceIsolation")?,
                global: global_namespaces(&keys)?,
            },
            kubeconfig: keys.path("kubeconfig")?,
            conf_dir: path_or("confDir", "/etc/cni/multus/net.d")?,
            cni_dir: path_or("cniDir", CNI_DIR)?,
            bin_dir: resolved("binDir")?,
            readiness_indicator: resolved("readinessindicatorfile")?,
            logging: Logging::read(&keys, &mut warnings)?,
            capability_args: config.runtime_config().cloned().unwrap_or_default(),
            valid_attachments: config.valid_attachments().unwrap_or_default().to_vec(),
            warnings,
        })
    }
}

/// Multus' default for `cniDir`.
pub const CNI_DIR: &str = "/var/lib/cni/multus";

/// Multus' default for `systemNamespaces` and `multusNamespace`.
const SYSTEM: &str = "kube-system";

/// Multus' default for `globalNamespaces`.
const GLOBAL: &str = "default";

/// A string with commas, as in Multus, or a list.
fn global_namespaces(keys: &Keys<'_>) -> Result<Vec<String>, Error> {
    let names = match keys.value("globalNamespaces") {
        None => vec![GLOBAL.to_owned()],
        Some(Value::String(names)) => names.split(',').map(|n| n.trim().to_owned()).collect(),
        Some(Value::Array(_)) => keys.texts("globalNamespaces")?.unwrap_or_default(),
        Some(_) => {
            let expected = "names separated by commas, or a list of names";
            return Err(keys.wrong("globalNamespaces", expected));
        }
    };
    Ok(names.into_iter().filter(|name| !name.is_empty()).collect())
}

fn no_default_network() -> Error {
    Error::invalid_config(
        "clusterNetwork and delegates: both are missing; one of them names the network that every pod is \
         attached to",
    )
}

fn unknown(map: &Map<String, Value>) -> Vec<String> {
    let unknown = map.keys().filter(|key| !KNOWN.contains(&key.as_str()));
    unknown
        .map(|key| format!("{key}: not a key of the delegating plugin; it is ignored"))
        .collect()
}
