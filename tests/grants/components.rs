//! Components that are missing, damaged, or of another node or engine.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use weir_files::Paths;
use weir_grant::document::Digest;
use weir_kit::{Node, binary, component, component_file};
use weir_sandbox::seal;

use super::{NodeWithPlugin, PLUGIN};

#[test]
fn a_component_that_is_missing_or_damaged() -> Result<()> {
    let fixture = NodeWithPlugin::granted()?;
    fixture.node.link_plugin("nobody")?;
    fixture.refused(
        "nobody",
        200,
        &["no such plugin: `nobody`", "weir plugin add"],
    );
    for name in ["component.wasm", "code.cwasm", "manifest.json"] {
        let file = fixture.file(name);
        let whole = fs::read(&file)?;
        fs::write(&file, &whole[..whole.len() / 2])?;
        fixture.damaged(&[name]);
        fs::write(&file, b"")?;
        fixture.damaged(&[name]);
        fs::remove_file(&file)?;
        fixture.damaged(&[name]);
        fs::write(&file, &whole)?;
    }
    let mut flipped = fs::read(fixture.file("code.cwasm"))?;
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    fs::write(fixture.file("code.cwasm"), &flipped)?;
    fixture.damaged(&["code.cwasm", "compiled from sha256:"]);
    Ok(())
}

/// The grant is for the component's digest: what runs is what was compiled from that, here.
#[test]
fn code_of_another_component_is_not_run() -> Result<()> {
    let fixture = NodeWithPlugin::granted()?;
    let other = Node::create()?;
    other.install_plugin("labels")?;
    let (own, theirs) = (fixture.node.installed(PLUGIN), other.installed("labels"));
    // Code that weir compiled, with the seal that is on it.
    fs::copy(theirs.join("code.cwasm"), own.join("code.cwasm"))?;
    fixture.damaged(&["code.cwasm", "on this node"]);
    let seal: Value = serde_json::from_slice(&fs::read(theirs.join("manifest.json"))?)?;
    let mut manifest = fixture.manifest()?;
    manifest["seal"] = seal["seal"].clone();
    fs::write(fixture.file("manifest.json"), manifest.to_string())?;
    fixture.damaged(&["code.cwasm", "on this node"]);
    Ok(())
}

/// A plugin that was installed on another node, and copied here with all its files.
#[test]
fn a_plugin_of_another_node_is_not_run() -> Result<()> {
    let fixture = NodeWithPlugin::granted()?;
    let key = fixture.node.root().join("var/lib/weir/plugins/.key");
    fs::write(&key, [8; 32])?;
    fixture.damaged(&["on this node"]);
    fs::set_permissions(&key, Permissions::from_mode(0o644))?;
    fixture.refused(PLUGIN, 200, &["damaged", "others may read it", "0644"]);
    fs::remove_file(&key)?;
    fixture.damaged(&["seal cannot be checked"]);
    Ok(())
}

/// Code that is what was installed, but by a weir with another engine.
#[test]
fn code_of_another_engine() -> Result<()> {
    let fixture = NodeWithPlugin::granted()?;
    let code = fs::read(fixture.file("code.cwasm"))?;
    let others = [
        (of_another_version(&code)?, "version"),
        (b"no code at all".to_vec(), ""),
        // The beginning of a program that is not a plugin.
        (fs::read(binary())?[..1 << 20].to_vec(), ""),
    ];
    for (code, word) in others {
        fs::write(fixture.file("code.cwasm"), &code)?;
        let mut manifest = fixture.manifest()?;
        let component: Digest = serde_json::from_value(manifest["digest"].clone())?;
        let seal = seal(&Paths::below(fixture.node.root()), &component, &code);
        manifest["seal"] = seal.map_err(anyhow::Error::msg)?.into();
        manifest["compiledBy"] = "0.0.9".into();
        fs::write(fixture.file("manifest.json"), manifest.to_string())?;
        let words = [
            "cannot be loaded by this weir",
            "compiled by weir 0.0.9",
            "install it again",
            word,
        ];
        fixture.refused(PLUGIN, 200, &words);
    }
    // Installed again, it works.
    let file = &component_file(PLUGIN);
    fixture.node.weir(&["plugin", "add", "--replace", file])?;
    fixture.run(PLUGIN, "ADD")?.result();
    Ok(())
}

/// The engine's version is in the code as text, after its length.
fn of_another_version(code: &[u8]) -> Result<Vec<u8>> {
    let lock = fs::read_to_string(weir_kit::house().join("Cargo.lock"))?;
    let version = lock.split("name = \"wasmtime\"\nversion = \"").nth(1);
    let version = version
        .and_then(|rest| rest.split('"').next())
        .context("wasmtime's version")?;
    let place = code
        .windows(version.len())
        .position(|bytes| bytes == version.as_bytes());
    let place = place.or_else(|| {
        // Only the part that matters to the code.
        let major = version.split('.').next()?;
        code.windows(major.len() + 1).position(|bytes| {
            usize::from(bytes[0]) == major.len() && &bytes[1..] == major.as_bytes()
        })
    });
    let place = place.with_context(|| format!("wasmtime {version} is not in its code"))?;
    let mut other = code.to_vec();
    let digit = other[place..]
        .iter()
        .position(u8::is_ascii_digit)
        .context("a digit")?;
    other[place + digit] = if other[place + digit] == b'1' {
        b'2'
    } else {
        b'1'
    };
    ensure!(other != code);
    Ok(other)
}

#[test]
fn what_is_no_component_is_not_installed() -> Result<()> {
    let node = Node::create()?;
    let whole = fs::read(component(PLUGIN))?;
    let cases: [(&str, Vec<u8>); 5] = [
        ("empty", Vec::new()),
        ("text", b"#!/bin/sh\n".to_vec()),
        // A core module: `\0asm`, version 1, no layer.
        ("module", b"\0asm\x01\0\0\0".to_vec()),
        ("truncated", whole[..whole.len() - 7].to_vec()),
        ("native", fs::read(binary())?[..4096].to_vec()),
    ];
    for (name, bytes) in cases {
        let file = node.root().join(format!("{name}.wasm"));
        fs::write(&file, bytes)?;
        let shown = file.to_str().context("text")?;
        let output = node.command(&["plugin", "add", shown])?;
        assert_eq!(output.status.code(), Some(1), "{name}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains("not a WebAssembly component"),
            "{name}: {said}"
        );
        assert!(!node.installed(name).exists(), "{name} was installed");
    }
    for name in ["bridge", "../up", "a/b", ""] {
        let shown = &component_file(PLUGIN);
        let output = node.command(&["plugin", "add", shown, "--name", name])?;
        assert_eq!(output.status.code(), Some(1), "{name}: {output:?}");
    }
    assert_eq!(entries(&node.installed("."))?, 0, "something was installed");
    Ok(())
}

fn entries(directory: &Path) -> Result<usize> {
    if directory.exists() {
        Ok(fs::read_dir(directory)?.count())
    } else {
        Ok(0)
    }
}
