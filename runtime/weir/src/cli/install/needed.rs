//! The plugins that the remaining configurations need.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::Value;
use weir_network as network;

use super::conf_dir::{configurations, is_configuration};
use super::{bin_dir, replaced};

/// The plugins that Flannel runs if its `delegate` does not say otherwise.
const OF_FLANNEL: [&str; 2] = ["bridge", "host-local"];

/// Refuses to leave a network without a plugin, since no pod would start on it: one that only weir provides.
pub fn check(conf_dir: &Path, own: &str, bin_dir: &Path) -> Result<()> {
    let leaving: BTreeSet<String> = bin_dir::without_predecessor(bin_dir)?.into_iter().collect();
    for file in staying(conf_dir, own)? {
        // An invalid one starts no pod anyway.
        let Ok(network) = network::at(&file) else {
            continue;
        };
        let mut types = BTreeSet::new();
        for plugin in network.plugins {
            collect(&plugin.into_value(), &mut types);
        }
        let missing: Vec<String> = types.intersection(&leaving).cloned().collect();
        if !missing.is_empty() {
            bail!(
                "`{}` needs {}, which would be missing in `{}`: install other plugins of that name first, or remove \
                 the configuration, or give --force",
                file.display(),
                missing.join(", "),
                bin_dir.display()
            );
        }
    }
    Ok(())
}

/// The configurations that remain: those that are not weir's, and those that are put back.
fn staying(conf_dir: &Path, own: &str) -> Result<Vec<PathBuf>> {
    let mut names = configurations(conf_dir, own)?;
    let kept = replaced::names(conf_dir)?.into_iter();
    let comes_back = |name: &String| is_configuration(name) && !conf_dir.join(name).exists();
    names.extend(kept.filter(comes_back).map(|name| replaced::name_of(&name)));
    Ok(names.iter().map(|name| conf_dir.join(name)).collect())
}

/// The types in a plugin's configuration, with those of its IPAM plugin and delegates.
fn collect(value: &Value, types: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, types)),
        Value::Object(keys) => {
            let plugin = keys.get("type").and_then(Value::as_str);
            types.extend(plugin.map(ToOwned::to_owned));
            if plugin == Some("flannel") && value.pointer("/delegate/type").is_none() {
                types.extend(OF_FLANNEL.map(ToOwned::to_owned));
            }
            keys.values().for_each(|value| collect(value, types));
        }
        _ => {}
    }
}
