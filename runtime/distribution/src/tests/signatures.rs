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
        let manifests: Vec<Value> = self.manifests.iter().map(|m| entry(m)).collect();
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

fn signatures(server: &Server) -> Result<Signatures> {
    registry(server, options()).signatures(&artifact().digest())
}

/// Checks that it is not taken for a signature, with the reason.
#[track_caller]
fn unusable(listed: Listed, parts: &[&str]) {
    let found = signatures(&listed.serve()).expect("others may push what they like");
    assert!(found.bundles.is_empty());
    assert_contains(&found.unusable.unwrap_or_default(), parts);
}

fn entry(manifest: &[u8]) -> Value {
    json!({
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "digest": digest(manifest).to_string(),
        "size": manifest.len(),
        "artifactType": BUNDLE,
    })
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
        let found = signatures(&server).expect("a list");
        assert_eq!(found.bundles, [bundle], "{place}");
        assert_eq!(found.unusable, None);
    }
    let server = Server::start(|_| Answer::status(404));
    assert!(signatures(&server).expect("no list").bundles.is_empty());
    let server = Server::start(|_| Answer::status(500));
    assert!(signatures(&server).is_err());
}

#[test]
fn what_is_not_a_signature_of_the_artifact_is_not_taken_for_one() {
    let other = digest(b"another artifact").to_string();
    let moved = Listed::with(|manifest| manifest["subject"]["digest"] = json!(other));
    unusable(moved, &["signature", "it refers to", &other]);
    let long = Listed::with(|manifest| manifest["layers"][0]["size"] = json!((1 << 20) + 1));
    unusable(long, &["more than the 1048576 of a bundle"]);
    let two = Listed::with(|manifest| {
        let layer = manifest["layers"][0].clone();
        manifest["layers"] = json!([layer, layer]);
    });
    unusable(two, &["2 layers instead of one"]);
    let component =
        Listed::with(|manifest| manifest["layers"][0]["mediaType"] = json!("application/wasm"));
    unusable(
        component,
        &["of type `application/vnd.dev.sigstore.bundle.v0.3+json`"],
    );
    unusable(
        Listed::with(|manifest| *manifest = json!([])),
        &["its manifest"],
    );
}

/// Hostile: whoever may push to a repository adds what is not a signature, or one that is too large.
#[test]
fn what_others_add_hides_no_signature() {
    let mut listed = Listed::with(|manifest| manifest["layers"][0]["size"] = json!(2 << 20));
    let honest = Listed::honest();
    listed.manifests.push(honest.manifests[0].clone());
    let found = signatures(&listed.serve()).expect("a list");
    assert_eq!(found.bundles, [honest.bundle]);
    assert_contains(&found.unusable.unwrap_or_default(), &["2097152 bytes"]);

    // Entries that weir cannot read, and a manifest that is too large to be one of a signature.
    let honest = Listed::honest();
    let manifest = honest.manifests[0].clone();
    let mut large = entry(b"large");
    large["size"] = json!(5 << 20);
    let list = json!({ "schemaVersion": 2, "manifests": [
        { "mediaType": "a", "digest": "sha512:00", "size": 1, "artifactType": BUNDLE },
        7,
        large,
        entry(&manifest),
    ]});
    let server = Server::start(move |seen| {
        if seen.path.contains("referrers/") {
            Answer::ok(list.to_string().as_bytes())
        } else if seen.path.contains("manifests/") {
            Answer::ok(&manifest)
        } else {
            Answer::ok(&honest.bundle)
        }
    });
    let found = signatures(&server).expect("a list");
    assert_eq!(found.bundles.len(), 1);
    assert_contains(&found.unusable.unwrap_or_default(), &["5242880 bytes"]);
}

/// OCI distribution specification 1.1, "Listing Referrers": a registry may answer with a part, and a link to the next.
#[test]
fn all_pages_of_a_list_are_read() {
    let honest = Listed::honest();
    let (manifest, bundle) = (honest.manifests[0].clone(), honest.bundle.clone());
    let page = |manifests: Value| json!({ "schemaVersion": 2, "manifests": manifests }).to_string();
    let (first, last) = (page(json!([])), page(json!([entry(&manifest)])));
    let server = Server::start(move |seen| {
        let (path, _) = seen.path.split_once('?').unwrap_or((&seen.path, ""));
        match seen.path.rsplit_once("last=") {
            Some((_, "2")) => Answer::ok(last.as_bytes()),
            Some((_, "1")) => {
                let host = seen.header("host").unwrap_or_default();
                let next = format!("<http://{host}{path}?last=2>; title=x; rel=\"next\"");
                Answer::ok(first.as_bytes()).with("link", next)
            }
            _ if path.contains("referrers/") => {
                let next = format!("<{path}?last=1>; rel=\"next\"");
                Answer::ok(first.as_bytes()).with("link", next)
            }
            _ if path.contains("manifests/") => Answer::ok(&manifest),
            _ => Answer::ok(&bundle),
        }
    });
    let found = signatures(&server).expect("three pages");
    assert_eq!(found.bundles, [honest.bundle]);
}

