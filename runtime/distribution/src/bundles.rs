//! The signatures that came with an artifact, before any of them is verified.

use super::error::{Error, Result};

/// The largest bundle, in bytes, and the most of them that are looked at.
pub(crate) const MOST_BUNDLE: u64 = 1 << 20;
pub(crate) const MOST_SIGNATURES: usize = 64;

/// The signatures that refer to an artifact. None of them is verified yet.
#[derive(Clone, Debug, Default)]
pub struct Signatures {
    /// Bundles of sigstore.
    pub bundles: Vec<Vec<u8>>,
    /// Why something else that refers to the artifact is none that can be verified, such as a bundle that is too large. Whoever may
    /// push to a repository can add one, which must not hide the others.
    pub unusable: Option<String>,
}

impl From<Vec<Vec<u8>>> for Signatures {
    fn from(bundles: Vec<Vec<u8>>) -> Self {
        Self {
            bundles,
            unusable: None,
        }
    }
}

impl Signatures {
    /// Adds one that was read. One that is not usable is only remembered. Errors: it could not be read.
    pub(crate) fn add(&mut self, bundle: Result<Vec<u8>>) -> Result<()> {
        match bundle {
            Ok(bundle) => self.bundles.push(bundle),
            Err(error @ Error::NotASignature { .. }) => {
                self.unusable.get_or_insert_with(|| error.to_string());
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
