//! The SDK for plugins in C: what needs no component, compiled for this machine.

use std::process::Command;

use anyhow::{Context, Result};
use weir_kit::{Node, house};

use crate::said;

#[test]
fn text_addresses_and_configurations_in_c() -> Result<()> {
    let node = Node::create()?;
    let program = node.root().join("text");
    let house = house();
    let compiled = Command::new("clang")
        .args(["-std=gnu17", "-Wall", "-Wextra", "-Werror"])
        .arg("-I")
        .arg(house.join("sdk/c/include"))
        .arg("-I")
        .arg(house.join("target/c/pinned-gateway"))
        .arg("-o")
        .arg(&program)
        .args(["tests/plugins/c/text.c", "sdk/c/weir.c"].map(|file| house.join(file)))
        .output()
        .context("run clang")?;
    assert!(compiled.status.success(), "{}", said(&compiled));
    let output = Command::new(&program).output()?;
    assert!(output.status.success(), "{}", said(&output));
    Ok(())
}
