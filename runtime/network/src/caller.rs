//! A plugin called by its own name, as `bridge` that is a link to weir: where its configuration comes from, which the
//! caller does not say.
//!
//! A runtime calls with the node's own configurations. Another delegating plugin, such as Multus, calls with tenants' as
//! well, and the name in a configuration proves nothing. So if a configuration of the node names such a plugin, a call
//! counts as the node's own only if a file that root wrote has its configuration, apart from what runtimes add, or if a
//! native plugin that `weir.json` lists made it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::unistd::getppid;
use serde_json::{Map, Value};
use weir_cni::{Args, Error, NetworkConfigList, PluginConfig};
use weir_files::{Paths, file_trust};
use weir_grant::section::Request;

use super::files::is_configuration;
use super::native;
use super::source::{MADE_BY, Source};

/// Delegating plugins, by their `type`.
const DELEGATING: [&str; 5] = ["multus", "multus-shim", "genie", "danm", "fakemultus"];

/// Keys that only delegating plugins have.
const DELEGATING_KEYS: [&str; 2] = ["delegates", "clusterNetwork"];

/// weir as the delegating plugin does not call plugins by name.
const OWN_TYPE: &str = "weir";

/// The pod's name in `CNI_ARGS` of kubelet's runtimes.
const POD_NAME: &str = "K8S_POD_NAME";

/// Stands for the namespace of an unknown definition. Kubernetes has no such namespace.
const UNKNOWN: &str = "-";

/// Keys that runtimes and delegating plugins add to a configuration.
const ADDED: [&str; 6] = [
    "args",
    "capabilities",
    "cni.dev/attachments",
    "cni.dev/valid-attachments",
    "prevResult",
    "runtimeConfig",
];

/// Returns the source of the configuration with which a plugin was called.
///
/// Errors: code 7 for a configuration without a name; weir's own configuration cannot be read.
pub fn source_of_call(paths: &Paths, config: &PluginConfig, args: &Args) -> Result<Source, Error> {
    if let Some(made_by) = of_native_caller() {
        return Ok(made_by);
    }
    let files = files(paths);
    if !files.iter().any(|file| names_delegating_plugin(file)) {
        return Ok(Source {
            definition: None,
            requested_by_pod: requested_by_pod_of_kubelet(config, args),
        });
    }
    let written = |file: &PathBuf| is_written_in(paths, file, config);
    if files.iter().any(written) {
        return Ok(Source {
            definition: None,
            requested_by_pod: requested_by_pod(config),
        });
    }
    if native::is_listed(paths, &caller())? {
        return Ok(Source::default());
    }
    Ok(Source {
        definition: Some(format!("{UNKNOWN}/{}", config.network_name()?)),
        requested_by_pod: Vec::new(),
    })
}

/// Whether the configuration of an attachment counts as the node's own: the node has no other delegating plugin, or a
/// file that root wrote has it.
pub fn is_of_node(paths: &Paths, config: &PluginConfig) -> bool {
    let files = files(paths);
    let has_other = files.iter().any(|file| names_delegating_plugin(file));
    !has_other || files.iter().any(|file| is_written_in(paths, file, config))
}

fn caller() -> PathBuf {
    PathBuf::from(format!("/proc/{}/exe", getppid()))
}

/// The configuration files in all directories in which runtimes look for them.
fn files(paths: &Paths) -> Vec<PathBuf> {
    let directories = paths.runtimes_networks().into_iter();
    let entries = directories.flat_map(|directory| fs::read_dir(directory).into_iter().flatten());
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    files.filter(|path| is_configuration(path)).collect()
}

/// Whether a file names another delegating plugin. Anyone may have written it: it only makes weir more careful.
fn names_delegating_plugin(file: &Path) -> bool {
    let list = fs::read_to_string(file).ok();
    let list = list.and_then(|text| NetworkConfigList::parse(&text).ok());
    let plugins = list.into_iter().flat_map(|list| list.plugins);
    let mut plugins = plugins.filter(|plugin| plugin.plugin_type() != OWN_TYPE);
    plugins.any(|plugin| {
        let has = |key: &str| plugin.as_map().contains_key(key);
        DELEGATING.contains(&plugin.plugin_type()) || DELEGATING_KEYS.iter().any(|key| has(key))
    })
}

/// Whether a file that only root could write has the configuration of this call.
fn is_written_in(paths: &Paths, file: &Path, config: &PluginConfig) -> bool {
    let file = file_trust::open(file, paths.root()).ok();
    let text = file.and_then(|file| io::read_to_string(file).ok());
    let Some(list) = text.and_then(|text| NetworkConfigList::parse(&text).ok()) else {
        return false;
    };
    let called = without_added(config.as_map());
    list.plugins.iter().any(|plugin| {
        let mut written = without_added(plugin.as_map());
        written.insert("name", Value::from(list.name.as_str()));
        written == called
    })
}

/// Without the version either, which is the list's.
fn without_added(config: &Map<String, Value>) -> BTreeMap<&str, Value> {
    let pairs = config
        .iter()
        .map(|(key, value)| (key.as_str(), value.clone()));
    pairs
        .filter(|(key, _)| *key != "cniVersion" && !ADDED.contains(key))
        .collect()
}

/// What kubelet passes on from a pod: host ports and rates. Other callers, such as Podman, act for their user, who is
/// root.
fn requested_by_pod_of_kubelet(config: &PluginConfig, args: &Args) -> Vec<Request> {
    let mut requests = requested_by_pod(config);
    let is_kubelets = |request: &Request| {
        args.get(POD_NAME).is_some()
            && matches!(request, Request::PortMappings | Request::Bandwidth)
    };
    requests.retain(is_kubelets);
    requests
}

/// The requests of a pod that were added to the configuration of a file.
fn requested_by_pod(config: &PluginConfig) -> Vec<Request> {
    fn keys(value: Option<&Value>) -> impl Iterator<Item = &String> {
        let members = value.and_then(Value::as_object);
        members.into_iter().flat_map(Map::keys)
    }
    let map = config.as_map();
    let args = map.get("args").and_then(|args| args.get("cni"));
    Request::of_keys(keys(args), keys(map.get("runtimeConfig")))
}

/// The source of a native plugin that weir runs, and that calls another plugin.
fn of_native_caller() -> Option<Source> {
    let made_by = std::env::var(MADE_BY).ok()?;
    Some(Source {
        definition: Some(made_by).filter(|definition| !definition.is_empty()),
        requested_by_pod: Vec::new(),
    })
}
