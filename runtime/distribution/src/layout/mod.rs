//! An artifact as an OCI image layout (OCI image specification, "Image Layout"), for nodes without a network.

mod archive;
mod directory;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use weir_grant::document::Digest;

use super::artifact::{Artifact, Description};
use super::bundles::MOST_SIGNATURES;
use super::error::{Error, Result};
use super::manifest::{
    CONFIG, Descriptor, INDEX, Index, MANIFEST, MOST_METADATA, Manifest, Referrer, digest,
};
use super::reference::{Reference, Version};
use super::signatures::{EMPTY_CONTENT, Signature};

const MARKER: &str = "oci-layout";
const INDEX_FILE: &str = "index.json";
const BLOBS: &str = "blobs/sha256/";
const VERSION: &str = "1.0.0";

/// The tag of a manifest in an index.
const TAG: &str = "org.opencontainers.image.ref.name";

/// The content of `oci-layout`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Marker {
    image_layout_version: String,
}

/// The files of a layout that is read.
trait Files {
    /// Reads a file. Errors: it does not exist, is not a file, or is larger than `limit`, in bytes.
    fn read(&mut self, name: &str, limit: u64) -> Result<Vec<u8>, String>;
}

/// Saves an artifact: as a tar archive if `to` ends in `.tar`, as a directory otherwise. `reference` gives it its tag.
///
/// Errors: `to` exists, unless it is an empty directory. Nothing is left then.
pub fn save(artifact: &Artifact, reference: &Reference, to: &Path) -> Result<()> {
    let files = files(artifact, reference);
    if to.extension().is_some_and(|extension| extension == "tar") {
        archive::save(&files, to)
    } else {
        directory::save(&files, to)
    }
}

/// Loads the only artifact of a layout, a directory or a tar archive, and checks its digests and sizes.
pub fn load(from: &Path) -> Result<Artifact> {
    let wrong = |why: String| Error::Layout {
        path: from.to_owned(),
        why: why.into(),
    };
    if from.is_dir() {
        return read(&mut directory::open(from)?, wrong);
    }
    read(&mut archive::open(from)?, wrong)
}

/// Loads the only artifact of an archive that is in memory.
#[cfg(feature = "fuzzing")]
pub(crate) fn of_archive(bytes: &[u8]) -> Result<Artifact> {
    let wrong = |why: String| Error::Layout {
        path: "archive".into(),
        why: why.into(),
    };
    read(&mut archive::read(bytes).map_err(wrong)?, wrong)
}

fn read(files: &mut impl Files, wrong: impl Fn(String) -> Error) -> Result<Artifact> {
    let marker = files.read(MARKER, MOST_METADATA).map_err(&wrong)?;
    let marker: Marker =
        serde_json::from_slice(&marker).map_err(|e| wrong(format!("`{MARKER}`: {e}")))?;
    if marker.image_layout_version != VERSION {
        let version = marker.image_layout_version;
        return Err(wrong(format!(
            "it has version `{version}` instead of {VERSION}"
        )));
    }
    let index = files.read(INDEX_FILE, MOST_METADATA).map_err(&wrong)?;
    let index: Index =
        serde_json::from_slice(&index).map_err(|e| wrong(format!("`{INDEX_FILE}`: {e}")))?;
    let (named, referrers) = only(&index).map_err(&wrong)?;
    let mut blob = |descriptor: &Descriptor, what: &str, most: u64| {
        let name = blob_name(&descriptor.digest);
        let bytes = files.read(&name, most).map_err(&wrong)?;
        descriptor.check(what, &bytes)?;
        Ok::<_, Error>(bytes)
    };
    let manifest_bytes = blob(named, "the manifest", MOST_METADATA)?;
    let manifest = Manifest::read(&manifest_bytes)?;
    let config = blob(
        &manifest.config,
        "the artifact's configuration",
        MOST_METADATA,
    )?;
    let description = Description::of(manifest_bytes, config)?;
    let layer = manifest.component();
    let component = blob(layer, "the component", layer.size)?;
    let mut artifact = Artifact::of(description, component)?;
    for referrer in referrers {
        let what = "the manifest of a signature";
        let manifest = blob(&referrer.descriptor, what, MOST_METADATA)?;
        let bundle = Signature::bundle_of(&manifest, &artifact.digest());
        let bundle = bundle.and_then(|layer| blob(&layer, "a signature", layer.size));
        artifact.signatures.add(bundle)?;
    }
    Ok(artifact)
}

