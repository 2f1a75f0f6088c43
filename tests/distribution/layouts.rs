//! Nodes without a network: `weir plugin save` and `load`.

use std::fs;

use anyhow::Result;
use weir_kit::assert_contains;

use crate::forged::Forged;
use crate::{Case, User, text};

#[test]
fn an_artifact_is_saved_carried_and_loaded() -> Result<()> {
    let (case, pushed) = Case::pushed()?;
    for layout in ["pinned-gateway.tar", "layout"] {
        let saved = case
            .user
            .json(&["plugin", "save", &case.reference, layout])?;
        assert_eq!(saved["artifact"], pushed["artifact"]);
    }
    // Elsewhere, and without the registry.
    drop(case.registry);
    for (layout, component) in [("pinned-gateway.tar", "one.wasm"), ("layout", "two.wasm")] {
        let loaded = case.user.json(&["plugin", "load", layout, component])?;
        assert_eq!(loaded["artifact"], pushed["artifact"]);
        assert_eq!(fs::read(case.user.file(component))?, fs::read(&case.file)?);
    }
    let loaded = case.user.json(&["plugin", "load", "layout"])?;
    assert_eq!(loaded["files"]["component"], "pinned-gateway.wasm");
    case.user.json(&["plugin", "add", "pinned-gateway.wasm"])?;
    Ok(())
}

#[test]
fn a_layout_that_was_changed_leaves_nothing() -> Result<()> {
    let (case, pushed) = Case::pushed()?;
    case.user
        .json(&["plugin", "save", &case.reference, "layout"])?;
    let digest = pushed["component"].as_str().unwrap_or_default();
    let blob = case
        .user
        .file("layout")
        .join(digest.replace("sha256:", "blobs/sha256/"));
    let size = fs::metadata(&blob)?.len();
    fs::write(&blob, vec![0; usize::try_from(size)?])?;
    let error = case.user.failure(&["plugin", "load", "layout"])?;
    assert_contains(
        &error,
        &["load `layout`", "the component has digest", digest],
    );
    assert_eq!(case.user.files()?, ["layout"]);
    let error = case.user.failure(&["plugin", "load", "nothing.tar"])?;
    assert_contains(&error, &["load `nothing.tar`", "No such file"]);
    let error = case
        .user
        .failure(&["plugin", "save", &case.reference, "layout"])?;
    assert_contains(&error, &["save `", "not an empty directory"]);
    Ok(())
}

/// `refused` changes one thing of it at a time.
#[test]
fn an_artifact_that_is_made_by_hand_is_let_in() -> Result<()> {
    let user = User::new()?;
    let component = fs::read(weir_kit::component("pinned-gateway"))?;
    let honest = Forged::of(&component);
    let layout = user.path("layout");
    honest.write(&layout)?;
    user.json(&["plugin", "load", text(&layout)?, "loaded.wasm"])?;
    let server = honest.serve()?;
    let reference = format!("{}/plugins/pinned-gateway:1.2.0", server.address);
    user.json(&["plugin", "pull", &reference, "pulled.wasm"])?;
    for file in ["loaded.wasm", "pulled.wasm"] {
        assert_eq!(fs::read(user.file(file))?, component);
    }
    Ok(())
}
