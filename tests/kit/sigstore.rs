//! An instance of sigstore of the tests' own: an authority that certifies identities, and a log of signatures (Rekor v1), with the
//! trust root that says so.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::string::Ia5String;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PublicKeyData, SanType, date_time_ymd,
};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};

/// The extension of Fulcio's certificates with the issuer of the identity.
const ISSUER: &[u64] = &[1, 3, 6, 1, 4, 1, 57264, 1, 8];

/// When signatures are logged: the first of June 2025. Certificates are valid in that year.
const LOGGED: i64 = 1_748_736_000;

/// The name of the log in its checkpoints.
const LOG: &str = "log.example";

pub struct Sigstore {
    authority: Issuer<'static, KeyPair>,
    certificate: Vec<u8>,
    log: KeyPair,
}

/// Who signs, and when it is logged.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    pub subject: &'a str,
    pub issuer: &'a str,
    /// Whether the certificate had expired when the signature was logged.
    pub expired: bool,
}

impl Sigstore {
    pub fn new() -> Result<Self> {
        let key = KeyPair::generate()?;
        let mut authority = CertificateParams::new(Vec::new())?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let certificate = authority.self_signed(&key)?.der().to_vec();
        Ok(Self {
            authority: Issuer::new(authority, key),
            certificate,
            log: KeyPair::generate()?,
        })
    }

    /// `trusted_root.json`.
    pub fn trust_root(&self) -> Value {
        let since = json!({ "start": "2020-01-01T00:00:00Z" });
        json!({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "certificateAuthorities": [{
                "subject": { "organization": "tests", "commonName": "tests" },
                "uri": "https://authority.example",
                "certChain": { "certificates": [{ "rawBytes": STANDARD.encode(&self.certificate) }] },
                "validFor": since,
            }],
            "tlogs": [{
                "baseUrl": "https://log.example",
                "hashAlgorithm": "SHA2_256",
                "publicKey": {
                    "rawBytes": STANDARD.encode(self.log.subject_public_key_info()),
                    "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                    "validFor": since,
                },
                "logId": { "keyId": STANDARD.encode(self.log_id()) },
            }],
            "ctlogs": [],
            "timestampAuthorities": [],
        })
    }

    /// A bundle: an identity's signature of a component, in the log.
    pub fn sign(&self, component: &[u8], identity: Identity<'_>) -> Result<Value> {
        let key = KeyPair::generate()?;
        let certificate = self.certify(&key, identity)?;
        let signature = STANDARD.encode(sign(&key, component)?);
        let hash = digest(&SHA256, component);
        let body = json!({
            "apiVersion": "0.0.1",
            "kind": "hashedrekord",
            "spec": {
                "data": { "hash": { "algorithm": "sha256", "value": hex(hash.as_ref()) } },
                "signature": {
                    "content": signature,
                    "publicKey": { "content": STANDARD.encode(pem(&certificate)) },
                },
            },
        });
        Ok(json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "certificate": { "rawBytes": STANDARD.encode(&certificate) },
                "tlogEntries": [self.entry(body.to_string().as_bytes())?],
            },
            "messageSignature": {
                "messageDigest": { "algorithm": "SHA2_256", "digest": STANDARD.encode(hash) },
                "signature": signature,
            },
        }))
    }

    fn certify(&self, key: &KeyPair, identity: Identity<'_>) -> Result<Vec<u8>> {
        let mut leaf = CertificateParams::new(Vec::new())?;
        leaf.subject_alt_names = vec![SanType::URI(Ia5String::try_from(identity.subject)?)];
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
        leaf.not_before = date_time_ymd(2025, 1, 1);
        leaf.not_after = date_time_ymd(2025, if identity.expired { 5 } else { 12 }, 1);
        let issuer = identity.issuer.as_bytes();
        let length = u8::try_from(issuer.len())
            .ok()
            .filter(|length| *length < 128);
        let mut text = vec![0x0c, length.context("a short issuer")?];
        text.extend(issuer);
        leaf.custom_extensions = vec![CustomExtension::from_oid_content(ISSUER, text)];
        Ok(leaf.signed_by(key, &self.authority)?.der().to_vec())
    }

    /// The only entry of the log.
    fn entry(&self, body: &[u8]) -> Result<Value> {
        let id = self.log_id();
        let promised = json!({
            "body": STANDARD.encode(body),
            "integratedTime": LOGGED,
            "logID": hex(&id),
            "logIndex": 0,
        });
        let leaf = digest(&SHA256, &[&[0], body].concat());
        let root = STANDARD.encode(leaf);
        let checkpoint = format!("{LOG}\n1\n{root}\n");
        let signed = [&id[..4], &sign(&self.log, checkpoint.as_bytes())?].concat();
        let checkpoint = format!("{checkpoint}\n\u{2014} {LOG} {}\n", STANDARD.encode(signed));
        let promise = sign(&self.log, promised.to_string().as_bytes())?;
        Ok(json!({
            "logIndex": "0",
            "logId": { "keyId": STANDARD.encode(&id) },
            "kindVersion": { "kind": "hashedrekord", "version": "0.0.1" },
            "integratedTime": LOGGED.to_string(),
            "inclusionPromise": { "signedEntryTimestamp": STANDARD.encode(promise) },
            "inclusionProof": {
                "logIndex": "0",
                "treeSize": "1",
                "rootHash": root,
                "hashes": [],
                "checkpoint": { "envelope": checkpoint },
            },
            "canonicalizedBody": STANDARD.encode(body),
        }))
    }

    fn log_id(&self) -> Vec<u8> {
        digest(&SHA256, &self.log.subject_public_key_info())
            .as_ref()
            .to_vec()
    }
}

fn sign(key: &KeyPair, message: &[u8]) -> Result<Vec<u8>> {
    let random = SystemRandom::new();
    let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
    let key = EcdsaKeyPair::from_pkcs8(algorithm, key.serialized_der(), &random);
    let key = key.ok().context("a key of rcgen")?;
    let signature = key.sign(&random, message).ok().context("random numbers")?;
    Ok(signature.as_ref().to_vec())
}

fn pem(certificate: &[u8]) -> String {
    let body = STANDARD.encode(certificate);
    format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
