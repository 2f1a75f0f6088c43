//! The URIs by which networks of the node name plugins.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use serde_json::Value;
use weir_cni::{Error, NetworkConfigList, PluginConfig};
use weir_files::{Paths, entries};
use weir_network::{ConfigPath, Settings, at, is_configuration, uris};

use super::Arguments;
use crate::OWN_NAME;
use crate::cli::output::{complain, show};

/// A URI, and the networks whose configurations have it.
pub struct Wanted {
    pub uri: String,
    pub networks: Vec<String>,
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A URI with a password is shown by its own error alone.
        let networks = self.networks.join("`, `");
        match self.uri.parse::<weir_sandbox::PluginUri>() {
            Ok(uri) => write!(f, "network `{networks}`: `{uri}`"),
            Err(_) => write!(f, "network `{networks}`"),
        }
    }
}

/// Finds what the command line asks for. Errors: no such network, and no network names a plugin by a URI.
pub fn find(paths: &Paths, arguments: &Arguments) -> Result<Vec<Wanted>> {
    let lists = match &arguments.network {
        Some(file) if is_path(file) => {
            let root = paths.root();
            let file = std::path::absolute(file)?;
            let list = at(ConfigPath::of_node(&file, root)).map_err(show)?;
            with_delegates(vec![list])
        }
        Some(name) => of_name(paths, arguments, name.as_os_str())?,
        None => {
            let (lists, unusable) = of_node(paths, arguments)?;
            for error in unusable {
                complain(&format!("{:#}", show(error)));
            }
            lists
        }
    };
    let wanted = collect(&lists);
    ensure!(
        !wanted.is_empty() || arguments.network.is_none(),
        "it names no plugin by a URI, such as `\"type\": \"oci://registry.example.com/plugins/labels:1.2.0\"`"
    );
    Ok(wanted)
}

/// Returns the networks of the node that name a plugin by a URI.
pub fn naming(paths: &Paths, arguments: &Arguments, uri: &str) -> Result<Vec<String>> {
    let (lists, _) = of_node(paths, arguments)?;
    let naming = collect(&lists).into_iter().filter(|one| one.uri == uri);
    Ok(naming.flat_map(|one| one.networks).collect())
}

/// A network's name has no slash, and names no file of the working directory.
fn is_path(word: &Path) -> bool {
    word.components().count() > 1 || word.is_absolute() || word.is_file()
}

fn of_name(paths: &Paths, arguments: &Arguments, name: &OsStr) -> Result<Vec<NetworkConfigList>> {
    let (mut lists, unusable) = of_node(paths, arguments)?;
    lists.retain(|list| OsStr::new(&list.name) == name);
    if lists.is_empty() {
        let why: Vec<String> = unusable
            .into_iter()
            .map(|e| format!("\n  {}", e.msg))
            .collect();
        bail!(
            "no such network: `{}`, neither in {} nor in `podNetworks` of `{}`{}",
            name.display(),
            shown(&directories(paths, arguments)),
            paths.configuration().display(),
            why.concat()
        );
    }
    Ok(lists)
}

fn shown(directories: &[PathBuf]) -> String {
    let shown: Vec<String> = directories
        .iter()
        .map(|d| format!("`{}`", d.display()))
        .collect();
    shown.join(", ")
}

fn directories(paths: &Paths, arguments: &Arguments) -> Vec<PathBuf> {
    match &arguments.conf_dir {
        Some(directory) => vec![directory.clone()],
        None => paths.runtimes_networks(),
    }
}

/// All networks of the node, and why some of its files are not used.
fn of_node(paths: &Paths, arguments: &Arguments) -> Result<(Vec<NetworkConfigList>, Vec<Error>)> {
    let (mut lists, mut unusable) = (Vec::new(), Vec::new());
    for directory in directories(paths, arguments) {
        let directory = std::path::absolute(directory)?;
        let files = entries(&directory)?.into_iter();
        for file in files.filter(|file| is_configuration(file)) {
            match at(ConfigPath::of_node(&file, paths.root())) {
                Ok(list) => lists.push(list),
                Err(error) => unusable.push(error),
            }
        }
    }
    match Settings::load(paths) {
        Ok(settings) => lists.extend(settings.pod_networks.into_iter().map(|own| own.list)),
        Err(error) => unusable.push(error),
    }
    Ok((with_delegates(lists), unusable))
}

/// The same with the networks inside the configuration of the delegating plugin.
fn with_delegates(mut lists: Vec<NetworkConfigList>) -> Vec<NetworkConfigList> {
    let mut inside = Vec::new();
    for list in &lists {
        for plugin in list.plugins.iter().filter(|p| p.plugin_type() == OWN_NAME) {
            let delegates = plugin.get("delegates").and_then(Value::as_array);
            let delegates = delegates.into_iter().flatten();
            inside.extend(delegates.filter_map(|one| delegate(&list.name, plugin, one)));
        }
    }
    lists.extend(inside);
    lists
}

/// A delegate, which has the delegating plugin's name and version if it has none. What is wrong with it, an ADD says.
fn delegate(network: &str, plugin: &PluginConfig, one: &Value) -> Option<NetworkConfigList> {
    let mut one = one.clone();
    let keys = one.as_object_mut()?;
    keys.entry("name").or_insert_with(|| network.into());
    if let Some(version) = plugin.cni_version() {
        keys.entry("cniVersion").or_insert_with(|| version.into());
    }
    NetworkConfigList::from_value(one).ok()
}

fn collect(lists: &[NetworkConfigList]) -> Vec<Wanted> {
    let mut wanted: Vec<Wanted> = Vec::new();
    for list in lists {
        for uri in list.plugins.iter().flat_map(uris) {
            match wanted.iter_mut().find(|wanted| wanted.uri == uri) {
                Some(known) if known.networks.contains(&list.name) => {}
                Some(known) => known.networks.push(list.name.clone()),
                None => wanted.push(Wanted {
                    uri: uri.to_owned(),
                    networks: vec![list.name.clone()],
                }),
            }
        }
    }
    wanted
}
