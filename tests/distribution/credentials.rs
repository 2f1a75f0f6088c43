//! Credentials, where users and clusters keep them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use anyhow::Result;
use serde_json::json;
use weir_kit::{assert_contains, assert_contains_without};

use crate::registry::Registry;
use crate::{Case, User, text};

/// `user:secret` in base64.
pub const RIGHT: &str = "dXNlcjpzZWNyZXQ=";
/// `user:other`
const WRONG: &str = "dXNlcjpvdGhlcg==";

/// A credential helper that is run with this in its shell.
fn helper(user: &User, name: &str, script: &str) -> Result<()> {
    let file = user.path("bin").join(format!("docker-credential-{name}"));
    fs::write(&file, format!("#!/bin/sh\n{script}\n"))?;
    Ok(fs::set_permissions(&file, Permissions::from_mode(0o755))?)
}

#[test]
fn the_users_own_configuration_is_used() -> Result<()> {
    let case = Case::of(Registry::guarded()?)?;
    let push = case.push()?;
    // What fails before a component is there compiles none.
    let pull = ["plugin", "pull", &case.reference];
    let error = case.user.failure(&pull)?;
    assert_contains(
        &error,
        &["wants credentials", "there is no", "docker login"],
    );

    let config = case.user.path(".docker/config.json");
    let auths = |auth: &str| json!({ "auths": { case.registry.host(): { "auth": auth } } });
    fs::write(&config, auths(WRONG).to_string())?;
    let error = case.user.failure(&pull)?;
    assert_contains_without(
        &error,
        &["refuses those of user `user`", "config.json"],
        &["other", WRONG],
    );

    fs::write(&config, auths(RIGHT).to_string())?;
    case.user.json(&push)?;
    case.user.json(&pull)?;
    let error = case.user.failure(&[
        "plugin",
        "pull",
        &case.reference,
        "--anonymous",
        "--replace",
    ])?;
    assert_contains(&error, &["none are to be used"]);
    Ok(())
}

#[test]
fn a_credential_helper_is_asked() -> Result<()> {
    let case = Case::of(Registry::guarded()?)?;
    let push = case.push()?;
    let pull = ["plugin", "pull", &case.reference];
    let config = case.user.path(".docker/config.json");
    let helpers = |name: &str| json!({ "credHelpers": { case.registry.host(): name } });
    fs::write(&config, helpers("weir-test").to_string())?;
    let error = case.user.failure(&pull)?;
    assert_contains(&error, &["credential helper cannot be run", "in PATH?"]);
    helper(
        &case.user,
        "weir-test",
        "cat >/dev/null; echo broken >&2; exit 1",
    )?;
    assert_contains(
        &case.user.failure(&pull)?,
        &["docker-credential-weir-test", "broken"],
    );
    helper(
        &case.user,
        "weir-test",
        "cat >/dev/null; echo 'credentials not found in native keychain'; exit 1",
    )?;
    assert_contains(&case.user.failure(&pull)?, &["has none for it"]);
    helper(
        &case.user,
        "weir-test",
        &format!(
            r#"[ "$1 $(cat)" = "get {}" ] && echo '{{"Username":"user","Secret":"secret"}}'"#,
            case.registry.host()
        ),
    )?;
    case.user.json(&push)?;
    fs::write(&config, json!({ "credsStore": "weir-test" }).to_string())?;
    case.user.json(&pull)?;
    // A name that would lead to another program.
    fs::write(&config, helpers("../../bin/evil").to_string())?;
    let error = case.user.failure(&push)?;
    assert_contains(
        &error,
        &["`../../bin/evil` is not the name of a credential helper"],
    );
    Ok(())
}

#[test]
fn a_pull_secret_is_used_and_runs_no_helper() -> Result<()> {
    let case = Case::of(Registry::guarded()?)?;
    let secret = case.user.path("secret.json");
    let marker = case.user.path("marker");
    helper(&case.user, "evil", &format!("touch {}", marker.display()))?;
    let evil = json!({
        "credsStore": "evil",
        "credHelpers": { case.registry.host(): "evil" },
        "auths": { case.registry.host(): { "username": "user", "password": "secret" } },
    });
    fs::write(&secret, evil.to_string())?;
    let push = case.push()?;
    case.user
        .json(&[&push[..], &["--credentials", text(&secret)?]].concat())?;
    assert!(!marker.exists());
    let missing = [
        "plugin",
        "pull",
        &case.reference,
        "--credentials",
        "/nonexistent",
    ];
    assert_contains(
        &case.user.failure(&missing)?,
        &["/nonexistent", "cannot be used"],
    );
    Ok(())
}
