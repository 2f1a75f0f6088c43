//! Third-party plugins: inspected, installed, tested, newly written; and those of `examples/` on a node.

mod answers;
mod c;
mod catalogue;
mod cookbook;
mod embedded;
mod examples;
mod expect;
mod go;
mod inspect;
mod new;
mod outcome;
mod point_to_point;
mod published;
mod recorded;
mod route_override;
mod settings;
mod stable_addresses;
mod standard;
mod suggest_grant;
mod test;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use weir_kit::guest::granted;
use weir_kit::{Node, house};

/// A file of an example.
fn example(name: &str, file: &str) -> PathBuf {
    house().join("examples").join(name).join(file)
}

/// Runs weir on a node, which must end with this code and print one JSON document.
#[track_caller]
fn json(node: &Node, words: &[&str], code: i32) -> Value {
    let output = node.command(words).expect("weir runs");
    assert_eq!(output.status.code(), Some(code), "{words:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}

fn path(path: &Path) -> Result<&str> {
    path.to_str().context("a path of text")
}

/// Has a project build nothing again for its procedural macros that the repository has built: with the same features.
fn share_features(project: &Path) -> Result<()> {
    let manifest = project.join("Cargo.toml");
    let text = fs::read_to_string(&manifest)?;
    let features = house().join("tests/features");
    let table = format!("[dependencies]\nweir-features = {{ path = {features:?} }}\n");
    let shared = text.replace("[dependencies]\n", &table);
    ensure!(shared != text, "no dependencies:\n{text}");
    Ok(fs::write(manifest, shared)?)
}

fn said(output: &Output) -> String {
    let (out, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    format!("{out}{errors}")
}
