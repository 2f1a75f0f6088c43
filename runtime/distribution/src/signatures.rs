//! Signatures of an artifact: bundles of sigstore that refer to it, as `cosign` stores them.

use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use weir_grant::document::Digest;

use super::artifact::{Description, check_manifest};
use super::bundles::{MOST_BUNDLE, MOST_SIGNATURES, Signatures};
use super::client::{Call, status};
use super::error::{Error, Result};
use super::manifest::{BUNDLE, Descriptor, MANIFEST, MOST_METADATA, Referrer, digest};
use super::referrers;
use super::registry::{Registry, blob, put_manifest, upload};
use super::session::{Action, Session};

/// The media type of a configuration that says nothing.
const EMPTY: &str = "application/vnd.oci.empty.v1+json";
pub(crate) const EMPTY_CONTENT: &[u8] = b"{}";

/// By which a registry says that it lists what refers to an artifact itself.
const LISTED: &str = "oci-subject";

/// The manifest of a signature.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Signature {
    pub schema_version: u32,
    pub media_type: String,
    pub artifact_type: String,
    pub config: Descriptor,
    pub layers: Vec<Descriptor>,
    pub subject: Descriptor,
}

impl Signature {
    /// Makes the manifest of a bundle for an artifact.
    pub(crate) fn of(description: &Description, bundle: &[u8]) -> Self {
        Self {
            schema_version: 2,
            media_type: MANIFEST.to_owned(),
            artifact_type: BUNDLE.to_owned(),
            config: Descriptor::of(EMPTY, EMPTY_CONTENT),
            layers: vec![Descriptor::of(BUNDLE, bundle)],
            subject: Descriptor::of(MANIFEST, &description.manifest_bytes),
        }
    }

    /// Reads the manifest of a signature for an artifact. Returns the bundle's descriptor.
    pub(crate) fn bundle_of(bytes: &[u8], artifact: &Digest) -> Result<Descriptor> {
        let wrong = |why: String| Error::NotASignature { why: why.into() };
        let signature: Self =
            serde_json::from_slice(bytes).map_err(|e| wrong(format!("its manifest: {e}")))?;
        let subject = &signature.subject.digest;
        if subject != artifact {
            return Err(wrong(format!("it refers to {subject}, not to {artifact}")));
        }
        match &signature.layers[..] {
            [layer] if layer.media_type == BUNDLE && layer.size <= MOST_BUNDLE => Ok(layer.clone()),
            [layer] if layer.media_type == BUNDLE => Err(wrong(format!(
                "it has {} bytes, more than the {MOST_BUNDLE} of a bundle",
                layer.size
            ))),
            layers => Err(wrong(format!(
                "it has {} layers instead of one of type `{BUNDLE}`",
                layers.len()
            ))),
        }
    }
}

impl Registry {
    /// Downloads the signatures that refer to an artifact. They are not verified.
    pub fn signatures(&self, artifact: &Digest) -> Result<Signatures> {
        self.run(Action::Pull, async |session| {
            let mut signatures = Signatures::default();
            for referrer in signatures_listed(session, artifact).await? {
                signatures.add(bundle(session, &referrer, artifact).await)?;
            }
            Ok(signatures)
        })
    }

    /// Uploads a signature of an artifact that is there. A registry that does not list what refers to an artifact gets a list.
    pub fn attach(&self, description: &Description, bundle: &[u8]) -> Result<Digest> {
        self.run(Action::Push, async |session| {
            attach(session, description, bundle).await
        })
    }
}

async fn attach(session: &Session, description: &Description, bundle: &[u8]) -> Result<Digest> {
    let signature = Signature::of(description, bundle);
    upload(session, &signature.layers[0], bundle).await?;
    upload(session, &signature.config, EMPTY_CONTENT).await?;
    let manifest = json(&signature);
    let own = digest(&manifest);
    let answer = put_manifest(session, &own.to_string(), MANIFEST, &manifest).await?;
    if !answer.head.headers.contains_key(LISTED) {
        let listed = Referrer::signature(&manifest);
        referrers::add(session, &description.digest(), &listed).await?;
    }
    Ok(own)
}

/// What a registry lists as signatures of an artifact.
async fn signatures_listed(session: &Session, artifact: &Digest) -> Result<Vec<Referrer>> {
    let listed = referrers::of(session, artifact).await?.into_iter();
    let signatures: Vec<Referrer> = listed.filter(Referrer::is_signature).collect();
    if signatures.len() > MOST_SIGNATURES {
        return Err(Error::NotAPlugin {
            what: "its signatures are not looked at",
            why: format!("it has {}, more than {MOST_SIGNATURES}", signatures.len()).into(),
        });
    }
    Ok(signatures)
}

async fn bundle(session: &Session, referrer: &Referrer, artifact: &Digest) -> Result<Vec<u8>> {
    let Descriptor {
        digest: named,
        size,
        ..
    } = &referrer.descriptor;
    if *size > MOST_METADATA {
        let why = format!("its manifest has {size} bytes, more than {MOST_METADATA}");
        return Err(Error::NotASignature { why: why.into() });
    }
    let url = session.url(&format!("manifests/{named}"))?;
    let answer = session
        .send(&Call::new(Method::GET, url).accepting(MANIFEST))
        .await?;
    if answer.head.status != StatusCode::OK {
        return Err(status(answer).await);
    }
    let manifest = answer
        .read("the manifest of a signature", MOST_METADATA)
        .await?;
    check_manifest(named, &manifest)?;
    let layer = Signature::bundle_of(&manifest, artifact)?;
    blob(session, "a signature", &layer).await
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("text and numbers are JSON")
}
