//! The grants in force on this node: those shipped in the binary, and those of the administrator
//! in `/etc/weir/grants.d`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use weir_cni::Error;

use super::catalogue::Plugin;
use super::{builtin, codes};
use crate::grant::Document;
use crate::paths::Paths;

/// Where a grant comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Shipped,
    File(PathBuf),
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Shipped => f.write_str("shipped"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// A grant, and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub document: Document,
    pub origin: Origin,
}

/// The grants in force. Shipped ones are read when they are needed.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    administrators: Vec<Loaded>,
}

impl Grants {
    /// Reads the administrator's documents.
    ///
    /// Errors: `codes::NO_GRANT` for a document that cannot be read or is not valid: it may be the
    /// one that narrows what another allows, so nothing runs until it is mended.
    pub fn load(paths: &Paths) -> Result<Self, Error> {
        let mut administrators = Vec::new();
        for path in files(&paths.grants()).map_err(|e| unreadable(&paths.grants(), &e))? {
            let text = fs::read_to_string(&path).map_err(|e| unreadable(&path, &e))?;
            administrators.push(parse(&path, &text)?);
        }
        Ok(Self { administrators })
    }

    /// All of them, the administrator's first.
    pub fn all(&self) -> Vec<Loaded> {
        let shipped = builtin::all().iter().filter_map(|p| self.shipped(p));
        let administrators = self.administrators.iter().cloned();
        administrators.chain(shipped).collect()
    }

    /// The grant under which a plugin may run on a network.
    ///
    /// Errors: `codes::NO_GRANT`, naming the plugin, its digest and what to do.
    pub fn for_plugin(&self, plugin: &Plugin, network: &str) -> Result<Loaded, Error> {
        let administrators = self.administrators.iter();
        let mut named: Vec<Loaded> = administrators
            .filter(|l| l.document.spec.plugin.name == plugin.name)
            .cloned()
            .collect();
        named.extend(builtin::find(&plugin.name).and_then(|p| self.shipped(p)));
        if named.is_empty() {
            return Err(none(plugin));
        }
        let covering = named
            .iter()
            .position(|l| l.document.covers_network(network))
            .ok_or_else(|| other_network(plugin, network, &named))?;
        let covering = named.swap_remove(covering);
        check_digest(plugin, &covering)?;
        Ok(covering)
    }

    /// The grant of one of the binary's own plugins, which has the plugin's name, unless a document
    /// of the administrator's with that name replaces it.
    fn shipped(&self, plugin: &builtin::BuiltIn) -> Option<Loaded> {
        let mut administrators = self.administrators.iter();
        if administrators.any(|l| l.document.metadata.name == plugin.name) {
            return None;
        }
        Some(Loaded {
            document: serde_json::from_str(plugin.grant).expect("the build checks grants"),
            origin: Origin::Shipped,
        })
    }
}

fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "yaml" || e == "yml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Parses a document. Errors: `codes::NO_GRANT` with file, line and column.
pub fn parse(path: &Path, text: &str) -> Result<Loaded, Error> {
    let shown = path.display();
    let invalid = |why: String| {
        Error::new(
            codes::NO_GRANT,
            format!("grant `{shown}` is not valid: {why}"),
        )
        .with_details("no plugin runs until it is mended or removed")
    };
    let document: Document = serde_saphyr::from_str(text).map_err(|e| invalid(e.to_string()))?;
    document.validate().map_err(invalid)?;
    Ok(Loaded {
        document,
        origin: Origin::File(path.to_owned()),
    })
}

fn check_digest(plugin: &Plugin, loaded: &Loaded) -> Result<(), Error> {
    let Plugin { name, digest, .. } = plugin;
    match &loaded.document.spec.plugin.digest {
        Some(granted) if granted == digest => Ok(()),
        None if plugin.is_built_in() => Ok(()),
        Some(granted) => Err(Error::new(
            codes::NO_GRANT,
            format!("plugin `{name}` is {digest}, but its grant is for {granted}"),
        )
        .with_details(format!(
            "review the new component with `weir plugin inspect {name}`, then change \
             `spec.plugin.digest` in `{}`",
            loaded.origin
        ))),
        None => Err(Error::new(
            codes::NO_GRANT,
            format!("the grant of plugin `{name}` names no digest"),
        )
        .with_details(format!(
            "only plugins built into weir may do without; put `digest: {digest}` below \
             `spec.plugin` in `{}`",
            loaded.origin
        ))),
    }
}

fn none(plugin: &Plugin) -> Error {
    let Plugin { name, digest, .. } = plugin;
    Error::new(
        codes::NO_GRANT,
        format!("plugin `{name}` ({digest}) has no grant"),
    )
    .with_details(format!("print one to review with `weir grants new {name}`"))
}

fn other_network(plugin: &Plugin, network: &str, named: &[Loaded]) -> Error {
    let name = &plugin.name;
    let origins: Vec<String> = named.iter().map(|l| l.origin.to_string()).collect();
    Error::new(
        codes::NO_GRANT,
        format!("no grant of plugin `{name}` covers the network `{network}`"),
    )
    .with_details(format!(
        "its grants: {}; see `spec.networks` there",
        origins.join(", ")
    ))
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::new(
        codes::NO_GRANT,
        format!("grants: `{}` cannot be read: {error}", path.display()),
    )
}
