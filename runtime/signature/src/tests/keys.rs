//! Signatures by keys.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::{Value, json};
use sigstore_verify::trust_root::SIGSTORE_PRODUCTION_TRUSTED_ROOT;
use weir_kit::assert_contains;

use super::*;

/// A node on which a key may provide `labels`.
fn node(key: &SigningKey) -> Node {
    Node::new(&format!("  signers:\n{}", signer("release", "labels", key)))
}

#[test]
fn a_signer_provides_the_plugins_that_the_policy_names() {
    let key = key();
    let bundles = [signed(&key, COMPONENT)];
    assert_eq!(signer_of(node(&key).admit(&bundles)), "release");

    let family = Node::new(&format!(
        "  signers:\n{}",
        signer("release", "\"la*\"", &key)
    ));
    assert_eq!(signer_of(family.admit(&bundles)), "release");

    // The policy gives the key another name.
    let refused = node(&key).admit_as("bridge-2", &bundles);
    let refused = refused.expect_err("another plugin's").to_string();
    assert_contains(&refused, &["no signer", "signed by `release`"]);
}

#[test]
fn the_second_of_two_signatures_counts() {
    let key = key();
    let bundles = [signed(&self::key(), COMPONENT), signed(&key, COMPONENT)];
    let admitted = node(&key).admit(&bundles).expect("let in");
    assert!(
        matches!(admitted, Admitted::Signed { bundle: 1, .. }),
        "{admitted:?}"
    );
}

/// Hostile: whoever may push to a repository adds what cannot be read to what refers to an artifact.
#[test]
fn what_cannot_be_read_hides_no_signature() {
    let key = key();
    let bundles = [
        b"{".to_vec(),
        vec![b' '; MOST_BUNDLE + 1],
        signed(&key, COMPONENT),
    ];
    let admitted = node(&key).admit(&bundles).expect("let in");
    assert!(
        matches!(admitted, Admitted::Signed { bundle: 2, .. }),
        "{admitted:?}"
    );
    let foreign = [b"{".to_vec(), signed(&self::key(), COMPONENT)];
    node(&key).refuses(&foreign, &["not made with that key"]);
}

#[test]
fn what_is_not_signed_by_the_key_is_refused() {
    let key = key();
    let node = node(&key);
    node.refuses(
        &[],
        &["not signed", "plugin-policy.yaml", "--digest sha256:"],
    );
    node.refuses(
        &[signed(&self::key(), COMPONENT)],
        &["not made with that key"],
    );
    let for_other = [
        "is for another component",
        &digest(OTHER).to_string(),
        &digest(COMPONENT).to_string(),
    ];
    node.refuses(&[signed(&key, OTHER)], &for_other);
}

#[test]
fn a_changed_signature_is_refused() {
    let key = key();
    let node = node(&key);
    let mut bundle: Value = serde_json::from_slice(&signed(&key, OTHER)).expect("JSON");
    // The statement of the component, under the signature of another.
    let own: Value = serde_json::from_slice(&signed(&key, COMPONENT)).expect("JSON");
    bundle["dsseEnvelope"]["payload"] = own["dsseEnvelope"]["payload"].clone();
    node.refuses(&[bundle.to_string().into()], &["not made with that key"]);

    let mut several = own.clone();
    let one = own["dsseEnvelope"]["signatures"][0].clone();
    several["dsseEnvelope"]["signatures"] = json!([one, one]);
    node.refuses(
        &[several.to_string().into()],
        &["exactly one signature", "found 2"],
    );

    let mut message = own;
    message["dsseEnvelope"]["payloadType"] = json!("text/plain");
    node.refuses(&[message.to_string().into()], &["type `text/plain`"]);
}

#[test]
fn a_bundle_is_bounded_and_well_formed() {
    let node = node(&key());
    node.refuses(
        &[vec![b' '; MOST_BUNDLE + 1]],
        &["larger than 1048576 bytes"],
    );
    node.refuses(&[b"{".to_vec()], &["not a sigstore bundle"]);
    node.refuses(&[vec![0xff]], &["not a sigstore bundle", "utf-8"]);
}

