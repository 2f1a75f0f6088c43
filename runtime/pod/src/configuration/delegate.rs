//! `delegates`: networks in the delegating plugin's own configuration.

use serde_json::Value;
use weir_cni::{Error, NetworkConfigList, PluginConfig};

use super::keys::Keys;

/// The networks, each a network configuration list or one plugin's configuration. One without a name or version has the
/// delegating plugin's.
///
/// Errors: code 7, naming the delegate.
pub(super) fn read_all(
    config: &PluginConfig,
    keys: &Keys<'_>,
) -> Result<Vec<NetworkConfigList>, Error> {
    let delegates = match keys.value("delegates") {
        None => return Ok(Vec::new()),
        Some(Value::Array(delegates)) => delegates,
        Some(_) => return Err(keys.wrong("delegates", "a list of network configurations")),
    };
    let read = |(index, delegate): (usize, &Value)| {
        read_one(config, delegate).map_err(|e| e.with_prefix(format_args!("delegates[{index}]")))
    };
    delegates.iter().enumerate().map(read).collect()
}

fn read_one(config: &PluginConfig, delegate: &Value) -> Result<NetworkConfigList, Error> {
    let mut delegate = delegate.clone();
    if let Some(delegate) = delegate.as_object_mut() {
        for key in ["name", "cniVersion"] {
            if let Some(own) = config.get(key).filter(|_| !delegate.contains_key(key)) {
                delegate.insert(key.to_owned(), own.clone());
            }
        }
    }
    let list = NetworkConfigList::from_value(delegate)?;
    if list.plugins.is_empty() {
        Err(Error::invalid_config("plugins: missing"))
    } else {
        Ok(list)
    }
}
