//! The manifest of an artifact (OCI image specification, "Image Manifest"), and what one of a plugin must be.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use weir_grant::document::Digest;

use super::error::{Error, Result};

/// The media type of manifests, which names no version of its own.
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The media type of lists of manifests.
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// Docker's media type of lists of manifests.
pub(crate) const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
/// The media type of the configuration, by which an artifact is one of WebAssembly.
pub(crate) const CONFIG: &str = "application/vnd.wasm.config.v0+json";
/// The media type of a component.
pub(crate) const COMPONENT: &str = "application/wasm";

/// The media type of bundles of sigstore, by which what refers to an artifact is a signature.
pub const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

/// The largest manifest, index and configuration, in bytes. Registries take manifests of 4 MiB.
pub(crate) const MOST_METADATA: u64 = 4 << 20;
/// The largest component, in bytes: the most that weir installs.
pub(crate) const MOST_COMPONENT: u64 = 64 << 20;

/// SHA-256 of some bytes.
pub fn digest(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}

/// What a blob is, by which it is found and checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    pub media_type: String,
    pub digest: Digest,
    /// In bytes.
    pub size: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl Descriptor {
    pub(crate) fn of(media_type: &str, bytes: &[u8]) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: digest(bytes),
            size: bytes.len() as u64,
            annotations: BTreeMap::new(),
        }
    }

    /// Checks that a blob is the described one. `what` is its name in an error.
    pub(crate) fn check(&self, what: &str, bytes: &[u8]) -> Result<()> {
        let found = bytes.len() as u64;
        if found != self.size {
            return Err(Error::Size {
                what: what.into(),
                expected: self.size,
                found,
            });
        }
        check_digest(what, &self.digest, bytes)
    }
}

/// Checks the digest of some bytes. `what` is their name in an error.
pub(crate) fn check_digest(what: &str, expected: &Digest, bytes: &[u8]) -> Result<()> {
    let found = digest(bytes);
    if found != *expected {
        return Err(Error::Digest {
            what: what.into(),
            expected: expected.clone(),
            found,
        });
    }
    Ok(())
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    pub schema_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    pub config: Descriptor,
    pub layers: Vec<Descriptor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl Manifest {
    /// Reads the manifest of a plugin. Errors: it is an index, or that of something else.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        refuse_index(bytes)?;
        let manifest: Self =
            serde_json::from_slice(bytes).map_err(|e| wrong(&format!("not valid: {e}")))?;
        manifest.check()?;
        Ok(manifest)
    }

    fn check(&self) -> Result<()> {
        if self.schema_version != 2 {
            return Err(wrong(&format!(
                "`schemaVersion` is {} instead of 2",
                self.schema_version
            )));
        }
        if let Some(other) = self.media_type.as_deref().filter(|kind| *kind != MANIFEST) {
            return Err(wrong(&format!(
                "`mediaType` is `{other}` instead of `{MANIFEST}`"
            )));
        }
        if self.config.media_type != CONFIG {
            return Err(wrong(&format!(
                "its configuration is of type `{}` instead of `{CONFIG}`: the artifact is not a WebAssembly component",
                self.config.media_type
            )));
        }
        self.check_layers()?;
        self.check_sizes()
    }

    fn check_layers(&self) -> Result<()> {
        let [layer] = &self.layers[..] else {
            return Err(wrong(&format!(
                "it has {} layers instead of one, the component",
                self.layers.len()
            )));
        };
        if layer.media_type != COMPONENT {
            return Err(wrong(&format!(
                "its layer is of type `{}` instead of `{COMPONENT}`, a component that is not compressed",
                layer.media_type
            )));
        }
        Ok(())
    }

    fn check_sizes(&self) -> Result<()> {
        let (component, config) = (self.component().size, self.config.size);
        if component > MOST_COMPONENT {
            return Err(Error::TooLarge {
                size: component,
                limit: MOST_COMPONENT,
            });
        }
        if config > MOST_METADATA {
            return Err(wrong(&format!(
                "its configuration has {config} bytes, more than {MOST_METADATA}"
            )));
        }
        Ok(())
    }

    /// Reads the manifest of a plugin's artifact that came another way than an artifact. Errors: also if it is too large.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes.len() as u64 > MOST_METADATA {
            return Err(wrong(&format!("it is larger than {MOST_METADATA} bytes")));
        }
        Self::read(bytes)
    }

    /// The descriptor of the component: the only layer.
    pub fn component(&self) -> &Descriptor {
        &self.layers[0]
    }
}

/// An index of manifests, in a registry or as `index.json` of a layout.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Index {
    pub schema_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    pub manifests: Vec<Referrer>,
}

/// A manifest in an index, and what it is of if it refers to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Referrer {
    #[serde(flatten)]
    pub descriptor: Descriptor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
}

impl Referrer {
    /// Of the manifest of a signature.
    pub(crate) fn signature(manifest: &[u8]) -> Self {
        Self {
            descriptor: Descriptor::of(MANIFEST, manifest),
            artifact_type: Some(BUNDLE.to_owned()),
        }
    }

    pub(crate) fn is_signature(&self) -> bool {
        self.artifact_type.as_deref() == Some(BUNDLE)
    }
}

/// Refuses an index. One is never followed, so that none can lead back to itself.
fn refuse_index(bytes: &[u8]) -> Result<()> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Kind {
        media_type: Option<String>,
        manifests: Option<Vec<IndexEntry>>,
    }
    #[derive(Deserialize)]
    struct IndexEntry {
        digest: String,
    }
    let Ok(kind) = serde_json::from_slice::<Kind>(bytes) else {
        return Ok(());
    };
    let is_index = matches!(kind.media_type.as_deref(), Some(INDEX | DOCKER_LIST));
    match kind.manifests {
        None if !is_index => Ok(()),
        manifests => {
            let all = manifests.unwrap_or_default().into_iter();
            Err(Error::Index {
                manifests: all.map(|entry| entry.digest).take(MOST_NAMED).collect(),
            })
        }
    }
}

/// The most digests that an error lists.
const MOST_NAMED: usize = 8;

fn wrong(why: &str) -> Error {
    Error::NotAPlugin {
        what: "its manifest is not that of a plugin",
        why: why.into(),
    }
}
