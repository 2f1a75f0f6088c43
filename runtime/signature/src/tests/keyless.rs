//! Signatures by identities, of an instance of Sigstore that is the tests' own.

use serde_json::Value;
use weir_kit::sigstore::{Identity, Sigstore};

use super::*;

const WORKFLOW: &str =
    "https://github.com/acme/labels/.github/workflows/release.yml@refs/tags/v1.2.0";
const GITHUB: &str = "https://token.actions.githubusercontent.com";

const ACME: Identity<'_> = Identity {
    subject: WORKFLOW,
    issuer: GITHUB,
    expired: false,
};

/// A node that trusts an instance, and one identity.
fn node(sigstore: &Sigstore, identity: &str) -> Node {
    let node = Node::new(&format!(
        "  trustRoot: /etc/weir/trusted_root.json\n  signers:\n    - name: acme\n      plugins: [labels]\n      keyless:\n        \
         identity: {identity:?}\n        issuer: {GITHUB}"
    ));
    let root = sigstore.trust_root().to_string();
    node.write("etc/weir/trusted_root.json", root.as_bytes());
    node
}

fn signed_by(sigstore: &Sigstore, identity: Identity<'_>) -> Vec<Vec<u8>> {
    let bundle = sigstore.sign(COMPONENT, identity).expect("signed");
    vec![bundle.to_string().into_bytes()]
}

fn instance() -> Sigstore {
    Sigstore::new().expect("an instance")
}

#[test]
fn an_identity_provides_its_plugin() {
    let sigstore = instance();
    let bundles = signed_by(&sigstore, ACME);
    for identity in [
        WORKFLOW,
        &WORKFLOW.replace("v1.2.0", "v*"),
        &WORKFLOW.replace("v1.2.0", "*"),
    ] {
        let admitted = node(&sigstore, identity).admit(&bundles);
        let Admitted::Signed {
            signer,
            identity: found,
            proof,
            bundle: 0,
        } = admitted.expect(identity)
        else {
            panic!("it is signed");
        };
        assert_eq!((&signer[..], found.as_deref()), ("acme", Some(WORKFLOW)));
        let begins = format!("identity {identity} of ");
        assert!(
            proof.starts_with(&begins) && proof.contains("by the trust root sha256:"),
            "{proof}"
        );
    }
}

/// All of these could be had by somebody else, from the same issuer.
#[test]
fn an_identity_that_looks_alike_is_refused() {
    let sigstore = instance();
    let exact = node(&sigstore, WORKFLOW);
    let tags = node(&sigstore, &WORKFLOW.replace("v1.2.0", "v*"));
    for subject in [
        // A prefix, a suffix, another case, a slash at the end.
        &WORKFLOW[1..],
        &WORKFLOW[..WORKFLOW.len() - 30],
        &format!("https://evil.example/{WORKFLOW}"),
        &format!("{WORKFLOW}/"),
        &format!("{WORKFLOW}/../../evil"),
        &WORKFLOW.replace("acme", "Acme"),
        &WORKFLOW.replace("acme", "acme-evil"),
        // What a dot would match in a regular expression.
        &WORKFLOW.replace("github.com", "github-com"),
        &WORKFLOW.replace("release.yml", "releasexyml"),
        // Another branch of the same repository.
        &WORKFLOW.replace("tags/v1.2.0", "heads/evil"),
        &WORKFLOW.replace("release.yml", "pull-request.yml"),
    ] {
        let identity = Identity { subject, ..ACME };
        let bundles = signed_by(&sigstore, identity);
        for node in [&exact, &tags] {
            node.refuses(&bundles, &["identity", &format!("`{subject}`")]);
        }
    }
    let next = WORKFLOW.replace("v1.2.0", "v1.2.01");
    let bundles = signed_by(
        &sigstore,
        Identity {
            subject: &next,
            ..ACME
        },
    );
    exact.refuses(&bundles, &["identity"]);
}

