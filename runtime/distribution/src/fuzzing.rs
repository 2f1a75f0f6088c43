//! What the fuzz targets throw bytes at: the readers of what a server or an archive says, without the server and the file.

use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, HeaderValue};
use weir_grant::document::Digest;

use super::artifact::{Artifact, Description};
use super::authorization::Challenge;
use super::error::Result;
use super::layout;
use super::manifest::Descriptor;
use super::signatures::Signature;

/// Reads an archive with an image layout, as [`load`](super::load) does.
pub fn archive(bytes: &[u8]) -> Result<Artifact> {
    layout::of_archive(bytes)
}

/// Reads a manifest and the configuration that it names.
pub fn description(manifest: Vec<u8>, config: Vec<u8>) -> Result<Description> {
    Description::of(manifest, config)
}

/// Reads the manifest of an artifact's signature.
pub fn signature(manifest: &[u8], artifact: &Digest) -> Result<Descriptor> {
    Signature::bundle_of(manifest, artifact)
}

/// Reads how a registry wants to be authenticated to. Returns whether it says so.
pub fn challenge(header: &[u8]) -> bool {
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_bytes(header) {
        headers.insert(WWW_AUTHENTICATE, value);
    }
    Challenge::of(&headers).is_some()
}
