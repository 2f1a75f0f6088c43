//! Credentials: which server gets them, and which does not.

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tempfile::TempDir;

use super::*;

/// `user:secret` in base64.
const BASIC: &str = "Basic dXNlcjpzZWNyZXQ=";

/// A pull secret's file for a server.
fn secret_for(server: &Server, entry: Value) -> (TempDir, CredentialSource) {
    let directory = tempfile::tempdir().expect("a directory");
    let auths = serde_json::json!({ "auths": { server.address.to_string(): entry } });
    let source = write(directory.path(), &auths.to_string());
    (directory, source)
}

fn write(directory: &Path, text: &str) -> CredentialSource {
    let file = directory.join(".dockerconfigjson");
    fs::write(&file, text).expect("a file");
    CredentialSource::File(file)
}

fn password() -> Value {
    serde_json::json!({ "auth": STANDARD.encode("user:secret") })
}

fn with(credentials: CredentialSource) -> Options {
    Options {
        credentials,
        ..options()
    }
}

/// Answers only who has this authorization, with a challenge for all others.
fn guarded(authorization: &'static str, challenge: String) -> Server {
    let content = Content::honest();
    Server::start(move |seen| {
        if seen.header("authorization") == Some(authorization) {
            return content.answer(seen);
        }
        Answer::status(401).with("www-authenticate", challenge.clone())
    })
}

#[test]
fn a_password_is_sent_when_it_is_asked_for() {
    let server = guarded(BASIC, "Basic realm=\"x\"".to_owned());
    let (_directory, secret) = secret_for(&server, password());
    registry(&server, with(secret))
        .pull()
        .expect("it is let in");
    assert_eq!(server.seen()[0].header("authorization"), None);
}

#[test]
fn refused_credentials_are_named_without_the_password() {
    let server = guarded("none is right", "Basic realm=\"x\"".to_owned());
    let (_directory, secret) = secret_for(&server, password());
    let error = registry(&server, with(secret)).pull();
    let error = error.expect_err("refused").to_string();
    assert_contains(
        &error,
        &["of user `user`", ".dockerconfigjson", "docker login"],
    );
    assert!(!error.contains("secret\""), "{error}");
    assert!(!error.contains(BASIC), "{error}");

    let error = registry(&server, options()).pull();
    let error = error.expect_err("anonymous").to_string();
    assert_contains(&error, &["wants credentials", "none are to be used"]);
    // Of another registry.
    let elsewhere = Server::start(|_| Answer::status(404));
    let (_directory, secret) = secret_for(&elsewhere, password());
    let error = registry(&server, with(secret)).pull();
    assert_contains(&error.expect_err("none").to_string(), &["has none for it"]);
}

