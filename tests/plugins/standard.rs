//! The standard plugins that the build puts inside the binary, and its compiler.

use std::collections::BTreeSet;
use std::fs;

use anyhow::Result;
use serde_json::{Value, json};
use weir_grant::Document;
use weir_kit::{Node, component, house};

use crate::{json, path, said};

/// The names of the plugins in the sources.
fn sources() -> Result<BTreeSet<String>> {
    let entries = fs::read_dir(house().join("plugins"))?;
    let name = |entry: std::io::Result<fs::DirEntry>| {
        Ok(entry?.file_name().to_string_lossy().into_owned())
    };
    entries.map(name).collect()
}

#[test]
fn every_one_is_inside() -> Result<()> {
    let node = Node::create()?;
    let listed = json(&node, &["plugin", "list", "--output", "json"], 0);
    let lines = listed.as_array().expect("a list");
    let built_in = lines.iter().filter(|line| line["built_in"] == true);
    let names = built_in.filter_map(|line| line["name"].as_str().map(str::to_owned));
    assert_eq!(names.collect::<BTreeSet<_>>(), sources()?);
    Ok(())
}

/// So that they need no check at run time, and no WASI.
#[test]
fn they_import_the_contract_and_nothing_else() -> Result<()> {
    let node = Node::create()?;
    for name in sources()? {
        let shown = json(&node, &["plugin", "inspect", &name, "--output", "json"], 0);
        assert_eq!(shown["refused"], json!([]), "{name}");
        assert_eq!(shown["wasi"], json!([]), "{name}");
        assert_eq!(shown["unusable"], Value::Null, "{name}");
    }
    Ok(())
}

/// So that the grant of a plugin is found without reading the others'.
#[test]
fn their_grants_have_their_names() -> Result<()> {
    for name in sources()? {
        let text = fs::read(house().join("plugins").join(&name).join("grant.yaml"))?;
        let grant = Document::read(&text).expect("a grant");
        assert_eq!(grant.metadata.name, name);
        assert_eq!(grant.spec.plugin.name, name);
    }
    Ok(())
}

#[test]
fn a_component_is_compiled() -> Result<()> {
    let node = Node::create()?;
    let file = component("hostile");
    let words = ["plugin", "inspect", path(&file)?, "--output", "json"];
    let code = json(&node, &words, 0)["size"]["code"].as_u64();
    assert!(code > Some(1000), "{code:?} bytes of code");
    Ok(())
}

#[test]
fn what_is_no_component_is_refused_with_the_position() -> Result<()> {
    let node = Node::create()?;
    let file = node.root().join("damaged.wasm");
    // No section has the number 255.
    fs::write(&file, b"\0asm\x0d\0\x01\0\xff")?;
    let refused = node.command(&["plugin", "inspect", path(&file)?])?;
    assert!(!refused.status.success());
    assert!(said(&refused).contains("offset"), "{}", said(&refused));
    Ok(())
}
