//! Signatures that the Sigstore project publishes for its clients' tests, with whether they must verify.

use std::fs;
use std::path::{Path, PathBuf};

use sigstore_verify::trust_root::SIGSTORE_PRODUCTION_TRUSTED_ROOT;

use super::*;

/// Who signed what says nothing else.
const IDENTITY: &str = "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/.github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main";
const ISSUER: &str = "https://token.actions.githubusercontent.com";

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/conformance")
}

/// The content of a file of a case; none if the case has no such file.
fn content(case: &Path, name: &str) -> Option<Vec<u8>> {
    let path = case.join(name);
    path.exists().then(|| fs::read(path).expect("a file"))
}

fn text(case: &Path, name: &str) -> Option<String> {
    let bytes = content(case, name)?;
    Some(String::from_utf8(bytes).expect("text").trim().to_owned())
}

/// Verifies the signature of a case.
fn verify(case: &Path) -> Result<()> {
    let artifact = content(case, "artifact");
    let artifact = artifact.unwrap_or_else(|| content(&directory(), "a.txt").expect("a file"));
    let subjects = [Subject::new("a.txt", &artifact)];
    let root = text(case, "trusted_root.json");
    let root = root.unwrap_or_else(|| SIGSTORE_PRODUCTION_TRUSTED_ROOT.to_owned());
    let root = TrustRoot::parse(&root).map_err(|why| Error::TrustRoot {
        path: case.to_owned(),
        why,
    })?;
    let bundle = Bundle::read(&content(case, "bundle.sigstore.json").expect("a bundle"))?;
    if let Some(key) = text(case, "key.pub") {
        return bundle.verify_logged_key(&subjects, &PublicKey::from_pem(&key)?, &root);
    }
    let identity = text(case, "identity").unwrap_or_else(|| IDENTITY.to_owned());
    let signer = Keyless {
        identity: Identity::new(&identity).expect("an identity"),
        issuer: text(case, "issuer").unwrap_or_else(|| ISSUER.to_owned()),
    };
    bundle.verify_keyless(&subjects, &signer, &root).map(|_| ())
}

#[test]
fn published_signatures_verify_as_published() {
    let mut wrong = Vec::new();
    let mut cases = 0;
    for entry in fs::read_dir(directory()).expect("the cases are there") {
        let case = entry.expect("an entry").path();
        let name = case
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if !case.is_dir() {
            continue;
        }
        cases += 1;
        let verified = verify(&case);
        if verified.is_ok() == name.ends_with("_fail") {
            wrong.push(format!("{name}: {verified:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(cases, 70);
}
