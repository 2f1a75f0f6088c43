//! TLS, with authorities of one's own and without.

use anyhow::Result;
use weir_kit::assert_contains;

use crate::registry::Registry;
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
        ["labels.wasm", "labels.wasm.origin.json"]
    );
    Ok(())
}
