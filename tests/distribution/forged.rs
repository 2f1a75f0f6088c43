//! Artifacts that somebody makes by hand, to be loaded from a layout and pulled from a registry: each part is what a test says, and the
//! digests that name it are right.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_distribution::{Artifact, BUNDLE, Interface, Metadata, digest};
use weir_kit::http_server::{Answer, Server};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG: &str = "application/vnd.wasm.config.v0+json";

/// The parts of an artifact.
#[derive(Clone)]
pub struct Forged {
    pub component: Vec<u8>,
    /// The types of its configuration and of its layers, all of which are the component.
    pub config_type: &'static str,
    pub layer_types: Vec<&'static str>,
    /// What is in the place of the manifest.
    pub manifest: Option<Value>,
    pub bundles: Vec<Vec<u8>>,
}

/// What is found by its digest.
type Blobs = Vec<Vec<u8>>;

impl Forged {
    /// An honest artifact of `examples/pinned-gateway`.
    pub fn of(component: &[u8]) -> Self {
        Self {
            component: component.to_vec(),
            config_type: CONFIG,
            layer_types: vec!["application/wasm"],
            manifest: None,
            bundles: Vec::new(),
        }
    }

    fn manifest(&self) -> Result<(Value, Blobs)> {
        let interface = Interface {
            imports: vec!["weir:cni/neighbour@0.2.0".to_owned()],
            ..Interface::default()
        };
        let honest = Artifact::new(self.component.clone(), interface, &Metadata::default())?;
        let config = serde_json::to_vec(&honest.description.config)?;
        let layer = |kind: &&str| descriptor(kind, &self.component);
        let layers: Vec<Value> = self.layer_types.iter().map(layer).collect();
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": descriptor(self.config_type, &config),
            "layers": layers,
        });
        let manifest = self.manifest.clone().unwrap_or(manifest);
        Ok((manifest, vec![config, self.component.clone()]))
    }

    /// All blobs, the first of which is the manifest, and the descriptors of the signatures.
    fn blobs(&self) -> Result<(Value, Blobs, Vec<Value>)> {
        let (manifest, mut rest) = self.manifest()?;
        let bytes = manifest.to_string().into_bytes();
        let kind = manifest["mediaType"].as_str().unwrap_or(MANIFEST);
        let named = descriptor(kind, &bytes);
        let mut blobs = vec![bytes];
        blobs.append(&mut rest);
        let mut signatures = Vec::new();
        for bundle in &self.bundles {
            let signature = json!({
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "artifactType": BUNDLE,
                "config": descriptor("application/vnd.oci.empty.v1+json", b"{}"),
                "layers": [descriptor(BUNDLE, bundle)],
                "subject": named,
            });
            let signature = signature.to_string().into_bytes();
            let mut listed = descriptor(MANIFEST, &signature);
            listed["artifactType"] = json!(BUNDLE);
            signatures.push(listed);
            blobs.extend([signature, bundle.clone()]);
        }
        Ok((named, blobs, signatures))
    }

    /// Writes an image layout.
    pub fn write(&self, layout: &Path) -> Result<()> {
        let (named, blobs, signatures) = self.blobs()?;
        let manifests = [vec![named], signatures].concat();
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests });
        let directory = layout.join("blobs/sha256");
        fs::create_dir_all(&directory)?;
        for blob in blobs {
            let digest = digest(&blob).to_string();
            let (_, hex) = digest.split_once(':').context("a digest")?;
            fs::write(directory.join(hex), blob)?;
        }
        fs::write(
            layout.join("oci-layout"),
            r#"{"imageLayoutVersion":"1.0.0"}"#,
        )?;
        Ok(fs::write(layout.join("index.json"), index.to_string())?)
    }

    /// A registry that has it, and knows no tags: whatever is asked for by one is its manifest.
    pub fn serve(&self) -> Result<Server> {
        let (_, blobs, signatures) = self.blobs()?;
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": signatures });
        let index = index.to_string();
        Ok(Server::start(move |seen| {
            let named_by = |blob: &&Vec<u8>| seen.path.ends_with(&digest(blob).to_string());
            if seen.path.contains("/referrers/") {
                return Answer::ok(index.as_bytes());
            }
            if let Some(blob) = blobs.iter().find(named_by) {
                return Answer::ok(blob);
            }
            let is_tag = seen.path.contains("/manifests/") && !seen.path.contains("sha256");
            if is_tag {
                Answer::ok(&blobs[0])
            } else {
                Answer::status(404)
            }
        }))
    }
}

fn descriptor(kind: &str, bytes: &[u8]) -> Value {
    json!({ "mediaType": kind, "digest": digest(bytes).to_string(), "size": bytes.len() })
}
