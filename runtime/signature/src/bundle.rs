//! A signature with what proves it: a bundle of sigstore, and how one is verified.

use sigstore_verify::crypto::{KeyAlgorithm, verify_signature};
use sigstore_verify::types::{
    Bundle as Content, HashAlgorithm, MessageSignature, SignatureContent,
    VerificationMaterialContent,
};
use sigstore_verify::{PublicKeyVerificationPolicy, VerificationPolicy};

use super::crypto;
use super::error::{Error, Result};
use super::key::PublicKey;
use super::policy::Keyless;
use super::statement;
use super::subject::Subject;
use super::trust_root::TrustRoot;

/// The largest bundle, in bytes. One of `cosign` has about 10 KiB.
pub const MOST_BUNDLE: usize = 1 << 20;

/// A signature with what proves it. Nothing of it is believed before it is verified.
#[derive(Clone, Debug)]
pub struct Bundle(Content);

impl Bundle {
    /// Reads a bundle of version 0.1 to 0.3. Errors: it is too large, is not one, or has several signatures.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        crypto::install();
        if bytes.len() > MOST_BUNDLE {
            return Err(Error::TooLarge { limit: MOST_BUNDLE });
        }
        let json = str::from_utf8(bytes).map_err(|e| Error::Bundle(e.to_string()))?;
        let content = Content::from_json(json).map_err(|e| Error::Bundle(e.to_string()))?;
        Ok(Self(content))
    }

    /// Verifies that the signature was made with a key, for one of the subjects. The time does not matter.
    pub fn verify_key(&self, subjects: &[Subject<'_>], key: &PublicKey) -> Result<()> {
        let material = &self.0.verification_material.content;
        let VerificationMaterialContent::PublicKey(_) = material else {
            return Err(Error::NotByKey);
        };
        let subject = self.subject(subjects)?;
        let wrong = |e: sigstore_verify::crypto::Error| Error::Key(e.to_string());
        let algorithm = KeyAlgorithm::from_spki(&key.0).map_err(wrong)?;
        match &self.0.content {
            SignatureContent::DsseEnvelope(envelope) => {
                let scheme = algorithm.default_signing_scheme();
                let signature = &envelope.signature.sig;
                verify_signature(&key.0, &envelope.pae(), signature, scheme).map_err(wrong)
            }
            SignatureContent::MessageSignature(signed) => {
                let hash = signed
                    .message_digest
                    .as_ref()
                    .map(|digest| digest.algorithm);
                let scheme = match hash {
                    Some(hash) => algorithm.resolve_signing_scheme(hash).map_err(wrong)?,
                    None => algorithm.default_signing_scheme(),
                };
                verify_signature(&key.0, subject.bytes, &signed.signature, scheme).map_err(wrong)
            }
            _ => Err(unknown()),
        }
    }

    /// As [`verify_key`](Self::verify_key), and that the signature is in a log of the trust root.
    pub fn verify_logged_key(
        &self,
        subjects: &[Subject<'_>],
        key: &PublicKey,
        root: &TrustRoot,
    ) -> Result<()> {
        self.verify_key(subjects, key)?;
        if !root.has_logs || self.0.verification_material.tlog_entries.is_empty() {
            return Err(Error::NotLogged);
        }
        let policy = PublicKeyVerificationPolicy::new(key.0.clone());
        let subject = self.subject(subjects)?;
        let verified = root.verifier.verify(subject.bytes, &self.0, &policy);
        verified.map_err(|e| Error::Proof(e.to_string()))?;
        Ok(())
    }

    /// Verifies that the signature was made for one of the subjects, with a certificate that the trust root's authorities gave to
    /// this identity, while it was valid. Returns the certificate's identity.
    pub fn verify_keyless(
        &self,
        subjects: &[Subject<'_>],
        signer: &Keyless,
        root: &TrustRoot,
    ) -> Result<String> {
        let material = &self.0.verification_material.content;
        if let VerificationMaterialContent::PublicKey(_) = material {
            return Err(Error::NotKeyless);
        }
        let subject = self.subject(subjects)?;
        let mut policy = VerificationPolicy::any_identity();
        if !root.has_certificate_logs {
            policy = policy.skip_sct();
        }
        if !root.has_logs {
            policy = policy.skip_tlog_unsafe();
        }
        let verified = root.verifier.verify(subject.bytes, &self.0, &policy);
        let verified = verified.map_err(|e| Error::Proof(e.to_string()))?;
        let shown = |text: Option<&str>| text.map_or("missing".to_owned(), |t| format!("`{t}`"));
        let issuer = verified.issuer();
        if issuer != Some(signer.issuer.as_str()) {
            return Err(Error::Issuer {
                expected: signer.issuer.clone(),
                found: shown(issuer),
            });
        }
        let identity = verified.identity().map(|identity| identity.as_str());
        match identity.filter(|identity| signer.identity.matches(identity)) {
            Some(identity) => Ok(identity.to_owned()),
            None => Err(Error::Identity {
                expected: signer.identity.to_string(),
                found: shown(identity),
            }),
        }
    }

    /// Checks that the signature says it is for one of the subjects. It is not verified.
    pub fn check_subject(&self, subjects: &[Subject<'_>]) -> Result<()> {
        self.subject(subjects).map(|_| ())
    }

    /// Which of the subjects the signature names.
    fn subject<'a, 'b>(&self, subjects: &'b [Subject<'a>]) -> Result<&'b Subject<'a>> {
        let signed = match &self.0.content {
            SignatureContent::DsseEnvelope(envelope) => statement::digests(envelope)?,
            SignatureContent::MessageSignature(signed) => match digest(signed)? {
                Some(hex) => vec![hex],
                // It does not say: only the signature itself tells, and that of a file is of the component.
                None => return subjects.first().ok_or_else(unknown),
            },
            _ => return Err(unknown()),
        };
        let named = subjects
            .iter()
            .find(|subject| signed.contains(&subject.hex()));
        named.ok_or_else(|| Error::OtherDigest {
            signed: signed.iter().take(MOST_NAMED).map(prefixed).collect(),
            wanted: subjects
                .iter()
                .map(|subject| prefixed(&subject.hex()))
                .collect(),
        })
    }
}

/// The most digests that an error lists.
const MOST_NAMED: usize = 4;

fn prefixed(hex: &String) -> String {
    format!("sha256:{hex}")
}

/// The digest that a signature of a message says it is of, in hexadecimal.
fn digest(signed: &MessageSignature) -> Result<Option<String>> {
    let Some(digest) = &signed.message_digest else {
        return Ok(None);
    };
    if digest.algorithm != HashAlgorithm::Sha2256 {
        return Err(Error::Bundle(format!(
            "its digest is of `{}`; expected SHA-256",
            digest.algorithm
        )));
    }
    let bytes = digest.digest.as_bytes().iter();
    Ok(Some(bytes.map(|byte| format!("{byte:02x}")).collect()))
}

fn unknown() -> Error {
    Error::Bundle("it has neither a statement nor the signature of a message".to_owned())
}
