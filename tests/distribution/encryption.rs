//! TLS, with authorities of one's own and without.

use anyhow::{Context, Result};
use weir_kit::{assert_contains, component};

use crate::registry::Registry;
use crate::uris::UriFixture;
use crate::{Case, text};

#[test]
fn an_authority_of_ones_own_is_trusted_if_it_is_given() -> Result<()> {
    let case = Case::of(Registry::encrypted()?)?;
    let authority = case.registry.authority();
    let with = ["--ca-file", text(&authority)?];
    let push = case.push()?;
    case.user.json(&[&push[..], &with].concat())?;
    case.user
        .json(&[&["plugin", "pull", &case.reference][..], &with].concat())?;
    // Another authority.
    let other = Registry::encrypted()?;
    let other = other.authority();
    let error = case.user.failure(&[
        "plugin",
        "pull",
        &case.reference,
        "x",
        "--ca-file",
        text(&other)?,
    ])?;
    assert_contains(&error, &["cannot be trusted", "certificate", "--ca-file"]);
    // Another name than that of the certificate.
    let by_address = case.reference.replace("localhost", "127.0.0.1");
    let error = case
        .user
        .failure(&[&["plugin", "pull", &by_address, "x"][..], &with].concat())?;
    assert_contains(
        &error,
        &["cannot be trusted", "certificate not valid for name"],
    );
    // Without TLS, which the registry does not speak.
    let error = case
        .user
        .failure(&["plugin", "pull", &case.reference, "x"])?;
    assert_contains(&error, &["400"]);
    assert_eq!(
        case.user.files()?,
        ["pinned-gateway.wasm", "pinned-gateway.wasm.origin.json"]
    );
    Ok(())
}

/// What a registry has of a component is a file on a web server, too.
#[test]
fn a_plugin_is_fetched_from_a_web_server_with_tls() -> Result<()> {
    let fixture = UriFixture::create()?;
    let node = &fixture.node;
    let registry = node.inside(Registry::encrypted)?;
    let authority = registry.authority();
    let with = ["--ca-file", text(&authority)?];
    let (file, reference) = (
        component("pinned-gateway"),
        registry.reference("plugins/pinned-gateway:1.2.0"),
    );
    let push = ["plugin", "push", text(&file)?, &reference];
    let pushed = node.json(&[&push[..], &with].concat(), 0)?;
    let digest = pushed["component"].as_str().context("a digest")?;
    let host = registry.host();
    fixture.put_network(&format!(
        "https://{host}/v2/plugins/pinned-gateway/blobs/{digest}"
    ))?;

    // No system trusts its authority.
    let refused = fixture.refused(&[])?;
    assert_contains(&refused, &["cannot be trusted", "certificate", "--ca-file"]);
    let other = Registry::encrypted()?.authority();
    assert_contains(
        &fixture.refused(&["--ca-file", text(&other)?])?,
        &["cannot be"],
    );
    let fetched = fixture.fetch(&with)?;
    assert_eq!(fetched["digest"], digest);
    assert_eq!(fixture.installed()?, ["pinned-gateway"]);
    Ok(())
}