#[test]
fn a_token_is_fetched_for_the_repository() {
    let tokens = Server::start(|seen| {
        assert_eq!(seen.header("authorization"), Some(BASIC));
        Answer::ok(br#"{"token":"abc"}"#)
    });
    let realm = format!("http://{}/token?x=y", tokens.address);
    let server = guarded(
        "Bearer abc",
        format!("Bearer realm=\"{realm}\",service=\"a b\""),
    );
    let (_directory, secret) = secret_for(&server, password());
    registry(&server, with(secret))
        .pull()
        .expect("it is let in");
    let asked = &tokens.seen()[0].path;
    assert_eq!(
        asked,
        "/token?x=y&scope=repository%3Aplugins%2Flabels%3Apull&service=a%20b"
    );
    assert_eq!(tokens.seen().len(), 1);
    // The password goes to the token server alone.
    let seen = server.seen();
    assert!(
        seen.iter()
            .all(|seen| seen.header("authorization") != Some(BASIC))
    );
}

#[test]
fn an_identity_token_is_exchanged() {
    let tokens = Server::start(|seen| {
        let body = String::from_utf8_lossy(&seen.body).into_owned();
        assert_contains(
            &body,
            &["grant_type=refresh_token", "refresh_token=id%2Btoken"],
        );
        assert_eq!(seen.method, "POST");
        Answer::ok(br#"{"access_token":"abc"}"#)
    });
    let realm = format!("http://{}/token", tokens.address);
    let server = guarded("Bearer abc", format!("Bearer realm=\"{realm}\""));
    let entry = serde_json::json!({ "identitytoken": "id+token" });
    let (_directory, secret) = secret_for(&server, entry);
    registry(&server, with(secret))
        .pull()
        .expect("it is let in");
}

#[test]
fn a_token_server_that_lies_is_an_error() {
    for (answer, expected) in [
        (
            &br#"{"token":"a\r\nb: c"}"#[..],
            "not one that a header can hold",
        ),
        (br#"{"nothing":1}"#, "without a `token`"),
        (b"<html>", "not JSON"),
    ] {
        let tokens = Server::start(move |_| Answer::ok(answer));
        let realm = format!("http://{}/token", tokens.address);
        let server = guarded("Bearer x", format!("Bearer realm=\"{realm}\""));
        assert_contains(&refused(&server), &[expected]);
    }
    for (realm, expected) in [
        ("nowhere", "is not a URL"),
        ("/token", "is not a URL"),
        ("ftp://127.0.0.1/token", "not a URL of HTTP"),
        ("http://192.0.2.1/token", "has no TLS"),
    ] {
        let server = guarded("Bearer x", format!("Bearer realm=\"{realm}\""));
        assert_contains(&refused(&server), &[expected]);
    }
    let server = guarded("Bearer x", "Negotiate".to_owned());
    assert_contains(&refused(&server), &["wants credentials"]);
}

#[test]
fn another_server_gets_no_credentials() {
    let content = Content::honest();
    let storage = Server::start({
        let content = content.clone();
        move |seen| content.answer(seen)
    });
    let (target, component) = (storage.address, digest(COMPONENT).to_string());
    let server = Server::start(move |seen| {
        if seen.header("authorization") != Some(BASIC) {
            return Answer::status(401).with("www-authenticate", "Basic realm=\"x\"");
        }
        if seen.path.ends_with(&component) {
            let to = format!("http://{target}{}?signature=1", seen.path);
            let to = to.replace("?signature=1", "");
            return Answer::status(307).with("location", to);
        }
        content.answer(seen)
    });
    let (_directory, secret) = secret_for(&server, password());
    let pulled = registry(&server, with(secret)).pull();
    assert_eq!(pulled.expect("redirected").component, COMPONENT);
    let seen = storage.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].header("authorization"), None);
}

#[test]
fn a_challenge_of_another_server_is_not_answered() {
    let storage =
        Server::start(|_| Answer::status(401).with("www-authenticate", "Basic realm=\"give me\""));
    let target = storage.address;
    let server =
        Server::start(move |_| Answer::status(302).with("location", format!("http://{target}/x")));
    let (_directory, secret) = secret_for(&server, password());
    let error = registry(&server, with(secret)).pull();
    assert_contains(&error.expect_err("refused").to_string(), &["401"]);
    let seen = storage.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].header("authorization"), None);
}

#[test]
fn redirects_end_and_stay_within_what_is_allowed() {
    super::refuses_redirects(refused);
}

/// A pull secret may be a tenant's: it makes weir run nothing.
#[test]
fn a_file_with_credentials_names_no_program() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = guarded(BASIC, "Basic realm=\"x\"".to_owned());
    let address = server.address.to_string();
    let text = serde_json::json!({
        "credsStore": "weir-test-does-not-exist",
        "credHelpers": { address.clone(): "weir-test-does-not-exist" },
        "auths": { address: password() },
    });
    let secret = write(directory.path(), &text.to_string());
    registry(&server, with(secret))
        .pull()
        .expect("no helper is run");
}

#[test]
fn what_is_no_secret_is_an_error() {
    let server = guarded(BASIC, "Basic realm=\"x\"".to_owned());
    let directory = tempfile::tempdir().expect("a directory");
    let address = server.address;
    for (text, expected) in [
        ("{", "not valid JSON"),
        ("[]", "not a JSON object"),
        (r#"{"auths":1}"#, "not those of Docker's"),
        (
            &format!(r#"{{"auths":{{"{address}":{{"auth":"!"}}}}}}"#),
            "in base64",
        ),
    ] {
        let secret = write(directory.path(), text);
        let error = registry(&server, with(secret)).pull();
        assert_contains(
            &error.expect_err(text).to_string(),
            &[expected, "cannot be used"],
        );
    }
    let missing = CredentialSource::File("/nonexistent/secret".into());
    let error = registry(&server, with(missing)).pull();
    assert_contains(
        &error.expect_err("missing").to_string(),
        &["/nonexistent/secret"],
    );
}

#[test]
fn authorities_that_are_none_are_an_error() {
    let server = Server::start(|_| Answer::status(404));
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("ca.pem");
    for text in [
        "",
        "nothing",
        "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
    ] {
        fs::write(&file, text).expect("a file");
        let options = Options {
            authorities: Some(file.clone()),
            ..options()
        };
        let error = registry(&server, options).pull().expect_err(text);
        assert_contains(
            &error.to_string(),
            &["ca.pem", "expected certificates as PEM"],
        );
    }
}