/// In a policy, what has a meaning in a regular expression or a glob stands for itself.
#[test]
fn an_identity_has_no_other_wildcards() {
    let sigstore = instance();
    let bundles = signed_by(&sigstore, ACME);
    for identity in [
        WORKFLOW.replace("v1.2.0", "v1.2.?"),
        WORKFLOW.replace("v1.2.0", "v[0-9].2.0"),
        WORKFLOW.replace("v1.2.0", "v1.2.\\d"),
        WORKFLOW.replace("acme", "(acme|other)"),
    ] {
        node(&sigstore, &identity).refuses(&bundles, &["identity", WORKFLOW]);
    }
}

#[test]
fn another_issuer_is_refused() {
    let sigstore = instance();
    let node = node(&sigstore, WORKFLOW);
    for issuer in [
        "https://accounts.example",
        "https://token.actions.githubusercontent.com/",
        "https://token.actions.githubusercontent.com.evil.example",
        "https://Token.actions.githubusercontent.com",
    ] {
        let bundles = signed_by(&sigstore, Identity { issuer, ..ACME });
        node.refuses(&bundles, &["issuer", &format!("`{issuer}`"), GITHUB]);
    }
}

#[test]
fn an_expired_certificate_is_refused() {
    let sigstore = instance();
    let bundles = signed_by(
        &sigstore,
        Identity {
            expired: true,
            ..ACME
        },
    );
    node(&sigstore, WORKFLOW).refuses(&bundles, &["certificate", "trust root"]);
}

#[test]
fn another_instance_is_not_believed() {
    let (sigstore, other) = (instance(), instance());
    let node = node(&sigstore, WORKFLOW);
    node.refuses(
        &signed_by(&other, ACME),
        &["does not verify by the trust root"],
    );
    let for_other = other.sign(OTHER, ACME).expect("signed").to_string();
    node.refuses(&[for_other.into_bytes()], &["for another component"]);
}

/// Each part that proves something is changed once.
#[test]
fn a_changed_proof_is_refused() {
    let sigstore = instance();
    let node = node(&sigstore, WORKFLOW);
    let whole = sigstore.sign(COMPONENT, ACME).expect("signed");
    let again = sigstore.sign(COMPONENT, ACME).expect("signed");
    for place in [
        "/messageSignature/signature",
        "/verificationMaterial/certificate/rawBytes",
        "/verificationMaterial/tlogEntries/0/inclusionPromise/signedEntryTimestamp",
        "/verificationMaterial/tlogEntries/0/inclusionProof/checkpoint/envelope",
        "/verificationMaterial/tlogEntries/0/inclusionProof/rootHash",
        "/verificationMaterial/tlogEntries/0/canonicalizedBody",
    ] {
        let mut changed = whole.clone();
        *changed.pointer_mut(place).expect(place) = again.pointer(place).expect(place).clone();
        let bundle = changed.to_string().into_bytes();
        node.refuses(&[bundle], &["does not verify by the trust root"]);
    }
    let mut unproved: Value = whole;
    unproved["verificationMaterial"]["tlogEntries"] = Value::Array(Vec::new());
    let bundle = unproved.to_string().into_bytes();
    node.refuses(&[bundle], &["does not verify by the trust root"]);
}

#[test]
fn a_key_and_an_identity_are_not_the_same() {
    let sigstore = instance();
    let key = key();
    let node = node(&sigstore, WORKFLOW);
    node.refuses(&[signed(&key, COMPONENT)], &["with a key"]);
    let by_key = Node::new(&format!(
        "  signers:\n{}",
        signer("release", "labels", &key)
    ));
    by_key.refuses(&signed_by(&sigstore, ACME), &["with a certificate"]);
}

#[test]
fn the_trust_root_is_read_as_carefully_as_the_policy() {
    let sigstore = instance();
    let bundles = signed_by(&sigstore, ACME);
    let node = node(&sigstore, WORKFLOW);
    let root = "etc/weir/trusted_root.json";
    for (content, why) in [("{}", "missing field"), ("[", "EOF")] {
        node.write(root, content.as_bytes());
        node.refuses(&bundles, &["trust root", "trusted_root.json", why]);
    }
    std::fs::remove_file(node.root.path().join(root)).expect("removed");
    node.refuses(&bundles, &["trusted_root.json", "No such file"]);
}
