//! The operator's trust root (`trusted_root.json` of sigstore): which authorities certify identities, and which logs and time
//! stamps prove when a certificate was used.

use std::io::Read;
use std::path::Path;

use sigstore_verify::Verifier;
use sigstore_verify::trust_root::TrustedRoot;
use weir_files::file_trust;
use weir_grant::document::Digest;

use super::crypto;
use super::digest::digest;
use super::error::{Error, Result};

/// The largest trust root, in bytes. Sigstore's own has 8 KiB.
const MOST: u64 = 1 << 20;

/// Whom to believe about a signature's identity and time.
pub struct TrustRoot {
    pub(crate) verifier: Verifier,
    /// Whether it has logs of certificates, in one of which a certificate must be then.
    pub(crate) has_certificate_logs: bool,
    /// Whether it has logs of signatures, in one of which a signature must be then.
    pub(crate) has_logs: bool,
    /// Of its JSON.
    pub(crate) digest: Digest,
}

impl TrustRoot {
    /// Reads one from a file that only root and weir's user can have written; `root` is where the way to it begins.
    pub fn read(path: &Path, root: &Path) -> Result<Self> {
        let wrong = |why: String| Error::TrustRoot {
            path: path.to_owned(),
            why,
        };
        let file = file_trust::open(path, root).map_err(|e| wrong(e.to_string()))?;
        let mut json = String::new();
        let read = file.take(MOST + 1).read_to_string(&mut json);
        read.map_err(|e| wrong(e.to_string()))?;
        if json.len() as u64 > MOST {
            return Err(wrong(format!("it is larger than {MOST} bytes")));
        }
        Self::parse(&json).map_err(wrong)
    }

    /// Reads one from JSON. Errors: it is not one, or trusts nobody.
    pub fn parse(json: &str) -> Result<Self, String> {
        crypto::install();
        let root = TrustedRoot::from_json(json).map_err(|e| e.to_string())?;
        if root.certificate_authorities.is_empty() && root.tlogs.is_empty() {
            return Err("it has neither `certificateAuthorities` nor `tlogs`".to_owned());
        }
        Ok(Self {
            verifier: Verifier::new(&root).map_err(|e| e.to_string())?,
            has_certificate_logs: !root.ctlogs.is_empty(),
            has_logs: !root.tlogs.is_empty(),
            digest: digest(json.as_bytes()),
        })
    }
}
