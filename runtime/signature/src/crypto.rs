//! The cryptography of `sigstore-verify`, by the crates that weir has: `ring`, and for ECDSA over a digest, which `ring` does not
//! have, `p256` and `p384`. Nothing secret passes through those two.

use ring::digest;
use ring::rand::SystemRandom;
use ring::signature::{self as algorithms, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use sigstore_verify::crypto::{
    CryptoProvider, Error, HashContext, KeyAlgorithm, Result, SigningKeyPair, SigningScheme,
    install_default_provider, validate_raw_public_key,
};
use sigstore_verify::types::HashAlgorithm;

/// Lets `sigstore-verify` use this cryptography. To do that again changes nothing.
pub(crate) fn install() {
    let _ = install_default_provider(&Provider);
}

#[derive(Debug)]
struct Provider;

impl CryptoProvider for Provider {
    fn hash(&self, algorithm: HashAlgorithm) -> Result<Box<dyn HashContext>> {
        let algorithm = match algorithm {
            HashAlgorithm::Sha2256 => &digest::SHA256,
            HashAlgorithm::Sha2384 => &digest::SHA384,
            HashAlgorithm::Sha2512 => &digest::SHA512,
            other => return Err(unsupported(&format!("digests of `{other}`"))),
        };
        Ok(Box::new(Hash(digest::Context::new(algorithm))))
    }

    fn verify_raw(
        &self,
        scheme: SigningScheme,
        key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<()> {
        let key = algorithms::UnparsedPublicKey::new(algorithm(scheme)?, key);
        let verified = key.verify(message, signature);
        verified.map_err(|_| invalid(scheme))
    }

    fn verify_prehashed(
        &self,
        scheme: SigningScheme,
        key: &[u8],
        digest: &[u8],
        signature: &[u8],
    ) -> Result<()> {
        validate_raw_public_key(scheme, key)?;
        let verified = match scheme.key_algorithm() {
            KeyAlgorithm::EcdsaP256 => verify_p256(key, digest, signature),
            KeyAlgorithm::EcdsaP384 => verify_p384(key, digest, signature),
            _ => {
                return Err(unsupported(&format!(
                    "{} over a digest; a statement (DSSE) can be signed so",
                    scheme.name()
                )));
            }
        };
        verified.ok_or_else(|| invalid(scheme))
    }

    fn key_pair_from_pkcs8_der(&self, pkcs8: &[u8]) -> Result<Box<dyn SigningKeyPair>> {
        if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(pkcs8) {
            return Ok(Box::new(Ed25519(pair)));
        }
        for (algorithm, signing) in [
            (
                KeyAlgorithm::EcdsaP256,
                &algorithms::ECDSA_P256_SHA256_ASN1_SIGNING,
            ),
            (
                KeyAlgorithm::EcdsaP384,
                &algorithms::ECDSA_P384_SHA384_ASN1_SIGNING,
            ),
        ] {
            let random = SystemRandom::new();
            if let Ok(pair) = EcdsaKeyPair::from_pkcs8(signing, pkcs8, &random) {
                return Ok(Box::new(Ecdsa { algorithm, pair }));
            }
        }
        Err(Error::InvalidKeyFormat(
            "expected a key of ECDSA P-256, ECDSA P-384 or Ed25519".to_owned(),
        ))
    }
}

fn algorithm(scheme: SigningScheme) -> Result<&'static dyn algorithms::VerificationAlgorithm> {
    Ok(match scheme {
        SigningScheme::EcdsaP256Sha256 => &algorithms::ECDSA_P256_SHA256_ASN1,
        SigningScheme::EcdsaP256Sha384 => &algorithms::ECDSA_P256_SHA384_ASN1,
        SigningScheme::EcdsaP384Sha256 => &algorithms::ECDSA_P384_SHA256_ASN1,
        SigningScheme::EcdsaP384Sha384 => &algorithms::ECDSA_P384_SHA384_ASN1,
        SigningScheme::Ed25519 => &algorithms::ED25519,
        SigningScheme::RsaPssSha256 => &algorithms::RSA_PSS_2048_8192_SHA256,
        SigningScheme::RsaPssSha384 => &algorithms::RSA_PSS_2048_8192_SHA384,
        SigningScheme::RsaPssSha512 => &algorithms::RSA_PSS_2048_8192_SHA512,
        SigningScheme::RsaPkcs1Sha256 => &algorithms::RSA_PKCS1_2048_8192_SHA256,
        SigningScheme::RsaPkcs1Sha384 => &algorithms::RSA_PKCS1_2048_8192_SHA384,
        SigningScheme::RsaPkcs1Sha512 => &algorithms::RSA_PKCS1_2048_8192_SHA512,
        other => return Err(unsupported(other.name())),
    })
}

fn verify_p256(key: &[u8], digest: &[u8], signature: &[u8]) -> Option<()> {
    use p256::ecdsa::signature::hazmat::PrehashVerifier;
    let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(key).ok()?;
    let signature = p256::ecdsa::Signature::from_der(signature).ok()?;
    key.verify_prehash(digest, &signature).ok()
}

fn verify_p384(key: &[u8], digest: &[u8], signature: &[u8]) -> Option<()> {
    use p384::ecdsa::signature::hazmat::PrehashVerifier;
    let key = p384::ecdsa::VerifyingKey::from_sec1_bytes(key).ok()?;
    let signature = p384::ecdsa::Signature::from_der(signature).ok()?;
    key.verify_prehash(digest, &signature).ok()
}

fn invalid(scheme: SigningScheme) -> Error {
    Error::Verification(format!("the {} signature is not valid", scheme.name()))
}

fn unsupported(what: &str) -> Error {
    Error::UnsupportedAlgorithm(format!("weir does not have {what}"))
}

struct Hash(digest::Context);

impl HashContext for Hash {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finalize(self: Box<Self>) -> Vec<u8> {
        self.0.finish().as_ref().to_vec()
    }
}

struct Ecdsa {
    algorithm: KeyAlgorithm,
    pair: EcdsaKeyPair,
}

impl SigningKeyPair for Ecdsa {
    fn algorithm(&self) -> KeyAlgorithm {
        self.algorithm
    }

    fn public_key_bytes(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    fn sign_raw(&self, data: &[u8]) -> Result<Vec<u8>> {
        let signed = self.pair.sign(&SystemRandom::new(), data);
        let signed = signed.map_err(|_| Error::Signing("no random numbers".to_owned()))?;
        Ok(signed.as_ref().to_vec())
    }

    fn sign_prehashed(&self, _digest: &[u8]) -> Result<Vec<u8>> {
        Err(unsupported("signing of a digest"))
    }
}

struct Ed25519(Ed25519KeyPair);

impl SigningKeyPair for Ed25519 {
    fn algorithm(&self) -> KeyAlgorithm {
        KeyAlgorithm::Ed25519
    }

    fn public_key_bytes(&self) -> &[u8] {
        self.0.public_key().as_ref()
    }

    fn sign_raw(&self, data: &[u8]) -> Result<Vec<u8>> {
        Ok(self.0.sign(data).as_ref().to_vec())
    }

    fn sign_prehashed(&self, _digest: &[u8]) -> Result<Vec<u8>> {
        Err(unsupported("signing of a digest"))
    }
}
