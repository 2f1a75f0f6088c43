//! What a signature says: an in-toto statement that names the digests of what is released.

use serde_json::json;
use sigstore_verify::types::{DsseEnvelope, Statement};

use super::error::{Error, Result};
use super::subject::Subject;

/// The type of the signed payload (DSSE).
pub(crate) const PAYLOAD: &str = "application/vnd.in-toto+json";

/// The type of a statement, and that of its first version, which some tools still write.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";
const FIRST_STATEMENT: &str = "https://in-toto.io/Statement/v0.1";

/// The type of the statement that `cosign sign` makes, and weir: what it names is released by the signer.
pub const PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";

/// How it was built, which counts as a signature: GitHub's attestations are of this type.
const PROVENANCE: &str = "https://slsa.dev/provenance/v1";

/// The statement that all subjects are released.
pub(crate) fn about(subjects: &[Subject<'_>]) -> Vec<u8> {
    let subjects: Vec<_> = subjects
        .iter()
        .map(|subject| json!({ "name": subject.name, "digest": { "sha256": subject.hex() } }))
        .collect();
    let statement = json!({
        "_type": STATEMENT,
        "subject": subjects,
        "predicateType": PREDICATE,
        "predicate": {},
    });
    statement.to_string().into_bytes()
}

/// The digests (SHA-256, hexadecimal) that an envelope names.
///
/// Errors: it is another kind of statement. That a component has a vulnerability is signed too.
pub(crate) fn digests(envelope: &DsseEnvelope) -> Result<Vec<String>> {
    if envelope.payload_type != PAYLOAD {
        return Err(Error::Statement {
            found: envelope.payload_type.clone(),
            expected: PAYLOAD,
        });
    }
    let statement: Statement = serde_json::from_slice(envelope.payload.as_bytes())
        .map_err(|e| Error::Bundle(format!("its statement: {e}")))?;
    if ![STATEMENT, FIRST_STATEMENT].contains(&statement.type_.as_str()) {
        return Err(Error::Statement {
            found: statement.type_,
            expected: STATEMENT,
        });
    }
    if ![PREDICATE, PROVENANCE].contains(&statement.predicate_type.as_str()) {
        return Err(Error::Statement {
            found: statement.predicate_type,
            expected: PREDICATE,
        });
    }
    let subjects = statement.subject.iter();
    let digests = subjects.filter_map(|subject| subject.digest.sha256.as_ref());
    Ok(digests.map(|digest| digest.to_hex()).collect())
}
