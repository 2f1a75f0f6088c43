//! Network configurations on disk: `.conflist`, `.conf` and `.json` files of a directory, as libcni finds them.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use weir_cni::{Code, Error, NetworkConfigList, PluginConfig};
use weir_files::file_trust::{self, Untrusted};

use super::trust::unread;

/// File name extensions, in the order of preference.
const EXTENSIONS: [&str; 3] = ["conflist", "conf", "json"];

/// The path of configurations, and whose they must be.
#[derive(Clone, Copy, Debug)]
pub struct ConfigPath<'a> {
    path: &'a Path,
    /// The root below which only root and weir's user may have written them; none if the caller chose the path.
    root: Option<&'a Path>,
}

impl<'a> ConfigPath<'a> {
    /// Returns the node's own configurations: those that others could have written are not used.
    pub fn of_node(path: &'a Path, root: &'a Path) -> Self {
        let root = Some(root);
        Self { path, root }
    }
}

impl<'a> From<&'a Path> for ConfigPath<'a> {
    fn from(path: &'a Path) -> Self {
        Self { path, root: None }
    }
}

impl<'a> From<&'a PathBuf> for ConfigPath<'a> {
    fn from(path: &'a PathBuf) -> Self {
        path.as_path().into()
    }
}

/// Whether a runtime reads a file of that name.
pub fn is_configuration(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
}

/// Returns the network of that name, from the first file by name that has it, lists before single plugins.
///
/// Errors: code 7, naming the directory and its networks.
pub fn find<'a>(
    directory: impl Into<ConfigPath<'a>>,
    name: &str,
) -> Result<NetworkConfigList, Error> {
    weir_cni::validate_network_name(name)?;
    let directory = directory.into();
    let networks = read_all(directory)?;
    let mut readable = networks
        .iter()
        .filter_map(|(_, network)| network.as_ref().ok());
    match readable.find(|network| network.name == name) {
        Some(network) => complete(directory, network.clone()),
        None => Err(missing(directory.path, name, &networks)),
    }
}

/// Returns the network of a file. Errors: code 5, 6 or 7, naming it.
pub fn at<'a>(path: impl Into<ConfigPath<'a>>) -> Result<NetworkConfigList, Error> {
    let ConfigPath { path, root } = path.into();
    let shown = path.display();
    let network = read(path, root).and_then(|text| {
        NetworkConfigList::parse(&text).map_err(|e| e.with_prefix(format_args!("`{shown}`")))
    })?;
    let path = path.parent().unwrap_or(Path::new("/"));
    complete(ConfigPath { path, root }, network)
}

/// Returns the first usable network of a directory by file name, as a container runtime chooses it. Errors: code 7 if
/// there is none; code 5.
pub fn first<'a>(directory: impl Into<ConfigPath<'a>>) -> Result<NetworkConfigList, Error> {
    let directory = directory.into();
    let mut networks = read_all(directory)?;
    networks.sort_by(|(a, _), (b, _)| a.cmp(b));
    match networks.into_iter().find_map(|(_, network)| network.ok()) {
        Some(network) => complete(directory, network),
        None => Err(Error::invalid_config(format!(
            "no usable network configuration in `{}`",
            directory.path.display()
        ))),
    }
}

/// Returns the names of the networks in a directory. Errors: code 5.
pub fn list_names(directory: &Path) -> Result<Vec<String>, Error> {
    let networks = read_all(directory.into())?;
    let networks = networks.into_iter().filter_map(|(_, network)| network.ok());
    Ok(networks.map(|network| network.name).collect())
}

type Read = (PathBuf, Result<NetworkConfigList, Error>);

fn read_all(directory: ConfigPath<'_>) -> Result<Vec<Read>, Error> {
    let mut networks = Vec::new();
    for extension in EXTENSIONS {
        for path in files(directory.path, extension)? {
            let text = read(&path, directory.root);
            let network = text.and_then(|text| NetworkConfigList::parse(&text));
            networks.push((path, network));
        }
    }
    Ok(networks)
}

fn files(directory: &Path, extension: &str) -> Result<Vec<PathBuf>, Error> {
    let failed = |e: io::Error| Error::io_failure(format!("`{}`: {e}", directory.display()));
    let mut files = weir_files::entries(directory).map_err(failed)?;
    files.retain(|path| path.extension().is_some_and(|e| e == extension) && path.is_file());
    Ok(files)
}

fn read(path: &Path, root: Option<&Path>) -> Result<String, Error> {
    let text = match root {
        Some(root) => file_trust::open(path, root).and_then(|f| Ok(io::read_to_string(f)?)),
        None => fs::read_to_string(path).map_err(Untrusted::from),
    };
    let shown = format!("`{}`", path.display());
    text.map_err(|untrusted| unread(shown, &untrusted, Code::INVALID_CONFIG))
}

/// Appends the plugins in `<directory>/<network>/*.conf` to those of the list (CNI 1.1.0, section 1,
/// `loadOnlyInlinedPlugins`).
fn complete(
    directory: ConfigPath<'_>,
    mut network: NetworkConfigList,
) -> Result<NetworkConfigList, Error> {
    if !network.load_only_inlined_plugins {
        for path in files(&directory.path.join(&network.name), "conf")? {
            let plugin = PluginConfig::parse(&read(&path, directory.root)?);
            let plugin = plugin.map_err(|e| e.with_prefix(path.display()))?;
            network.plugins.push(plugin);
        }
    }
    if network.plugins.is_empty() {
        return Err(Error::invalid_config(format!(
            "network `{}` has no plugins, neither in its `plugins` nor as `{}/{}/*.conf`",
            network.name,
            directory.path.display(),
            network.name
        )));
    }
    Ok(network)
}

fn missing(directory: &Path, name: &str, networks: &[Read]) -> Error {
    let seen = networks.iter().map(|(path, network)| match network {
        Ok(network) => format!("`{}`", network.name),
        Err(error) => format!("{} is not usable: {}", path.display(), error.msg),
    });
    let seen: Vec<String> = seen.collect();
    let seen = if seen.is_empty() {
        "it has no network configuration".to_owned()
    } else {
        format!("it has {}", seen.join(", "))
    };
    let directory = directory.display();
    Error::invalid_config(format!("no such network in `{directory}`: `{name}`")).with_details(seen)
}
