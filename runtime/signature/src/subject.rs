//! What is signed.

use sigstore_verify::crypto::sha256;

use super::crypto;

/// What may be signed: a component, or the manifest of the artifact that names it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    pub name: &'a str,
    pub bytes: &'a [u8],
}

impl<'a> Subject<'a> {
    pub fn new(name: &'a str, bytes: &'a [u8]) -> Self {
        crypto::install();
        Self { name, bytes }
    }

    pub(crate) fn hex(&self) -> String {
        sha256(self.bytes).to_hex()
    }
}
