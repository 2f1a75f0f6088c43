//! Network configurations on disk: `<name>.conflist`, `.conf` and `.json` files of a directory, as
//! libcni finds them.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use weir_cni::{Code, Error, NetworkConfigList, PluginConfig};
use weir_files::file_trust::{self, Untrusted};

use super::trust::unread;

/// Extensions, the first first.
const EXTENSIONS: [&str; 3] = ["conflist", "conf", "json"];

/// Where configurations are, and whose they must be.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    path: &'a Path,
    /// The root below which nobody but root and weir's user may have written them; none where whoever calls has named
    /// the place, and whose they are is the caller's affair.
    root: Option<&'a Path>,
}

impl<'a> Place<'a> {
    /// With what counts as the node's own: what somebody else can have written is not usable.
    pub fn of_owner(path: &'a Path, root: &'a Path) -> Self {
        let root = Some(root);
        Self { path, root }
    }

    fn with_path<'b>(&self, path: &'b Path) -> Place<'b>
    where
        'a: 'b,
    {
        let root = self.root;
        Place { path, root }
    }
}

impl<'a> From<&'a Path> for Place<'a> {
    fn from(path: &'a Path) -> Self {
        Self { path, root: None }
    }
}

impl<'a> From<&'a PathBuf> for Place<'a> {
    fn from(path: &'a PathBuf) -> Self {
        path.as_path().into()
    }
}

/// Whether a runtime reads a file of that name.
pub fn is_configuration(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
}

/// The network of that name, from the first file in the order of their names that has it: lists
/// before single plugins.
///
/// Errors: code 7, naming the directory and the networks that are there.
pub fn find<'a>(directory: impl Into<Place<'a>>, name: &str) -> Result<NetworkConfigList, Error> {
    weir_cni::validate_network_name(name)?;
    let directory = directory.into();
    let networks = read_all(directory)?;
    let found = networks
        .iter()
        .find(|(_, n)| n.as_ref().is_ok_and(|n| n.name == name));
    match found {
        Some((_, Ok(network))) => complete(directory, network.clone()),
        _ => Err(missing(directory.path, name, &networks)),
    }
}

/// The network of a file. Errors: code 5, 6 or 7, naming it.
pub fn at<'a>(place: impl Into<Place<'a>>) -> Result<NetworkConfigList, Error> {
    let place = place.into();
    let shown = place.path.display();
    let network = read(place).and_then(|text| {
        NetworkConfigList::parse(&text).map_err(|e| e.with_prefix(format_args!("`{shown}`")))
    })?;
    let directory = place.path.parent().unwrap_or(Path::new("/"));
    complete(place.with_path(directory), network)
}

/// The first usable network of a directory, in the order in which a container runtime takes one: by file name,
/// of whatever extension. Errors: code 7 where there is none; code 5.
pub fn first<'a>(directory: impl Into<Place<'a>>) -> Result<NetworkConfigList, Error> {
    let directory = directory.into();
    let mut networks = read_all(directory)?;
    networks.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut usable = networks
        .iter()
        .filter_map(|(_, network)| network.as_ref().ok());
    match usable.next() {
        Some(network) => complete(directory, network.clone()),
        None => Err(Error::invalid_config(format!(
            "there is no usable network configuration in `{}`",
            directory.path.display()
        ))),
    }
}

/// The names of the networks in a directory. Errors: code 5.
pub fn list_names(directory: &Path) -> Result<Vec<String>, Error> {
    let networks = read_all(directory.into())?;
    Ok(networks
        .into_iter()
        .filter_map(|(_, network)| Some(network.ok()?.name))
        .collect())
}

type Read = (PathBuf, Result<NetworkConfigList, Error>);

fn read_all(directory: Place<'_>) -> Result<Vec<Read>, Error> {
    let mut networks = Vec::new();
    for extension in EXTENSIONS {
        for path in files(directory.path, extension)? {
            let network =
                read(directory.with_path(&path)).and_then(|text| NetworkConfigList::parse(&text));
            networks.push((path, network));
        }
    }
    Ok(networks)
}

fn files(directory: &Path, extension: &str) -> Result<Vec<PathBuf>, Error> {
    let failed = |e: io::Error| Error::io_failure(format!("`{}`: {e}", directory.display()));
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|e| e == extension) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn read(place: Place<'_>) -> Result<String, Error> {
    let text = match place.root {
        Some(root) => file_trust::open(place.path, root).and_then(|f| Ok(io::read_to_string(f)?)),
        None => fs::read_to_string(place.path).map_err(Untrusted::from),
    };
    let shown = format!("`{}`", place.path.display());
    text.map_err(|untrusted| unread(shown, &untrusted, Code::INVALID_CONFIG))
}

/// A list without plugins of its own has them in `<directory>/<network>/*.conf` (CNI 1.1.0,
/// section 1, `loadOnlyInlinedPlugins`); others have those appended to their own.
fn complete(
    directory: Place<'_>,
    mut network: NetworkConfigList,
) -> Result<NetworkConfigList, Error> {
    if !network.load_only_inlined_plugins {
        for path in files(&directory.path.join(&network.name), "conf")? {
            let plugin = PluginConfig::parse(&read(directory.with_path(&path))?);
            network
                .plugins
                .push(plugin.map_err(|e| e.with_prefix(path.display()))?);
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
    let mut seen = Vec::new();
    for (path, network) in networks {
        seen.push(match network {
            Ok(network) => format!("`{}`", network.name),
            Err(error) => format!("{} is not usable: {}", path.display(), error.msg),
        });
    }
    let seen = if seen.is_empty() {
        "it has no network configuration".to_owned()
    } else {
        format!("it has {}", seen.join(", "))
    };
    Error::invalid_config(format!(
        "there is no network `{name}` in `{}`",
        directory.display()
    ))
    .with_details(seen)
}
