//! The directory of network configurations, with weir's own.

use std::path::Path;

use anyhow::{Result, anyhow};
use weir_cni::NetworkConfigList;
use weir_files::file_trust::Untrusted;
use weir_network as network;

use super::replaced::file_names;

/// A configuration does not exist (yet).
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Missing(pub String);

/// Returns the error for a file that is not read.
pub fn untrusted(path: &Path, error: Untrusted) -> anyhow::Error {
    let shown = path.display();
    match error {
        Untrusted::Unreadable(error) => {
            anyhow::Error::new(error).context(format!("read `{shown}`"))
        }
        Untrusted::Exposed(exposed) => {
            anyhow!("`{shown}` is not trusted: {exposed}; {}", exposed.remedy())
        }
    }
}

/// Returns the names of the configurations in a directory that are not weir's own, in the order of a runtime.
pub fn configurations(directory: &Path, own: &str) -> Result<Vec<String>> {
    let mut names = file_names(directory)?;
    names.retain(|name| {
        is_configuration(name) && !is_own(name, own) && directory.join(name).is_file()
    });
    Ok(names)
}

/// Whether a runtime reads a file of that name.
pub fn is_configuration(name: &str) -> bool {
    network::is_configuration(Path::new(name))
}

/// Whether a file has the name of weir's own configuration, as a list or as a single plugin's.
pub fn is_own(name: &str, own: &str) -> bool {
    let stem = |name: &str| Path::new(name).file_stem().map(ToOwned::to_owned);
    stem(name) == stem(own)
}

/// Whether one of the network's plugins has a type.
pub fn has_type(network: &NetworkConfigList, plugin_type: &str) -> bool {
    let mut plugins = network.plugins.iter();
    plugins.any(|plugin| plugin.plugin_type() == plugin_type)
}

/// Returns the files in a directory with the name of weir's own configuration.
pub fn own_configurations(conf_dir: &Path, own: &str) -> Result<Vec<String>> {
    let mut names = file_names(conf_dir)?;
    names.retain(|name| is_own(name, own) && is_configuration(name));
    Ok(names)
}
