//! The bill of materials and the licences: they name what is in the binary, and nothing that only builds or tests it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::{assert_contains, binary};

use super::release::{Release, TIME};
use super::weir;

/// What tests ask of libraries that they share with the binary under test: it has HTTP/2, the released one has not.
const FOR_TESTS: [&str; 2] = ["h2", "slab"];

/// What only builds, generates or tests.
const NOT_INSIDE: [&str; 6] = [
    "proptest",
    "serde_derive",
    "weir-kit",
    "weir-tests",
    "cc",
    "wit-bindgen-rust-macro",
];

pub fn check(release: &Release) -> Result<()> {
    let bill: Value = serde_json::from_str(&release.read("weir.cdx.json")?)?;
    assert_eq!(bill["bomFormat"], "CycloneDX");
    assert_eq!(bill["metadata"]["timestamp"], TIME.1);
    let components = by_reference(&bill)?;
    // One of each program, of what is in C, and of what is linked.
    for inside in [
        "weir",
        "weir-compiler",
        "weir-plugin-bridge",
        "wasmtime",
        "cranelift-codegen",
        "ring",
        "weir-sdk",
        "musl",
        "rust-std",
    ] {
        let named = components
            .values()
            .filter(|component| component["name"] == inside);
        assert_eq!(named.count(), 1, "{inside}");
    }
    for other in NOT_INSIDE {
        assert!(
            !components
                .values()
                .any(|component| component["name"] == other),
            "{other}"
        );
    }
    for component in components.values() {
        let licence = &component["licenses"][0]["expression"];
        assert!(
            licence.as_str().is_some_and(|text| !text.contains('/')),
            "{component}"
        );
    }
    check_plugins(&components)?;
    check_dependencies(&bill, &components)?;
    check_traces(&components)
}

fn by_reference(bill: &Value) -> Result<BTreeMap<&str, &Value>> {
    let components = bill["components"].as_array().context("components")?;
    let named = components.iter().map(|component| {
        let reference = component["bom-ref"].as_str().context("a reference")?;
        Ok((reference, component))
    });
    let named: BTreeMap<&str, &Value> = named.collect::<Result<_>>()?;
    ensure!(
        named.len() == components.len(),
        "two components have one reference"
    );
    Ok(named)
}

/// The plugins have the digests that the binary states.
fn check_plugins(components: &BTreeMap<&str, &Value>) -> Result<()> {
    let built: Value = serde_json::from_str(&weir(&["version", "--build", "--output", "json"])?)?;
    for plugin in built["plugins"].as_array().context("plugins")? {
        let name = plugin["name"].as_str().context("a name")?;
        let component = components
            .get(format!("plugin/{name}").as_str())
            .context("a plugin")?;
        let digest = plugin["digest"]
            .as_str()
            .and_then(|text| text.strip_prefix("sha256:"));
        assert_eq!(
            component["hashes"],
            json!([{ "alg": "SHA-256", "content": digest }])
        );
    }
    Ok(())
}

/// Everything is reached from the binary.
fn check_dependencies(bill: &Value, components: &BTreeMap<&str, &Value>) -> Result<()> {
    let edges = bill["dependencies"].as_array().context("dependencies")?;
    let used_by = |user: &str| {
        let edge = edges.iter().find(|edge| edge["ref"] == user);
        let used = edge.and_then(|edge| edge["dependsOn"].as_array());
        used.into_iter().flatten().filter_map(Value::as_str)
    };
    let own = bill["metadata"]["component"]["bom-ref"].as_str();
    let (mut reached, mut waiting) = (BTreeSet::new(), vec![own.context("a reference")?]);
    while let Some(next) = waiting.pop() {
        waiting.extend(used_by(next).filter(|used| reached.insert(*used)));
    }
    assert_eq!(reached, components.keys().copied().collect());
    Ok(())
}

/// The binary itself names crates, in the paths of its panics: they are all there.
fn check_traces(components: &BTreeMap<&str, &Value>) -> Result<()> {
    let bytes = fs::read(binary())?;
    let text = String::from_utf8_lossy(&bytes);
    let paths = text.split("/registry/src/").skip(1);
    let named: BTreeSet<&str> = paths.filter_map(|path| path.split('/').nth(1)).collect();
    assert!(named.len() > 50, "{named:?}");
    for directory in named {
        let (name, version) = directory
            .match_indices('-')
            .map(|(at, _)| (&directory[..at], &directory[at + 1..]))
            .find(|(_, version)| version.starts_with(|first: char| first.is_ascii_digit()))
            .with_context(|| directory.to_owned())?;
        let reference = format!("{name}@{version}");
        let is_listed = components.contains_key(reference.as_str());
        assert!(
            is_listed || FOR_TESTS.contains(&name),
            "{reference} is in the binary"
        );
    }
    Ok(())
}

/// Each crate from the registry has a licence's text.
pub fn check_licences(release: &Release) -> Result<()> {
    let licences = release.read("THIRD-PARTY-LICENSES")?;
    let bill: Value = serde_json::from_str(&release.read("weir.cdx.json")?)?;
    for (_, component) in by_reference(&bill)?
        .into_iter()
        .filter(|(_, one)| one.get("purl").is_some())
    {
        let text = |key: &str| component[key].as_str().context("text");
        let title = format!(
            "{} {} ({})\n",
            text("name")?,
            text("version")?,
            component["licenses"][0]["expression"]
                .as_str()
                .unwrap_or_default()
        );
        assert_contains(&licences, &[&title]);
    }
    for notice in [
        "Rich Felker",
        "Permission is hereby granted",
        "CC0 1.0 Universal",
        "LLVM Exceptions to the Apache 2.0 License",
        "TERMS AND CONDITIONS FOR USE",
    ] {
        assert_contains(&licences, &[notice]);
    }
    for part in licences.split(&"=".repeat(80)) {
        let (_, text) = part.trim().split_once("\n").context("a title and a text")?;
        assert!(!text.trim().is_empty(), "no text: {part}");
    }
    Ok(())
}
