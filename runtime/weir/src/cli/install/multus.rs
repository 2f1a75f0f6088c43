//! Taking over from Multus: its configuration, with one word changed.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_cni::{NetworkConfigList, PluginConfig};
use weir_files::{Paths, file_trust};
use weir_pod::configuration;
use weir_pod::multus::Multus;

use super::conf_dir::{Missing, configurations, has_type, untrusted};
use super::replaced;
use crate::OWN_NAME;
use crate::cli::output::show;

const TYPE: &str = "multus";

/// The type of the plugin that passes calls to Multus' daemon.
const SHIM: &str = "multus-shim";

pub struct Source {
    /// Its file name, as Multus wrote it.
    pub name: String,
    /// Whether weir has already set it aside.
    pub is_kept: bool,
    text: String,
    network: NetworkConfigList,
}

pub fn is_multus(network: &NetworkConfigList) -> bool {
    has_type(network, TYPE) || has_type(network, SHIM)
}

/// Finds the configuration of Multus, as Multus wrote it or as weir keeps it. It becomes weir's own.
///
/// Errors: [`Missing`]; someone other than root could have written it.
pub fn find(directory: &Path, own: &str, root: &Path) -> Result<Source> {
    let written = configurations(directory, own)?.into_iter();
    let kept = replaced::names(directory)?.into_iter();
    let all = written
        .map(|name| (name, false))
        .chain(kept.map(|name| (name, true)));
    for (name, is_kept) in all {
        let suffix = if is_kept { replaced::SUFFIX } else { "" };
        let file = directory.join(format!("{name}{suffix}"));
        if let Some((text, network)) = read_multus(&file, root)? {
            return Ok(Source {
                name,
                is_kept,
                text,
                network,
            });
        }
    }
    let shown = directory.display();
    Err(Missing(format!("no configuration of Multus in `{shown}`")).into())
}

/// The content of a file, if it is a configuration of Multus.
fn read_multus(file: &Path, root: &Path) -> Result<Option<(String, NetworkConfigList)>> {
    let context = || format!("read `{}`", file.display());
    let parse = |text: &str| NetworkConfigList::parse(text).ok().filter(is_multus);
    if parse(&fs::read_to_string(file).with_context(context)?).is_none() {
        return Ok(None);
    }
    let trusted = file_trust::open(file, root).map_err(|error| untrusted(file, error))?;
    let text = io::read_to_string(trusted).with_context(context)?;
    Ok(parse(&text).map(|network| (text, network)))
}

impl Source {
    /// Whether it is the thick plugin's. The rest of its configuration is in Multus' daemon.
    pub fn is_of_thick_plugin(&self) -> bool {
        has_type(&self.network, SHIM)
    }

    /// Returns the pods of the thick plugin on this node, for weir's configuration of this name.
    pub fn pods_of_thick_plugin(&self, network: &str, paths: &Paths) -> Result<Multus> {
        let keys: Value = serde_json::from_str(&self.text).context("not valid JSON")?;
        let directory = keys["cniDir"].as_str().unwrap_or(configuration::CNI_DIR);
        Ok(Multus::at(
            paths.resolve(Path::new(directory)),
            network,
            paths,
        ))
    }

    /// Returns the name of the converted configuration: a list stays a list.
    pub fn converted_name(&self, own: &str) -> PathBuf {
        let extension = Path::new(&self.name).extension().unwrap_or_default();
        Path::new(own).with_extension(extension)
    }

    pub fn pods(&self, paths: &Paths) -> Result<Multus> {
        let mut plugins = self.network.plugins.iter();
        let plugin = plugins.find(|plugin| plugin.plugin_type() == TYPE);
        let keys = plugin.map(|plugin| plugin.as_map().clone());
        let mut keys = keys.unwrap_or_default();
        // A list has them beside its plugins.
        keys.insert("name".to_owned(), json!(self.network.name));
        keys.insert("cniVersion".to_owned(), json!(self.network.cni_version));
        let config = PluginConfig::from_value(Value::Object(keys));
        let multus = config.and_then(|config| Multus::of(&config, paths));
        multus
            .map_err(show)
            .with_context(|| format!("take over `{}`", self.name))
    }

    /// Returns the same text with the plugin's `type` changed.
    pub fn convert(&self) -> Result<String> {
        convert(&self.text).with_context(|| format!("take over `{}`", self.name))
    }
}

fn convert(text: &str) -> Result<String> {
    let document: Value = serde_json::from_str(text).context("not valid JSON")?;
    let mut converted = document.clone();
    let plugins = match converted.get_mut("plugins").and_then(Value::as_array_mut) {
        Some(plugins) => plugins.iter_mut().collect(),
        None => vec![&mut converted],
    };
    for plugin in plugins {
        if plugin["type"] == TYPE {
            plugin["type"] = json!(OWN_NAME);
        }
    }
    Ok(change_one_word(text, &converted).unwrap_or_else(|| format!("{converted:#}\n")))
}

/// The text with one word changed, if that gives the wanted meaning.
fn change_one_word(text: &str, meaning: &Value) -> Option<String> {
    let (old, new) = (format!("\"{TYPE}\""), format!("\"{OWN_NAME}\""));
    text.match_indices(&old).find_map(|(at, _)| {
        let changed = format!("{}{new}{}", &text[..at], &text[at + old.len()..]);
        let means: Value = serde_json::from_str(&changed).ok()?;
        (means == *meaning).then_some(changed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_changes_and_the_rest_stays_as_it_was_written() -> Result<()> {
        let text = "{\n  \"name\": \"multus\", \"type\":   \"multus\",\n\t\"delegates\": [{ \"type\": \"x\" }] }\n";
        let expected = text.replacen("\"type\":   \"multus\"", "\"type\":   \"weir\"", 1);
        assert_eq!(convert(text)?, expected);
        let list = r#"{"name":"n","plugins":[{"type":"multus","delegates":[{"type":"multus"}]}]}"#;
        let expected =
            r#"{"name":"n","plugins":[{"type":"weir","delegates":[{"type":"multus"}]}]}"#;
        assert_eq!(convert(list)?, expected);
        Ok(())
    }

    #[test]
    fn a_type_that_is_written_otherwise_changes_as_well() -> Result<()> {
        let changed = convert(r#"{"type": "mult\u0075s", "name": "n"}"#)?;
        let changed: Value = serde_json::from_str(&changed)?;
        assert_eq!(changed, json!({ "type": "weir", "name": "n" }));
        Ok(())
    }
}
