//! A plugin called by its own name, as `bridge` that is a link to weir: where its configuration comes from, which
//! the caller does not say.
//!
//! A runtime calls so with the node's own configurations. Another delegating plugin, such as Multus, does it with
//! tenants' as well, and the name in a configuration proves nothing: a tenant may choose any. So where a
//! configuration of the node names such a plugin, a call counts as the node's own only where its configuration
//! stands in a file that root wrote, but for what runtimes add to it, or where a native plugin that
//! `weir.json` lists has made it.

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

/// Keys that only delegating plugins have, whatever they are called.
const DELEGATING_KEYS: [&str; 2] = ["delegates", "clusterNetwork"];

/// weir as the delegating plugin does not call plugins so.
const OWN_TYPE: &str = "weir";

/// What the kubelet's runtimes name the pod by, in `CNI_ARGS`.
const POD_NAME: &str = "K8S_POD_NAME";

/// The namespace of a definition that a caller does not tell of: no namespace of Kubernetes is called so.
const UNKNOWN: &str = "-";

/// What is no word of whoever wrote a configuration: runtimes and delegating plugins add it.
const ADDED: [&str; 6] = [
    "args",
    "capabilities",
    "cni.dev/attachments",
    "cni.dev/valid-attachments",
    "prevResult",
    "runtimeConfig",
];

/// The source of the configuration with which a plugin was called.
///
/// Errors: code 7 for a configuration without a name; that weir's own configuration cannot be read, where it is
/// needed.
pub fn source_of_call(paths: &Paths, config: &PluginConfig, args: &Args) -> Result<Source, Error> {
    if let Some(made_by) = Source::of_native_caller() {
        return Ok(made_by);
    }
    let files = files(paths);
    if !files.iter().any(|file| names_delegating_plugin(file)) {
        return Ok(Source {
            definition: None,
            asked_by_pod: asked_by_pod_of_kubelet(config, args),
        });
    }
    let written = |file: &PathBuf| is_written_in(paths, file, config);
    if files.iter().any(written) {
        return Ok(Source {
            definition: None,
            asked_by_pod: asked_by_pod(config),
        });
    }
    if native::is_listed(paths, &caller())? {
        return Ok(Source::default());
    }
    Ok(Source {
        definition: Some(format!("{UNKNOWN}/{}", config.network_name()?)),
        asked_by_pod: Vec::new(),
    })
}

/// Whether a configuration that a plugin was attached with counts as the node's own, whoever asks about it now: no other
/// delegating plugin is there, or a file that root wrote has it.
pub fn is_of_node(paths: &Paths, config: &PluginConfig) -> bool {
    let files = files(paths);
    let has_other = files.iter().any(|file| names_delegating_plugin(file));
    !has_other || files.iter().any(|file| is_written_in(paths, file, config))
}

/// The program of the process that has called.
fn caller() -> PathBuf {
    PathBuf::from(format!("/proc/{}/exe", getppid()))
}

/// The files with configurations, in all directories in which runtimes look for them.
fn files(paths: &Paths) -> Vec<PathBuf> {
    let directories = paths.runtimes_networks().into_iter();
    let entries = directories.flat_map(|directory| fs::read_dir(directory).into_iter().flatten());
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    files.filter(|path| is_configuration(path)).collect()
}

/// Whoever wrote the file: that it names one makes no call the node's own.
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
    let text = file_trust::open(file, paths.root())
        .ok()
        .and_then(|file| io::read_to_string(file).ok());
    let Some(list) = text.and_then(|text| NetworkConfigList::parse(&text).ok()) else {
        return false;
    };
    let called = without_added(config.as_map());
    list.plugins.iter().any(|plugin| {
        let mut written = without_added(plugin.as_map());
        written.insert("name", Value::from(list.name.as_str()));
        // The version is the list's, whatever a plugin of it says.
        written.remove("cniVersion");
        let mut called = called.clone();
        called.remove("cniVersion");
        written == called
    })
}

fn without_added(config: &Map<String, Value>) -> BTreeMap<&str, Value> {
    let own = config
        .iter()
        .filter(|(key, _)| !ADDED.contains(&key.as_str()));
    own.map(|(key, value)| (key.as_str(), value.clone()))
        .collect()
}

/// What the kubelet hands on from a pod, which has host ports and rates. What others call with, such as Podman, is their
/// user's, who is root.
fn asked_by_pod_of_kubelet(config: &PluginConfig, args: &Args) -> Vec<Request> {
    let mut asked = asked_by_pod(config);
    let is_kubelets = |request: &Request| {
        args.get(POD_NAME).is_some()
            && matches!(request, Request::PortMappings | Request::Bandwidth)
    };
    asked.retain(is_kubelets);
    asked
}

/// What was added to a file's configuration for a pod.
fn asked_by_pod(config: &PluginConfig) -> Vec<Request> {
    fn keys(value: Option<&Value>) -> impl Iterator<Item = &String> {
        let members = value.and_then(Value::as_object);
        members.into_iter().flat_map(Map::keys)
    }
    let map = config.as_map();
    let args = map.get("args").and_then(|args| args.get("cni"));
    Request::of_keys(keys(args), keys(map.get("runtimeConfig")))
}

impl Source {
    /// What the native plugin that has called was told about its own configuration, where weir ran it.
    fn of_native_caller() -> Option<Self> {
        let made_by = std::env::var(MADE_BY).ok()?;
        Some(Self {
            definition: Some(made_by).filter(|definition| !definition.is_empty()),
            asked_by_pod: Vec::new(),
        })
    }
}
