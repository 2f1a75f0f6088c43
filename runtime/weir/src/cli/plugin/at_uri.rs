//! What is at a URI: a component, with what came along, whether it is a plugin, and whether the policy lets it in.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use weir_distribution::{Artifact, Options, Reference, Registry, download};
use weir_files::paths::open_lock;
use weir_files::{Paths, file_trust};
use weir_grant::document::Digest;
use weir_sandbox::{Inspection, Plugin, PluginUri, Provenance, Sandbox, UriTarget};
use weir_signature::Policy;

use super::arrival::Arrival;
use super::artifact::compare;
use super::installation::version;
use crate::cli::component::{name_of, read_opened};
use crate::cli::output::show;

/// What a network or a list wants at a URI. Only that is compiled, and runs.
#[derive(Clone, Copy, Default)]
pub struct Expected<'a> {
    /// The plugin's name on this node, if it is known.
    pub name: Option<&'a str>,
    /// The component's digest.
    pub digest: Option<&'a Digest>,
    /// Where somebody who may install plugins named the digest, whoever signed the component.
    pub pinned_by: Option<&'a str>,
}

impl Expected<'_> {
    /// What arrived, with the digest that was named for it.
    fn of(&self, arrival: &Arrival) -> Arrival {
        let mut arrival = arrival.clone();
        arrival.pin(self.digest, self.pinned_by);
        arrival
    }

    /// What failed.
    fn not_installed(&self) -> String {
        match self.name {
            Some(name) => format!("the component is not installed as plugin `{name}`"),
            None => "the component is not installed".to_owned(),
        }
    }
}

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

    /// Decides whether the node's policy lets it be the plugin that is wanted.
    pub fn admit(
        &self,
        paths: &Paths,
        uri: &PluginUri,
        expected: &Expected<'_>,
    ) -> Result<Provenance> {
        let component = self.inspection.compiled.component();
        let arrival = expected.of(&self.arrival);
        let admitted = arrival.admit(paths, expected.name, component);
        let admitted = admitted.with_context(|| expected.not_installed())?;
        let version = version(&self.inspection).map(str::to_owned);
        Ok(Provenance {
            uri: Some(uri.to_string()),
            ..self.arrival.provenance(admitted, version)
        })
    }

    fn of(
        sandbox: &Sandbox,
        expected: &Expected<'_>,
        component: &[u8],
        arrival: Arrival,
    ) -> Result<Self> {
        let paths = sandbox.paths();
        expected
            .of(&arrival)
            .check_first(&Policy::load(paths)?, paths, expected.name, component)
            .with_context(|| expected.not_installed())?;
        let inspection = sandbox.inspect(component).map_err(show)?;
        inspection.check().map_err(show)?;
        Ok(Self {
            inspection,
            arrival,
        })
    }
}

/// What is at a URI, before anything of it was looked at.
pub struct Content {
    arrival: Arrival,
    body: Body,
}

enum Body {
    Component(Vec<u8>),
    Artifact(Box<Artifact>),
}

impl Content {
    /// A component with nothing beside it.
    pub fn of(component: Vec<u8>) -> Self {
        Self {
            arrival: Arrival::default(),
            body: Body::Component(component),
        }
    }

    /// Compiles it. Errors: it is not what is wanted, or not a plugin.
    pub fn check(self, sandbox: &Sandbox, expected: &Expected<'_>) -> Result<Found> {
        match self.body {
            Body::Component(component) => Found::of(sandbox, expected, &component, self.arrival),
            Body::Artifact(artifact) => {
                let found = Found::of(sandbox, expected, &artifact.component, self.arrival)?;
                compare(&artifact, &found.inspection, None)?;
                Ok(found)
            }
        }
    }
}

/// Reads or downloads what is at a URI. Nothing of it is verified.
pub fn fetch(paths: &Paths, uri: &PluginUri, options: Options) -> Result<Content> {
    match uri.target() {
        UriTarget::File(file) => of_file(paths, file),
        UriTarget::Web(url) => {
            let downloaded = download(url, &options)?;
            let arrival = Arrival {
                signatures: Vec::from_iter(downloaded.signature).into(),
                ..Arrival::default()
            };
            let body = Body::Component(downloaded.component);
            Ok(Content { arrival, body })
        }
        UriTarget::Artifact(reference) => {
            let reference: Reference = reference.parse()?;
            let registry = Registry::new(&reference, options)?;
            let artifact = registry.pull()?;
            Ok(Content {
                arrival: Arrival::pulled(&registry, &artifact, &reference)?,
                body: Body::Artifact(Box::new(artifact)),
            })
        }
    }
}

/// What a URI leads to, compiled.
pub fn get(
    sandbox: &Sandbox,
    uri: &PluginUri,
    options: Options,
    expected: &Expected<'_>,
) -> Result<Found> {
    fetch(sandbox.paths(), uri, options)?.check(sandbox, expected)
}

/// The component of an installed plugin, with nothing beside it. It is asked for again only if it is not whole.
pub fn again(
    sandbox: &Sandbox,
    plugin: &Plugin,
    uri: &PluginUri,
    options: Options,
    expected: &Expected<'_>,
) -> Result<Found> {
    match plugin.component() {
        Ok(component) => Content::of(component).check(sandbox, expected),
        Err(_) => get(sandbox, uri, options, expected),
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
fn of_file(paths: &Paths, file: &Path) -> Result<Content> {
    let file = paths.resolve(file);
    let context = || format!("read `{}`", file.display());
    let opened = file_trust::open(&file, paths.root()).with_context(context)?;
    let component = read_opened(&opened, &file)?;
    Ok(Content {
        arrival: Arrival::beside(&file, &[], &component)?,
        body: Body::Component(component),
    })
}
