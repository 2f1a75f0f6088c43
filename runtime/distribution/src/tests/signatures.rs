//! Lists of signatures that lie, and signatures of something else.

use serde_json::json;

use super::*;
use crate::signatures::Signature;

/// A registry with the honest artifact, whose list of signatures has these manifests.
struct Listed {
    manifests: Vec<Vec<u8>>,
    bundle: Vec<u8>,
    /// Where the list is: `referrers/` or `manifests/sha256-`.
    place: &'static str,
}

impl Listed {
    fn honest() -> Self {
        let bundle = b"{\"a\":\"bundle\"}".to_vec();
        let signature = Signature::of(&artifact().description, &bundle);
        Self {
            manifests: vec![serde_json::to_vec(&signature).expect("JSON")],
            bundle,
            place: "referrers/",
        }
    }

    /// The same with a manifest in which a test changed something.
    fn with(change: impl FnOnce(&mut Value)) -> Self {
        let honest = Self::honest();
        Self {
            manifests: vec![changed(&honest.manifests[0], change)],
            ..honest
        }
    }

    fn serve(self) -> Server {
        let named = |manifest: &Vec<u8>| {
            json!({
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "digest": digest(manifest).to_string(),
                "size": manifest.len(),
                "artifactType": BUNDLE,
            })
        };
        let manifests: Vec<Value> = self.manifests.iter().map(named).collect();
        let list = json!({ "schemaVersion": 2, "manifests": manifests }).to_string();
        Server::start(move |seen| {
            let has = |bytes: &&Vec<u8>| seen.path.ends_with(&digest(bytes).to_string());
            if seen.path.contains(self.place) {
                return Answer::ok(list.as_bytes());
            }
            if let Some(manifest) = self.manifests.iter().find(has) {
                return Answer::ok(manifest);
            }
            if has(&&self.bundle) {
                return Answer::ok(&self.bundle);
            }
            Answer::status(404)
        })
    }
}

fn signatures(server: &Server) -> Result<Vec<Vec<u8>>> {
    registry(server, options()).signatures(&artifact().digest())
}

#[track_caller]
fn refused(listed: Listed, parts: &[&str]) {
    let server = listed.serve();
    let refused = signatures(&server).expect_err("this is not a signature");
    assert_contains(&refused.to_string(), parts);
}

#[test]
fn signatures_are_found_where_a_registry_lists_them() {
    for place in ["referrers/", "manifests/sha256-"] {
        let listed = Listed {
            place,
            ..Listed::honest()
        };
        let bundle = listed.bundle.clone();
        let server = listed.serve();
        assert_eq!(signatures(&server).expect("a list"), [bundle], "{place}");
    }
    let server = Server::start(|_| Answer::status(404));
    assert!(signatures(&server).expect("no list").is_empty());
    let server = Server::start(|_| Answer::status(500));
    assert!(signatures(&server).is_err());
}

#[test]
fn what_is_not_a_signature_of_the_artifact_is_refused() {
    let other = digest(b"another artifact").to_string();
    let moved = Listed::with(|manifest| manifest["subject"]["digest"] = json!(other));
    refused(moved, &["signature", "it refers to", &other]);
    let long = Listed::with(|manifest| manifest["layers"][0]["size"] = json!((1 << 20) + 1));
    refused(long, &["more than the 1048576 of a bundle"]);
    let two = Listed::with(|manifest| {
        let layer = manifest["layers"][0].clone();
        manifest["layers"] = json!([layer, layer]);
    });
    refused(two, &["2 layers instead of one"]);
    let component =
        Listed::with(|manifest| manifest["layers"][0]["mediaType"] = json!("application/wasm"));
    refused(
        component,
        &["of type `application/vnd.dev.sigstore.bundle.v0.3+json`"],
    );
    refused(
        Listed::with(|manifest| *manifest = json!([])),
        &["its manifest"],
    );
}

#[test]
fn more_signatures_than_are_looked_at_are_an_error() {
    let honest = Listed::honest();
    let manifests = vec![honest.manifests[0].clone(); 17];
    refused(
        Listed {
            manifests,
            ..honest
        },
        &["it has 17, more than 16"],
    );
}

#[test]
fn a_signature_that_is_not_what_was_listed_is_refused() {
    let honest = Listed::honest();
    let bundle = vec![b' '; honest.bundle.len()];
    let server = Server::start({
        let manifest = honest.manifests[0].clone();
        let listed = json!({
            "schemaVersion": 2,
            "manifests": [{
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "digest": digest(&manifest).to_string(),
                "size": manifest.len(),
                "artifactType": BUNDLE,
            }],
        });
        move |seen| match &seen.path {
            path if path.contains("referrers/") => Answer::ok(listed.to_string().as_bytes()),
            path if path.contains("manifests/") => Answer::ok(&manifest),
            _ => Answer::ok(&bundle),
        }
    });
    let error = signatures(&server).expect_err("another bundle").to_string();
    assert_contains(&error, &["a signature has digest", "changed or damaged"]);
}

#[test]
fn signatures_go_along_in_a_layout() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut artifact = artifact();
    artifact.signatures = vec![b"one".to_vec(), b"two".to_vec(), b"one".to_vec()];
    let reference: Reference = "registry.example.com/plugins/labels:1.0"
        .parse()
        .expect("one");
    for name in ["layout.tar", "layout"] {
        let to = directory.path().join(name);
        save(&artifact, &reference, &to).expect("saved");
        let loaded = load(&to).expect("loaded");
        // The same signature twice is one.
        assert_eq!(loaded.signatures, [b"one".to_vec(), b"two".to_vec()]);
        assert_eq!(loaded.digest(), artifact.digest());
    }
    artifact.signatures = (0..17_u8).map(|n| vec![n]).collect();
    let to = directory.path().join("many.tar");
    save(&artifact, &reference, &to).expect("saved");
    let refused = load(&to).expect_err("too many").to_string();
    assert_contains(&refused, &["17 signatures, more than 16"]);
}
