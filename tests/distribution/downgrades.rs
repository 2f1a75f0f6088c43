//! An older version does not take the place of a newer one unless somebody says so.

use std::fs;

use anyhow::{Context, Result};
use weir_kit::guest::of_version;
use weir_kit::{Node, assert_contains};

use crate::text;
use crate::uris::UriFixture;

const REFUSED: [&str; 4] = [
    "plugin `pinned-gateway` stays at version `0.3.0`",
    "`0.2.9`",
    "is older",
    "--allow-downgrade",
];

/// The digest and the version of `pinned-gateway`.
fn installed(node: &Node, status: i32) -> Result<[String; 2]> {
    let listed = node.json(&["plugin", "list"], status)?;
    let mut lines = listed.as_array().context("a list")?.iter();
    let line = lines.find(|line| line["name"] == "pinned-gateway");
    let line = line.context("a line of it")?;
    Ok(["digest", "version"].map(|key| line[key].to_string()))
}

#[test]
fn a_file_of_an_older_version_replaces_no_newer_one() -> Result<()> {
    let node = Node::create()?;
    let write = |version: &str| {
        node.write(
            &format!("{version}.wasm"),
            of_version("pinned-gateway", version)?,
        )
    };
    let (old, new) = (write("0.2.9")?, write("0.3.0")?);
    node.weir(&["plugin", "add", text(&new)?])?;
    let before = installed(&node, 0)?;
    let replace = ["plugin", "add", text(&old)?, "--replace"];
    assert_contains(&node.stderr(&replace, 1)?, &REFUSED);
    assert_eq!(installed(&node, 0)?, before);

    // Damage is no way around it: what was recorded counts.
    fs::write(
        node.installed("pinned-gateway").join("component.wasm"),
        "damaged",
    )?;
    assert_contains(&node.stderr(&replace, 1)?, &REFUSED);
    assert_eq!(installed(&node, 3)?, before);

    node.exits(&[&replace[..], &["--allow-downgrade"]].concat(), 0)?;
    assert_eq!(installed(&node, 0)?[1], "\"0.2.9\"");
    node.exits(&["plugin", "add", text(&new)?, "--replace"], 0)?;
    assert_eq!(installed(&node, 0)?, before);
    Ok(())
}

#[test]
fn an_update_takes_no_older_version() -> Result<()> {
    let (fixture, _) = UriFixture::with_plugin()?;
    let put = |version: &str| {
        let component = of_version("pinned-gateway", version)?;
        fixture.web.put("/pinned-gateway.wasm", &component);
        Ok::<_, anyhow::Error>(())
    };
    put("0.3.0")?;
    fixture.fetch(&[])?;
    let before = installed(&fixture.node, 0)?;
    put("0.2.9")?;
    assert_contains(&fixture.refused(&["--update"])?, &REFUSED);
    assert_eq!(installed(&fixture.node, 0)?, before);
    fixture.fetch(&["--update", "--allow-downgrade"])?;
    assert_eq!(installed(&fixture.node, 0)?[1], "\"0.2.9\"");
    Ok(())
}
