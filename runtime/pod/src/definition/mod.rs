//! The plugins of a NetworkAttachmentDefinition (section 3.4.1), and the name of their network (section 3.4.2).

#[cfg(test)]
mod tests;

use serde_json::Value;
use weir_cni::{Error, NetworkConfigList};
use weir_network::{ConfigPath, find, refuse_uris};
use weir_sandbox::codes::REFUSED_URI;

use super::cluster::Definition;
use super::codes;

/// The type of weir as the delegating plugin.
const DELEGATING: &str = "weir";

/// The network of an object: its `spec.config`, or otherwise the network of its name in `conf_dir`.
///
/// Errors: code [`codes::NO_NETWORK`], naming the object, and the key or the directory with its networks; [`REFUSED_URI`] for an
/// object that names a plugin by a URI.
pub(crate) fn list<'a>(
    definition: &Definition,
    conf_dir: impl Into<ConfigPath<'a>>,
) -> Result<NetworkConfigList, Error> {
    let found = match &definition.config {
        Some(config) => of_spec(&definition.reference.name, config)
            .map_err(|error| error.with_prefix("spec.config")),
        None => find(conf_dir, &definition.reference.name)
            .map_err(|error| error.with_prefix("has no spec.config")),
    };
    let checked = found.and_then(|list| {
        if is_circle(&list) {
            Err(Error::invalid_config(format!(
                "network `{}`: the plugin `{DELEGATING}` cannot be its own delegate",
                list.name
            )))
        } else {
            Ok(list)
        }
    });
    checked.map_err(|error| Error {
        code: match error.code.0 {
            REFUSED_URI => error.code,
            _ => codes::NO_NETWORK.into(),
        },
        ..error.with_prefix(format_args!(
            "NetworkAttachmentDefinition `{}`",
            definition.reference
        ))
    })
}

/// The network of a `spec.config`. One without a name has the object's.
fn of_spec(object: &str, config: &str) -> Result<NetworkConfigList, Error> {
    let mut config: Value = serde_json::from_str(config)
        .map_err(|error| Error::decoding_failure(format!("not valid JSON: {error}")))?;
    if let Some(keys) = config.as_object_mut() {
        let is_missing = matches!(keys.get("name"), None | Some(Value::Null));
        if is_missing || keys["name"] == "" {
            keys.insert("name".to_owned(), object.into());
        }
    }
    let list = NetworkConfigList::from_value(config)?;
    refuse_uris(&list)?;
    // Only networks on disk have plugins in other files.
    if list.plugins.is_empty() {
        Err(Error::invalid_config(
            "has neither a plugin's `type` nor a list of `plugins`",
        ))
    } else {
        Ok(list)
    }
}

fn is_circle(list: &NetworkConfigList) -> bool {
    let mut plugins = list.plugins.iter();
    plugins.any(|plugin| plugin.plugin_type() == DELEGATING)
}
