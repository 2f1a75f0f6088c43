//! Nodes without a network: `weir plugin save` and `load`.

use std::fs;

use anyhow::Result;
use weir_kit::assert_contains;

use crate::registry::Registry;
use crate::{Case, text};

#[test]
fn an_artifact_is_saved_carried_and_loaded() -> Result<()> {
    let Case {
        user,
        registry,
        reference,
        file,
    } = Case::of(Registry::start()?)?;
    let pushed = user.json(&["plugin", "push", text(&file)?, &reference])?;
    for layout in ["labels.tar", "layout"] {
        let saved = user.json(&["plugin", "save", &reference, layout])?;
        assert_eq!(saved["artifact"], pushed["artifact"]);
    }
    // Elsewhere, and without the registry.
    drop(registry);
    for (layout, component) in [("labels.tar", "one.wasm"), ("layout", "two.wasm")] {
        let loaded = user.json(&["plugin", "load", layout, component])?;
        assert_eq!(loaded["artifact"], pushed["artifact"]);
        assert_eq!(fs::read(user.file(component))?, fs::read(&file)?);
    }
    let loaded = user.json(&["plugin", "load", "layout"])?;
    assert_eq!(loaded["files"]["component"], "labels.wasm");
    user.json(&["plugin", "add", "labels.wasm"])?;
    Ok(())
}

#[test]
fn a_layout_that_was_changed_leaves_nothing() -> Result<()> {
    let Case {
        user,
        registry: _registry,
        reference,
        file,
    } = Case::of(Registry::start()?)?;
    let pushed = user.json(&["plugin", "push", text(&file)?, &reference])?;
    user.json(&["plugin", "save", &reference, "layout"])?;
    let digest = pushed["component"].as_str().unwrap_or_default();
    let blob = user
        .file("layout")
        .join(digest.replace("sha256:", "blobs/sha256/"));
    let size = fs::metadata(&blob)?.len();
    fs::write(&blob, vec![0; usize::try_from(size)?])?;
    let error = user.failure(&["plugin", "load", "layout"])?;
    assert_contains(
        &error,
        &["load `layout`", "the component has digest", digest],
    );
    assert_eq!(user.files()?, ["layout"]);
    let error = user.failure(&["plugin", "load", "nothing.tar"])?;
    assert_contains(&error, &["load `nothing.tar`", "No such file"]);
    let error = user.failure(&["plugin", "save", &reference, "layout"])?;
    assert_contains(&error, &["save `", "not an empty directory"]);
    Ok(())
}