/// Hostile: a list without an end, and one that leads to another server.
#[test]
fn a_list_of_pages_ends_and_stays_on_its_server() {
    let list = json!({ "schemaVersion": 2, "manifests": [] }).to_string();
    let linking = |link: &'static str| {
        let list = list.clone();
        Server::start(move |seen| {
            let link = link.replace("OWN", &seen.path);
            Answer::ok(list.as_bytes()).with("link", link)
        })
    };
    let endless = linking("<OWN>; rel=\"next\"");
    let error = signatures(&endless).expect_err("it has no end").to_string();
    assert_contains(&error, &["more than 16 pages"]);
    assert_eq!(endless.seen().len(), 16);
    for link in [
        "<http://127.0.0.1:1/v2/>; rel=\"next\"",
        "<//127.0.0.1:1/>; rel=\"next\"",
        "<x>; rel=\"next\"",
        "https://x",
    ] {
        let error = signatures(&linking(link)).expect_err(link).to_string();
        assert_contains(&error, &["breaks the protocol", "its `Link`"]);
    }
}

/// Other tools add to the list of a registry that keeps none, with more than weir knows.
#[test]
fn what_others_wrote_into_a_list_stays() {
    let list = json!({
        "schemaVersion": 2,
        "annotations": { "a": "b" },
        "manifests": [{ "mediaType": "m", "digest": "sha512:00", "size": 1, "platform": { "os": "linux" } }],
    });
    let server = Server::start({
        let list = list.to_string();
        move |seen| match seen.method.as_str() {
            "GET" => Answer::ok(list.as_bytes()),
            "HEAD" => Answer::ok(b""),
            _ => Answer::status(201),
        }
    });
    let attached = registry(&server, options()).attach(&artifact().description, b"{}");
    attached.expect("attached");
    let seen = server.seen();
    let written = seen.last().expect("the list is written");
    let written: Value = serde_json::from_slice(&written.body).expect("JSON");
    assert_eq!(written["annotations"], list["annotations"]);
    assert_eq!(written["manifests"][0], list["manifests"][0]);
    assert_eq!(written["manifests"][1]["artifactType"], BUNDLE);
}

#[test]
fn more_signatures_than_are_looked_at_are_an_error() {
    let honest = Listed::honest();
    let manifests = vec![honest.manifests[0].clone(); 65];
    let listed = Listed {
        manifests,
        ..honest
    };
    let error = signatures(&listed.serve()).expect_err("too many");
    assert_contains(&error.to_string(), &["it has 65, more than 64"]);
}

#[test]
fn a_signature_that_is_not_what_was_listed_is_refused() {
    let honest = Listed::honest();
    let bundle = vec![b' '; honest.bundle.len()];
    let server = Server::start({
        let manifest = honest.manifests[0].clone();
        let listed = json!({ "schemaVersion": 2, "manifests": [entry(&manifest)] });
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
    artifact.signatures = vec![b"one".to_vec(), b"two".to_vec(), b"one".to_vec()].into();
    let reference: Reference = "registry.example.com/plugins/labels:1.0"
        .parse()
        .expect("one");
    for name in ["layout.tar", "layout"] {
        let to = directory.path().join(name);
        save(&artifact, &reference, &to).expect("saved");
        let loaded = load(&to).expect("loaded");
        // The same signature twice is one.
        assert_eq!(
            loaded.signatures.bundles,
            [b"one".to_vec(), b"two".to_vec()]
        );
        assert_eq!(loaded.digest(), artifact.digest());
    }
    artifact.signatures = (0..65_u8).map(|n| vec![n]).collect::<Vec<_>>().into();
    let to = directory.path().join("many.tar");
    save(&artifact, &reference, &to).expect("saved");
    let refused = load(&to).expect_err("too many").to_string();
    assert_contains(&refused, &["65 signatures, more than 64"]);
}

/// As other tools copy an artifact: with all that refers to it, such as a bill of materials.
#[test]
fn what_else_refers_to_an_artifact_in_a_layout_is_ignored() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut artifact = artifact();
    artifact.signatures = vec![b"one".to_vec()].into();
    let reference: Reference = "registry.example.com/plugins/labels:1.0"
        .parse()
        .expect("one");
    let to = directory.path().join("layout");
    save(&artifact, &reference, &to).expect("saved");
    let index = to.join("index.json");
    let add = |artifact_type: Option<&str>| {
        let read = std::fs::read(&index).expect("an index");
        let added = changed(&read, |index| {
            let mut other = entry(b"another manifest");
            other["artifactType"] = json!(artifact_type);
            let manifests = index["manifests"].as_array_mut().expect("a list");
            manifests.push(other);
        });
        std::fs::write(&index, added).expect("written");
    };
    add(Some("application/spdx+json"));
    let loaded = load(&to).expect("loaded");
    assert_eq!(loaded.signatures.bundles, [b"one".to_vec()]);
    add(None);
    let refused = load(&to).expect_err("two artifacts").to_string();
    assert_contains(&refused, &["names 2 artifacts instead of one"]);
}