/// The only manifest of an index that refers to no other, and the signatures. What else refers to it, such as a bill of materials, is
/// of a type of its own.
fn only(index: &Index) -> Result<(&Descriptor, Vec<&Referrer>), String> {
    let (signatures, others): (Vec<&Referrer>, Vec<&Referrer>) =
        (index.manifests.iter()).partition(|one| one.is_signature());
    if signatures.len() > MOST_SIGNATURES {
        return Err(format!(
            "`{INDEX_FILE}` names {} signatures, more than {MOST_SIGNATURES}",
            signatures.len()
        ));
    }
    let refers_to_none =
        |one: &&Referrer| matches!(one.artifact_type.as_deref(), None | Some(CONFIG));
    let others: Vec<&Referrer> = others.into_iter().filter(refers_to_none).collect();
    match &others[..] {
        [one] if one.descriptor.media_type == MANIFEST => Ok((&one.descriptor, signatures)),
        [other] => Err(format!(
            "`{INDEX_FILE}` names one of type `{}` instead of `{MANIFEST}`; an index within it is not followed",
            other.descriptor.media_type
        )),
        several => Err(format!(
            "`{INDEX_FILE}` names {} artifacts instead of one",
            several.len()
        )),
    }
}

fn blob_name(digest: &Digest) -> String {
    let text = digest.to_string();
    let hex = text.split_once(':').map_or("", |(_, hex)| hex);
    format!("{BLOBS}{hex}")
}

/// The files of an artifact's layout, in the order in which they are written.
fn files<'a>(artifact: &'a Artifact, reference: &Reference) -> Vec<(String, Bytes<'a>)> {
    let Artifact {
        description,
        component,
        signatures,
    } = artifact;
    let mut named = Referrer {
        descriptor: Descriptor::of(MANIFEST, &description.manifest_bytes),
        artifact_type: None,
    };
    if let Version::Tag(tag) = reference.version() {
        named.descriptor.annotations = BTreeMap::from([(TAG.to_owned(), tag.clone())]);
    }
    let mut index = Index {
        schema_version: 2,
        media_type: Some(INDEX.to_owned()),
        manifests: vec![named],
    };
    let marker = Marker {
        image_layout_version: VERSION.to_owned(),
    };
    let manifest = &description.manifest;
    let blob = |digest: &Digest, bytes: &'a [u8]| (blob_name(digest), Bytes::Borrowed(bytes));
    let mut blobs = vec![
        blob(&artifact.digest(), &description.manifest_bytes),
        blob(&manifest.config.digest, &description.config_bytes),
        blob(&manifest.component().digest, component),
    ];
    for bundle in &signatures.bundles {
        let signature = Signature::of(description, bundle);
        let manifest = json(&signature);
        let referrer = Referrer::signature(&manifest);
        if index.manifests.contains(&referrer) {
            continue;
        }
        blobs.push((blob_name(&referrer.descriptor.digest), manifest));
        blobs.push(blob(&signature.layers[0].digest, bundle));
        index.manifests.push(referrer);
    }
    if !signatures.bundles.is_empty() {
        blobs.push(blob(&digest(EMPTY_CONTENT), EMPTY_CONTENT));
    }
    let mut files = vec![
        (MARKER.to_owned(), json(&marker)),
        (INDEX_FILE.to_owned(), json(&index)),
    ];
    files.append(&mut blobs);
    files
}

type Bytes<'a> = std::borrow::Cow<'a, [u8]>;

fn json<'a>(value: &impl Serialize) -> Bytes<'a> {
    Bytes::Owned(serde_json::to_vec(value).expect("text and numbers are JSON"))
}

/// The directory in which something is made before it gets its name.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}
