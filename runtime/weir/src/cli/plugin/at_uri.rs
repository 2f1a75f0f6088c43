//! What is at a URI: a component, with what came along, whether it is a plugin, and whether the policy lets it in.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use weir_distribution::{Options, Reference, Registry, download};
use weir_files::paths::open_lock;
use weir_files::{Paths, file_trust};
use weir_grant::document::Digest;
use weir_sandbox::{Inspection, Plugin, PluginUri, Provenance, Sandbox, UriTarget};

use super::arrival::Arrival;
use super::artifact::check;
use super::installation::version;
use crate::cli::component::{name_of, read_opened};
use crate::cli::output::show;

/// A component that this weir can run.
pub struct Found {
    pub inspection: Inspection,
    pub arrival: Arrival,
}

impl Found {
    /// The name that the plugin gives itself, or else that of its file.
    pub fn own_name(&self, uri: &PluginUri) -> Result<String> {
        let last = uri.as_str().rsplit('/').next().unwrap_or_default();
        let last = last.split(['@', ':']).next().unwrap_or_default();
        let name = name_of(&self.inspection, Path::new(last));
        name.context("it has no name; give one with --name")
    }

    /// Decides whether the node's policy lets it be the plugin of this name. `pinned` is a digest that somebody who may install
    /// plugins named, and where.
    pub fn admit(
        &self,
        paths: &Paths,
        uri: &PluginUri,
        name: &str,
        pinned: Option<(&Digest, &str)>,
    ) -> Result<Provenance> {
        let mut arrival = self.arrival.clone();
        let pinned = pinned.map(|(digest, by)| (digest.clone(), by.to_owned()));
        arrival.pinned.extend(pinned);
        let admitted = arrival.admit(paths, name, self.inspection.compiled.component());
        let admitted = admitted.with_context(|| format!("plugin `{name}` is not installed"))?;
        let version = version(&self.inspection).map(str::to_owned);
        Ok(Provenance {
            uri: Some(uri.to_string()),
            ..arrival.provenance(admitted, version)
        })
    }

    /// Errors: it is not a plugin.
    fn of(sandbox: &Sandbox, component: &[u8], arrival: Arrival) -> Result<Self> {
        let inspection = sandbox.inspect(component).map_err(show)?;
        inspection.check().map_err(show)?;
        Ok(Self {
            inspection,
            arrival,
        })
    }
}

/// What a URI leads to.
pub fn get(sandbox: &Sandbox, uri: &PluginUri, options: Options) -> Result<Found> {
    match uri.target() {
        UriTarget::File(file) => of_file(sandbox, file),
        UriTarget::Web(url) => {
            let downloaded = download(url, &options)?;
            let arrival = Arrival {
                bundles: Vec::from_iter(downloaded.signature),
                ..Arrival::default()
            };
            Found::of(sandbox, &downloaded.component, arrival)
        }
        UriTarget::Artifact(reference) => {
            let reference: Reference = reference.parse()?;
            let registry = Registry::new(&reference, options)?;
            let artifact = registry.pull()?;
            Ok(Found {
                inspection: check(sandbox, &artifact)?,
                arrival: Arrival::pulled(&registry, &artifact, &reference)?,
            })
        }
    }
}

/// The component of an installed plugin, with nothing beside it. It is asked for again only if it is not whole.
pub fn again(
    sandbox: &Sandbox,
    plugin: &Plugin,
    uri: &PluginUri,
    options: Options,
) -> Result<Found> {
    match plugin.component() {
        Ok(component) => Found::of(sandbox, &component, Arrival::default()),
        Err(_) => get(sandbox, uri, options),
    }
}

/// Waits until no other process installs what is at a URI: two would install the plugin of one URI twice.
pub fn lock(paths: &Paths) -> Result<File> {
    let path = paths.run().join("fetch.lock");
    let context = || format!("lock `{}`", path.display());
    let file = open_lock(&path).with_context(context)?;
    weir_files::lock(&file).with_context(context)?;
    Ok(file)
}

/// Where an installed plugin is from, in words.
pub fn origin(sandbox: &Sandbox, name: &str) -> String {
    let plugin = sandbox.catalogue().find(name).ok();
    let provenance = plugin.as_ref().and_then(Plugin::provenance);
    let known = provenance.and_then(|p| p.uri.as_ref().or(p.origin.as_ref()));
    match known {
        Some(from) => format!("from `{from}`"),
        None => "by `weir plugin add`".to_owned(),
    }
}

/// Whether two URIs lead to versions of one artifact.
pub fn is_same_repository(uri: &PluginUri, other: &str) -> bool {
    let repository = |uri: &PluginUri| match uri.target() {
        UriTarget::Artifact(reference) => {
            let reference: Reference = reference.parse().ok()?;
            Some((
                reference.registry().to_owned(),
                reference.repository().to_owned(),
            ))
        }
        UriTarget::File(_) | UriTarget::Web(_) => None,
    };
    let other = other.parse().ok().and_then(|other| repository(&other));
    other.is_some() && repository(uri) == other
}

/// A file of the node that only root could have written.
fn of_file(sandbox: &Sandbox, file: &Path) -> Result<Found> {
    let paths = sandbox.paths();
    let file = paths.resolve(file);
    let context = || format!("read `{}`", file.display());
    let opened = file_trust::open(&file, paths.root()).with_context(context)?;
    let component = read_opened(&opened, &file)?;
    let arrival = Arrival::beside(&file, &[], &component)?;
    Found::of(sandbox, &component, arrival)
}
