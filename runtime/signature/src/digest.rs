//! SHA-256.

use sigstore_verify::crypto::sha256;
use weir_grant::document::Digest;

/// Of some bytes.
pub(crate) fn digest(bytes: &[u8]) -> Digest {
    let digest = *sha256(bytes).as_bytes();
    Digest::new(digest)
}
