//! Uploads to a registry that refuses, lies, or sends them elsewhere.

use super::*;

/// A registry that takes blobs at this location.
fn taking(location: impl Fn() -> String + Send + Sync + 'static) -> Server {
    Server::start(move |seen| match seen.method.as_str() {
        "HEAD" => Answer::status(404),
        "POST" => Answer::status(202).with("location", location()),
        _ => Answer::status(201),
    })
}

#[test]
fn blobs_are_uploaded_before_the_manifest_and_once() {
    let component = digest(COMPONENT).to_string();
    let server = Server::start(move |seen| match seen.method.as_str() {
        "HEAD" if seen.path.ends_with(&component) => Answer::status(200),
        "HEAD" => Answer::status(404),
        "POST" => Answer::status(202).with("location", "/v2/upload?state=1"),
        _ => Answer::status(201),
    });
    let artifact = artifact();
    let pushed = registry(&server, options()).push(&artifact);
    assert_eq!(pushed.expect("it takes all"), artifact.digest());
    let seen = server.seen();
    let methods: Vec<&str> = seen.iter().map(|seen| seen.method.as_str()).collect();
    assert_eq!(methods, ["HEAD", "HEAD", "POST", "PUT", "PUT"]);
    let config = &artifact.description.config_bytes;
    let upload = format!("/v2/upload?state=1&digest={}", digest(config));
    assert_eq!(seen[3].path, upload);
    assert_eq!(seen[3].body, *config);
    assert_eq!(seen[4].path, "/v2/plugins/labels/manifests/1.0");
    assert_eq!(
        seen[4].header("content-type"),
        Some("application/vnd.oci.image.manifest.v1+json")
    );
    assert_eq!(seen[4].body, artifact.description.manifest_bytes);
}

#[test]
fn a_location_that_is_none_is_an_error() {
    for (location, expected) in [
        ("not a url", "without a `Location` that is a URL"),
        ("http://", "without a `Location` that is a URL"),
        ("http://192.0.2.1/upload", "has no TLS"),
    ] {
        let server = taking(move || location.to_owned());
        let error = registry(&server, options()).push(&artifact());
        assert_contains(&error.expect_err(location).to_string(), &[expected]);
    }
}

#[test]
fn an_upload_elsewhere_has_no_credentials() {
    let storage = Server::start(|_| Answer::status(201));
    let target = storage.address;
    let server = Server::start(move |seen| match seen.method.as_str() {
        _ if seen.header("authorization").is_none() => {
            Answer::status(401).with("www-authenticate", "Basic realm=\"x\"")
        }
        "HEAD" => Answer::status(404),
        "POST" => Answer::status(202).with("location", format!("http://{target}/put")),
        _ => Answer::status(201),
    });
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("config.json");
    let address = server.address.to_string();
    let auths = serde_json::json!({ "auths": { address: { "username": "u", "password": "p" } } });
    std::fs::write(&file, auths.to_string()).expect("a file");
    let options = Options {
        credentials: CredentialSource::File(file),
        ..options()
    };
    registry(&server, options)
        .push(&artifact())
        .expect("it is taken");
    let seen = storage.seen();
    assert_eq!(seen.len(), 2);
    assert!(
        seen.iter()
            .all(|seen| seen.header("authorization").is_none())
    );
}

#[test]
fn what_a_registry_says_of_a_refusal_is_shown() {
    let said = br#"{"errors":[{"code":"DENIED","message":"requested access is denied"}]}"#;
    let server = Server::start(|_| Answer::status(403).with_body(said));
    let error = registry(&server, options()).push(&artifact());
    // A HEAD has no body to say it in.
    let error = error.expect_err("denied").to_string();
    assert_contains(&error, &["does not allow pushing to `plugins/labels`"]);

    let server = Server::start(|seen| match seen.method.as_str() {
        "HEAD" => Answer::status(404),
        _ => Answer::status(507).with_body(&[b'x'; 1000]),
    });
    let error = registry(&server, options()).push(&artifact());
    let error = error.expect_err("full").to_string();
    assert_contains(&error, &["507", "xxx"]);
    assert!(error.len() < 500, "{error}");
}

#[test]
fn a_redirect_of_an_upload_is_not_followed() {
    let server = Server::start(|seen| match seen.method.as_str() {
        "HEAD" => Answer::status(404),
        _ => Answer::status(307).with("location", "/elsewhere"),
    });
    let error = registry(&server, options()).push(&artifact());
    assert_contains(&error.expect_err("not followed").to_string(), &["307"]);
}

#[test]
fn an_artifact_is_pushed_under_a_tag() {
    let server = taking(|| "/x".to_owned());
    let pinned = reference(&server).at(Version::Digest(digest(b"x")));
    let registry = Registry::new(&pinned, options()).expect("a registry");
    let error = registry.push(&artifact()).expect_err("no tag").to_string();
    assert_contains(&error, &["pushed under a tag"]);
    assert!(server.seen().is_empty());
}

#[test]
fn a_registry_that_keeps_another_manifest_is_found() {
    let other = digest(b"other").to_string();
    let server = Server::start(move |seen| match seen.method.as_str() {
        "HEAD" => Answer::status(200),
        _ => Answer::status(201).with("docker-content-digest", other.clone()),
    });
    let error = registry(&server, options()).push(&artifact());
    assert_contains(
        &error.expect_err("other").to_string(),
        &["that the registry keeps"],
    );
}