/// That something is known about a component is signed too, and is no release.
#[test]
fn a_statement_of_another_type_is_refused() {
    let key = key();
    let subject = Subject::new("labels.wasm", COMPONENT);
    let signed = |of: &str, predicate: &str| {
        let statement = json!({
            "_type": of,
            "subject": [{ "name": "labels.wasm", "digest": { "sha256": subject.hex() } }],
            "predicateType": predicate,
            "predicate": {},
        });
        key.sign_statement(statement.to_string().as_bytes())
            .expect("signed")
    };
    let (statement, release) = (
        "https://in-toto.io/Statement/v1",
        "https://sigstore.dev/cosign/sign/v1",
    );
    assert_eq!(
        signer_of(node(&key).admit(&[signed(statement, release)])),
        "release"
    );
    let known = signed(statement, "https://cosign.sigstore.dev/attestation/vuln/v1");
    node(&key).refuses(&[known], &["attestation/vuln/v1", "released"]);
    let link = signed("https://in-toto.io/Link/v1", release);
    node(&key).refuses(&[link], &["in-toto.io/Link/v1", "in-toto.io/Statement/v1"]);
}

#[test]
fn the_signature_of_an_artifact_counts_for_its_component() {
    let key = key();
    let manifest = br#"{"layers":[]}"#;
    let bundle = signed(&key, manifest);
    let node = node(&key);
    let policy = Policy::load(&node.paths()).expect("a policy");
    let candidate = Candidate {
        name: Some("labels"),
        component: COMPONENT,
        manifest: Some(manifest),
        bundles: &[bundle],
        pinned: &[],
    };
    assert_eq!(signer_of(policy.admit(&candidate)), "release");
    let without = Candidate {
        manifest: None,
        ..candidate
    };
    let refused = policy.admit(&without).expect_err("of what?").to_string();
    assert_contains(&refused, &["for another component"]);
}

/// Made with `cosign`, and in Sigstore's public log.
#[test]
fn a_published_signature_by_a_key_verifies() {
    let key = PublicKey::from_pem(include_str!("conformance/managed-key-happy-path/key.pub"))
        .expect("a key");
    let bundle = Bundle::read(include_bytes!(
        "conformance/managed-key-happy-path/bundle.sigstore.json"
    ));
    let bundle = bundle.expect("a bundle");
    let subject = [Subject::new("a.txt", include_bytes!("conformance/a.txt"))];
    bundle.verify_key(&subject, &key).expect("its key");
    let root = TrustRoot::parse(SIGSTORE_PRODUCTION_TRUSTED_ROOT).expect("a root");
    bundle
        .verify_logged_key(&subject, &key, &root)
        .expect("logged");

    let error = bundle.verify_key(&subject, &self::key().public().expect("a key"));
    assert_contains(
        &error.expect_err("another key").to_string(),
        &["not made with that key"],
    );
    // One of weir's own is in no log.
    let own = self::key();
    let bundle = Bundle::read(&signed(&own, COMPONENT)).expect("a bundle");
    let subject = [Subject::new("labels.wasm", COMPONENT)];
    let error = bundle.verify_logged_key(&subject, &own.public().expect("a key"), &root);
    assert_contains(
        &error.expect_err("no log").to_string(),
        &["not in a transparency log"],
    );
}

#[test]
fn keys_of_openssl_sign() {
    let node = Node::new("  unsigned: []");
    for algorithm in [
        &["EC", "-pkeyopt", "ec_paramgen_curve:P-256"][..],
        &["EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
        &["ED25519"],
    ] {
        let file = node.write("key.pem", b"");
        let status = Command::new("openssl")
            .args(["genpkey", "-algorithm"])
            .args(algorithm)
            .arg("-out")
            .arg(&file)
            .stderr(std::process::Stdio::null())
            .status();
        assert!(status.expect("run openssl").success(), "{algorithm:?}");
        std::fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("a mode");
        let key = SigningKey::read(&file).expect("a key");
        let bundle = Bundle::read(&signed(&key, COMPONENT)).expect("a bundle");
        let subject = [Subject::new("labels.wasm", COMPONENT)];
        let public = key.public().expect("a key");
        let public = PublicKey::from_pem(&public.to_pem()).expect("the same");
        bundle.verify_key(&subject, &public).expect("verified");
    }
}

#[test]
fn a_key_that_others_can_read_is_not_used() {
    let node = Node::new("  unsigned: []");
    let file = node.write(
        "key.pem",
        b"-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
    );
    let refused = |mode| {
        std::fs::set_permissions(&file, Permissions::from_mode(mode)).expect("a mode");
        SigningKey::read(&file).err().expect("not used").to_string()
    };
    assert_contains(&refused(0o640), &["0640", "chmod go="]);
    assert_contains(&refused(0o600), &["key.pem", "cannot be used"]);
    node.write(
        "key.pem",
        b"-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\n",
    );
    assert_contains(&refused(0o600), &["encrypted", "-nocrypt"]);
    node.write("key.pem", b"ssh-rsa AAAA");
    assert_contains(&refused(0o600), &["BEGIN PRIVATE KEY", "openssl genpkey"]);
}
