//! Signatures of an artifact: bundles of sigstore that refer to it (OCI distribution specification 1.1, "Listing Referrers"), as
//! `cosign` stores them.

use http::{Method, StatusCode};
use hyper::body::Bytes;
use serde::{Deserialize, Serialize};
use weir_grant::document::Digest;

use super::artifact::{Description, check_manifest};
use super::client::{Call, shown, status};
use super::error::{Error, Result};
use super::manifest::{
    BUNDLE, Descriptor, INDEX, Index, MANIFEST, MOST_METADATA, Referrer, digest,
};
use super::registry::{Registry, blob, upload};
use super::session::{Action, Session};

/// The media type of a configuration that says nothing.
const EMPTY: &str = "application/vnd.oci.empty.v1+json";
pub(crate) const EMPTY_CONTENT: &[u8] = b"{}";

/// By which a registry says that it lists what refers to an artifact itself.
const LISTED: &str = "oci-subject";

/// The largest bundle, in bytes, and the most of them that are looked at.
pub(crate) const MOST_BUNDLE: u64 = 1 << 20;
pub(crate) const MOST_SIGNATURES: usize = 16;

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
        let wrong = |why: String| Error::NotAPlugin {
            what: "a signature of it is not valid",
            why: why.into(),
        };
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
    pub fn signatures(&self, artifact: &Digest) -> Result<Vec<Vec<u8>>> {
        self.run(Action::Pull, async |session| {
            let mut bundles = Vec::new();
            for referrer in referrers(session, artifact).await? {
                bundles.push(bundle(session, &referrer, artifact).await?);
            }
            Ok(bundles)
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
    if !put(session, &own.to_string(), MANIFEST, &manifest).await? {
        let listed = Referrer::signature(&manifest);
        list(session, &description.digest(), listed).await?;
    }
    Ok(own)
}

/// Uploads a manifest. Returns whether the registry lists what it refers to.
async fn put(session: &Session, name: &str, kind: &'static str, manifest: &[u8]) -> Result<bool> {
    let url = session.url(&format!("manifests/{name}"))?;
    let call = Call::new(Method::PUT, url).sending(kind, Bytes::copy_from_slice(manifest));
    let answer = session.send(&call).await?;
    if answer.head.status != StatusCode::CREATED {
        return Err(status(answer).await);
    }
    Ok(answer.head.headers.contains_key(LISTED))
}

/// Adds a signature to the list of an artifact ("Referrers Tag Schema").
async fn list(session: &Session, artifact: &Digest, listed: Referrer) -> Result<()> {
    let tag = tag(artifact);
    let listed_before = index(session, &format!("manifests/{tag}")).await?;
    let mut manifests = listed_before.unwrap_or_default();
    if manifests.contains(&listed) {
        return Ok(());
    }
    manifests.push(listed);
    let referrers = Index {
        schema_version: 2,
        media_type: Some(INDEX.to_owned()),
        manifests,
    };
    put(session, &tag, INDEX, &json(&referrers)).await?;
    Ok(())
}

/// The signatures among what refers to an artifact.
async fn referrers(session: &Session, artifact: &Digest) -> Result<Vec<Referrer>> {
    let listed = match index(session, &format!("referrers/{artifact}")).await? {
        Some(listed) => listed,
        None => {
            let tagged = index(session, &format!("manifests/{}", tag(artifact))).await?;
            tagged.unwrap_or_default()
        }
    };
    let signatures = listed.into_iter().filter(Referrer::is_signature);
    let signatures: Vec<Referrer> = signatures.collect();
    if signatures.len() > MOST_SIGNATURES {
        return Err(Error::NotAPlugin {
            what: "its signatures are not looked at",
            why: format!("it has {}, more than {MOST_SIGNATURES}", signatures.len()).into(),
        });
    }
    Ok(signatures)
}

/// What an index names; none if there is no such index.
async fn index(session: &Session, path: &str) -> Result<Option<Vec<Referrer>>> {
    let call = Call::new(Method::GET, session.url(path)?).accepting(INDEX);
    let answer = session.send(&call).await?;
    match answer.head.status {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => return Ok(None),
        _ => return Err(status(answer).await),
    }
    let url = shown(&answer);
    let bytes = answer.read("a list of signatures", MOST_METADATA).await?;
    let referrers: Index = serde_json::from_slice(&bytes).map_err(|e| Error::Protocol {
        url: url.into(),
        why: format!("its list of signatures is not valid: {e}").into(),
    })?;
    Ok(Some(referrers.manifests))
}

async fn bundle(session: &Session, referrer: &Referrer, artifact: &Digest) -> Result<Vec<u8>> {
    let named = &referrer.descriptor.digest;
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

/// The tag of the list of what refers to an artifact.
fn tag(artifact: &Digest) -> String {
    artifact.to_string().replace(':', "-")
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("text and numbers are JSON")
}
