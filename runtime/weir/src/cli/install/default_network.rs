//! The cluster's default network: the first configuration of the directory that is not weir's own, as
//! the container runtime would choose it.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use weir_cni::NetworkConfigList;
use weir_network::{self as network, ConfigPath};

use super::conf_dir::{Search, configurations, has_type};
use super::multus;
use crate::OWN_NAME;

/// The default network and the file that has it.
pub struct DefaultNetwork {
    pub file: PathBuf,
    pub network: NetworkConfigList,
}

/// Finds the default network: `wanted` where a file is named, the first valid one otherwise. What is to be set
/// aside is passed over, and what somebody else than root can have written, below `root`: it becomes a part of weir's own
/// configuration.
///
/// Errors: another configuration of Multus stands there.
pub fn find(
    directory: &Path,
    own: &str,
    wanted: Option<&str>,
    set_aside: Option<&str>,
    root: &Path,
) -> Result<Search<DefaultNetwork>> {
    let shown = directory.display();
    let mut unusable = Vec::new();
    for name in configurations(directory, own)? {
        let file = directory.join(&name);
        if wanted.is_some_and(|wanted| wanted != name) || set_aside == Some(&name) {
            continue;
        }
        // It may be written at this moment: nothing is wrong with it for good.
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
            unusable.push(format!("`{name}`: it is of weir itself"));
            continue;
        }
        return Ok(Search::Found(DefaultNetwork { file, network }));
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
    Ok(Search::Missing(format!("{what} is not there{why}")))
}

/// Fails where the runtime would take another configuration before weir's own.
pub fn check_precedence(directory: &Path, own: &str, set_aside: Option<&Path>) -> Result<()> {
    let before = configurations(directory, own)?
        .into_iter()
        .find(|name| name.as_str() < own && set_aside != Some(&directory.join(name)));
    match before {
        None => Ok(()),
        Some(name) => bail!(
            "`{}` comes before `{own}`, and the container runtime takes the first by name: give weir's \
             configuration a name that comes before it with --conf-name",
            directory.join(&name).display(),
        ),
    }
}
