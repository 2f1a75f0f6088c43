//! Components that import what no plugin may: refused by name, when they are installed and when they
//! are run.

use std::fs;

use anyhow::{Context, Result};
use serde_json::json;
use weir::sandbox::digest;
use weir_tests::{Grant, Node, State, component, weir};

const REFUSED: [(&str, &str); 3] = [
    ("files", "wasi:filesystem/"),
    ("sockets", "wasi:sockets/"),
    ("stranger", "stranger:house/backdoor@1.0.0"),
];

#[test]
fn they_are_not_installed() -> Result<()> {
    let node = Node::create()?;
    for (name, import) in REFUSED {
        let file = component(name);
        let file = file.to_str().context("text")?;
        for command in ["add", "inspect"] {
            let output = node.command(&["plugin", command, file])?;
            assert_eq!(output.status.code(), Some(1), "{name}: {output:?}");
            let printed = [output.stdout, output.stderr].concat();
            let printed = String::from_utf8(printed)?;
            assert!(printed.contains(import), "{name}: {printed}");
        }
        assert!(!node.installed(name).exists(), "{name} was installed");
    }
    Ok(())
}

/// Installed by other means than weir's, with files that are all as they should be.
#[test]
fn they_are_not_run() -> Result<()> {
    let node = Node::create()?;
    let container = node.container()?;
    let before = State::of(&node)?;
    for (name, import) in REFUSED {
        smuggle(&node, name)?;
        let config = json!({ "cniVersion": "1.1.0", "name": "hostile", "type": name });
        for command in ["ADD", "DEL"] {
            let outcome = node.run(&weir(&node, name, command, &container, &config))?;
            let error = outcome.error();
            assert_eq!(error["code"], 201, "{error:#}");
            let message = error["msg"].to_string();
            assert!(
                message.contains(import) && message.contains(name),
                "{error:#}"
            );
        }
        State::of(&node)?.assert_same(&before);
    }
    Ok(())
}

fn smuggle(node: &Node, name: &str) -> Result<()> {
    let wasm = fs::read(component(name))?;
    let code = fs::read(component(name).with_extension("cwasm"))?;
    let manifest = json!({
        "name": name,
        "digest": digest(&wasm).to_string(),
        "codeDigest": digest(&code).to_string(),
        "compiledBy": "somebody",
    });
    let directory = node.installed(name);
    fs::create_dir_all(&directory)?;
    fs::write(directory.join("component.wasm"), &wasm)?;
    fs::write(directory.join("code.cwasm"), &code)?;
    fs::write(directory.join("manifest.json"), manifest.to_string())?;
    node.link_plugin(name)?;
    let document = Grant::nothing(name).document(&digest(&wasm).to_string());
    node.put_grant(format!("{name}.yaml"), &document)
}
