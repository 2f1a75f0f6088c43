//! The cluster's default network: the first configuration of the directory that is not weir's own.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use weir_cni::NetworkConfigList;
use weir_network::{self as network, ConfigPath};

use super::conf_dir::{Missing, configurations, has_type};
use super::multus;
use crate::OWN_NAME;

pub struct DefaultNetwork {
    pub file: PathBuf,
    pub network: NetworkConfigList,
}

/// Finds the default network: the file `wanted`, or else the first valid one. A file that is to be set aside is skipped, and
/// so is one that someone other than root could have written, below `root`: it becomes a part of weir's own configuration.
///
/// Errors: [`Missing`]; a configuration of Multus.
pub fn find(
    directory: &Path,
    own: &str,
    wanted: Option<&str>,
    set_aside: Option<&str>,
    root: &Path,
) -> Result<DefaultNetwork> {
    let shown = directory.display();
    let mut unusable = Vec::new();
    for name in configurations(directory, own)? {
        let file = directory.join(&name);
        if wanted.is_some_and(|wanted| wanted != name) || set_aside == Some(&name) {
            continue;
        }
        // An invalid one may be being written.
        let network = match network::at(ConfigPath::of_node(&file, root)) {
            Ok(network) => network,
            Err(error) => {
                unusable.push(error.msg);
                continue;
            }
        };
        if multus::is_multus(&network) {
            bail!(
                "`{}` is a configuration of Multus: take it over with --from-multus, or stop Multus and \
                 remove it",
                file.display()
            );
        }
        if has_type(&network, OWN_NAME) {
            unusable.push(format!("`{name}`: it is weir's own"));
            continue;
        }
        return Ok(DefaultNetwork { file, network });
    }
    let what = match wanted {
        Some(wanted) => format!("`{}`", directory.join(wanted).display()),
        None => format!("the configuration of a default network in `{shown}`"),
    };
    let why = if unusable.is_empty() {
        String::new()
    } else {
        format!("; not usable: {}", unusable.join("; "))
    };
    Err(Missing(format!("{what} does not exist{why}")).into())
}

/// Fails if the runtime would use another configuration instead of weir's.
pub fn check_precedence(directory: &Path, own: &str, set_aside: Option<&Path>) -> Result<()> {
    for name in configurations(directory, own)? {
        let file = directory.join(&name);
        if name.as_str() < own && set_aside != Some(&file) {
            bail!(
                "`{}` comes before `{own}`, and the container runtime uses the first by name: give weir's \
                 configuration a name that comes before it with --conf-name",
                file.display()
            );
        }
    }
    Ok(())
}
