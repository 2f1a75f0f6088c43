//! A plugin as an artifact: made of a component, and checked when it comes back.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;
use weir_grant::Capability;
use weir_grant::document::Digest;

use super::bundles::Signatures;
use super::config::{Config, Interface};
use super::error::{Error, Result};
use super::manifest::{
    COMPONENT, CONFIG, Descriptor, MANIFEST, MOST_COMPONENT, MOST_METADATA, Manifest, check_digest,
    digest,
};

/// The annotation with the grant that the author proposes, as YAML. A layer of its own would keep other tools from reading the
/// artifact: `wkg` takes no more than one.
pub const GRANT: &str = "dev.weir.plugin.grant";

const CREATED: &str = "org.opencontainers.image.created";
const TITLE: &str = "org.opencontainers.image.title";

/// Annotations that weir sets itself.
pub const OWN_ANNOTATIONS: [&str; 3] = [CREATED, TITLE, GRANT];

/// What an artifact says about a component besides its content.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    /// The plugin's name, the artifact's title.
    pub name: String,
    /// When the artifact is made, which is a part of its digest.
    pub created: Timestamp,
    /// Further annotations, such as `org.opencontainers.image.source`.
    pub annotations: BTreeMap<String, String>,
    /// The grant that the author proposes, as YAML.
    pub grant: Option<String>,
}

/// All of an artifact except the component: what can be known without downloading it.
#[derive(Clone, Debug)]
pub struct Description {
    /// As it is stored: its digest is the artifact's.
    pub(crate) manifest_bytes: Vec<u8>,
    pub(crate) config_bytes: Vec<u8>,
    pub manifest: Manifest,
    pub config: Config,
}

/// A plugin as an artifact.
#[derive(Clone, Debug)]
pub struct Artifact {
    pub description: Description,
    pub component: Vec<u8>,
    /// What came along in a layout, or goes along into one.
    pub signatures: Signatures,
}

impl Description {
    /// Checks a manifest and the configuration that it names.
    pub(crate) fn of(manifest_bytes: Vec<u8>, config_bytes: Vec<u8>) -> Result<Self> {
        let manifest = Manifest::read(&manifest_bytes)?;
        manifest
            .config
            .check("the artifact's configuration", &config_bytes)?;
        let config = Config::read(&config_bytes, &manifest.component().digest)?;
        Ok(Self {
            manifest_bytes,
            config_bytes,
            manifest,
            config,
        })
    }

    /// The artifact's digest: that of its manifest.
    pub fn digest(&self) -> Digest {
        digest(&self.manifest_bytes)
    }

    /// The manifest as it is stored.
    pub fn manifest_bytes(&self) -> &[u8] {
        &self.manifest_bytes
    }

    pub fn annotations(&self) -> &BTreeMap<String, String> {
        &self.manifest.annotations
    }

    /// The grant that the author proposes, as YAML. It is in force only if an administrator installs it.
    pub fn grant(&self) -> Option<&str> {
        self.manifest.annotations.get(GRANT).map(String::as_str)
    }

    /// The capabilities that the plugin requests, as the artifact says. [`Artifact::check_requests`] compares them with the
    /// component.
    pub fn capabilities(&self) -> BTreeSet<Capability> {
        self.config.capabilities()
    }
}

impl Artifact {
    /// Makes an artifact of a component. Errors: the component or the annotations are too large.
    pub fn new(component: Vec<u8>, interface: Interface, metadata: &Metadata) -> Result<Self> {
        let size = component.len() as u64;
        if size > MOST_COMPONENT {
            return Err(Error::TooLarge {
                size,
                limit: MOST_COMPONENT,
            });
        }
        let mut layer = Descriptor::of(COMPONENT, &component);
        let title = format!("{}.wasm", metadata.name);
        layer.annotations.insert(TITLE.to_owned(), title);
        let created = metadata.created.to_string();
        let config = Config::new(&layer.digest, interface, created.clone());
        let config_bytes = as_json(&config);
        let manifest = Manifest {
            schema_version: 2,
            media_type: Some(MANIFEST.to_owned()),
            config: Descriptor::of(CONFIG, &config_bytes),
            layers: vec![layer],
            annotations: annotations(metadata, created),
        };
        let manifest_bytes = as_json(&manifest);
        if manifest_bytes.len() as u64 > MOST_METADATA {
            return Err(Error::NotAPlugin {
                what: "its manifest is larger than a registry takes",
                why: format!("annotations and grant make {} bytes", manifest_bytes.len()).into(),
            });
        }
        Ok(Self {
            description: Description::of(manifest_bytes, config_bytes)?,
            component,
            signatures: Signatures::default(),
        })
    }

    /// Puts together what was read. Errors: the component is not the one that the manifest names.
    pub(crate) fn of(description: Description, component: Vec<u8>) -> Result<Self> {
        let expected = description.manifest.component();
        expected.check("the component", &component)?;
        Ok(Self {
            description,
            component,
            signatures: Signatures::default(),
        })
    }

    /// Checks that the artifact requests the capabilities that its component imports, so that who reads one knows the other.
    pub fn check_requests(&self, imported: impl IntoIterator<Item = Capability>) -> Result<()> {
        let stated = self.description.capabilities();
        let imported: BTreeSet<Capability> = imported.into_iter().collect();
        if stated == imported {
            return Ok(());
        }
        let words = |capabilities: &BTreeSet<Capability>| {
            let words: Vec<&str> = capabilities.iter().map(|c| c.word()).collect();
            words.join(", ")
        };
        Err(Error::NotAPlugin {
            what: "its configuration is not that of its component",
            why: format!(
                "it states the capabilities `{}`, and the component imports `{}`",
                words(&stated),
                words(&imported)
            )
            .into(),
        })
    }

    /// The digest of the artifact: that of its manifest.
    pub fn digest(&self) -> Digest {
        self.description.digest()
    }
}

/// Checks a manifest against the digest by which it was asked for.
pub(crate) fn check_manifest(expected: &Digest, manifest: &[u8]) -> Result<()> {
    check_digest("the manifest", expected, manifest)
}

fn annotations(metadata: &Metadata, created: String) -> BTreeMap<String, String> {
    let mut annotations = metadata.annotations.clone();
    annotations.insert(CREATED.to_owned(), created);
    annotations.insert(TITLE.to_owned(), metadata.name.clone());
    if let Some(grant) = &metadata.grant {
        annotations.insert(GRANT.to_owned(), grant.clone());
    }
    annotations
}

fn as_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("text and numbers are JSON")
}
