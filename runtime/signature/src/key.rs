//! Keys: a public one of a signer, and the private one of an author.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use serde::{Deserialize, Deserializer, de};
use sigstore_verify::crypto::{KeyAlgorithm, KeyPair, sha256};
use sigstore_verify::types::{
    Bundle, DerPublicKey, DsseEnvelope, DsseSignature, KeyId, MediaType, PayloadBytes,
    PublicKeyIdentifier, SignatureContent, VerificationMaterial, VerificationMaterialContent, pae,
};
use weir_grant::document::Digest;

use super::crypto;
use super::digest::digest;
use super::error::{Error, Result};
use super::statement::{self, PAYLOAD};
use super::subject::Subject;

/// The largest file with a key, in bytes.
const MOST_KEY: u64 = 64 << 10;

/// A signer's public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey(pub(crate) DerPublicKey);

impl PublicKey {
    /// Reads one from PEM (`-----BEGIN PUBLIC KEY-----`).
    pub fn from_pem(pem: &str) -> Result<Self> {
        crypto::install();
        let key = DerPublicKey::from_pem(pem).map_err(|e| unusable(&e.to_string()))?;
        KeyAlgorithm::from_spki(&key).map_err(|e| unusable(&e.to_string()))?;
        Ok(Self(key))
    }

    /// Reads one from a file, as PEM.
    pub fn read(path: &Path) -> Result<Self> {
        let wrong = |why: &dyn Display| unusable(&format!("`{}`: {why}", path.display()));
        let pem = fs::read_to_string(path).map_err(|e| wrong(&e))?;
        Self::from_pem(&pem).map_err(|e| match e {
            Error::UnusableKey(why) => wrong(&why),
            other => other,
        })
    }

    pub fn to_pem(&self) -> String {
        self.0.to_pem()
    }

    /// SHA-256 of the key as it is encoded in certificates (`SubjectPublicKeyInfo`).
    pub(crate) fn digest(&self) -> Digest {
        digest(self.0.as_bytes())
    }

    /// What a bundle says of the key with which it was made, as `cosign` does.
    fn hint(&self) -> String {
        STANDARD.encode(sha256(self.0.as_bytes()).as_bytes())
    }
}

impl<'de> Deserialize<'de> for PublicKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pem = String::deserialize(deserializer)?;
        Self::from_pem(&pem).map_err(|why| {
            de::Error::custom(format!(
                "`publicKey`: {why}; expected PEM, which begins with `-----BEGIN PUBLIC KEY-----`"
            ))
        })
    }
}

/// An author's private key.
pub struct SigningKey(KeyPair);

impl SigningKey {
    /// Reads one from a file: PKCS#8 as PEM, not encrypted, that only its owner can read.
    pub fn read(path: &Path) -> Result<Self> {
        let wrong = |why: String| unusable(&format!("`{}`: {why}", path.display()));
        let file = File::open(path).map_err(|e| wrong(e.to_string()))?;
        let mode = file.metadata().map_err(|e| wrong(e.to_string()))?.mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(wrong(format!(
                "its mode is {mode:04o}, so that others can use it; run `chmod go= {}`",
                path.display()
            )));
        }
        let mut pem = String::new();
        let read = file.take(MOST_KEY).read_to_string(&mut pem);
        read.map_err(|e| wrong(e.to_string()))?;
        Self::from_pem(&pem).map_err(|e| match e {
            Error::UnusableKey(why) => wrong(why),
            other => other,
        })
    }

    fn from_pem(pem: &str) -> Result<Self> {
        if pem.contains("ENCRYPTED") {
            return Err(unusable(
                "it is encrypted; expected PKCS#8 without a password, as `openssl pkcs8 -topk8 -nocrypt` writes it",
            ));
        }
        let body = pem
            .split_once("-----BEGIN PRIVATE KEY-----")
            .and_then(|(_, rest)| rest.split_once("-----END PRIVATE KEY-----"));
        let Some((body, _)) = body else {
            return Err(unusable(
                "it has no `-----BEGIN PRIVATE KEY-----`; expected PKCS#8 as PEM, as `openssl genpkey` writes it",
            ));
        };
        let body: String = body.split_ascii_whitespace().collect();
        let der = STANDARD.decode(body);
        Self::from_der(&der.map_err(|e| unusable(&e.to_string()))?)
    }

    fn from_der(pkcs8: &[u8]) -> Result<Self> {
        crypto::install();
        let pair = KeyPair::from_pkcs8_der(pkcs8);
        Ok(Self(pair.map_err(|e| unusable(&e.to_string()))?))
    }

    /// Makes a new one (ECDSA P-256), which is nowhere on disk.
    pub fn generate() -> Result<Self> {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random);
        let pkcs8 = pkcs8.map_err(|_| unusable("no random numbers"))?;
        Self::from_der(pkcs8.as_ref())
    }

    pub fn public(&self) -> Result<PublicKey> {
        let key = self.0.public_key_der();
        Ok(PublicKey(key.map_err(|e| unusable(&e.to_string()))?))
    }

    /// Signs: one statement about all subjects, of which a verifier may have any. Returns a bundle.
    pub fn sign(&self, subjects: &[Subject<'_>]) -> Result<Vec<u8>> {
        self.sign_statement(&statement::about(subjects))
    }

    pub(crate) fn sign_statement(&self, payload: &[u8]) -> Result<Vec<u8>> {
        let signature = self.0.sign(&pae(PAYLOAD, payload));
        let signature = signature.map_err(|e| unusable(&e.to_string()))?;
        let envelope = DsseEnvelope::new(
            PAYLOAD,
            PayloadBytes::from_bytes(payload),
            DsseSignature::new(signature, KeyId::default()),
        );
        let hint = PublicKeyIdentifier::new(self.public()?.hint());
        let material = VerificationMaterial::new(VerificationMaterialContent::PublicKey(hint));
        let content = SignatureContent::DsseEnvelope(envelope);
        let bundle = Bundle::new(MediaType::Bundle0_3, material, content);
        let json = bundle.to_json().map_err(|e| Error::Bundle(e.to_string()))?;
        Ok(json.into_bytes())
    }
}

fn unusable(why: &str) -> Error {
    Error::UnusableKey(why.to_owned())
}
