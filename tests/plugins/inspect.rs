//! `weir plugin inspect`.

use anyhow::Result;
use serde_json::json;
use weir_kit::{Grant, Node, assert_contains, component};

use crate::{granted, json, path, said};

/// The arguments of `weir plugin inspect --granted`.
fn granted_to(file: &str) -> [&str; 6] {
    ["plugin", "inspect", file, "--granted", "--output", "json"]
}

#[test]
fn a_component_says_what_it_asks_for_down_to_the_functions() -> Result<()> {
    let node = Node::create()?;
    let file = component("labels");
    let shown = json(
        &node,
        &["plugin", "inspect", path(&file)?, "--output", "json"],
        0,
    );
    assert_eq!(shown["name"], "labels");
    assert_eq!(shown["about"]["version"], "0.1.0");
    assert_eq!(shown["contract"], "0.2.0");
    // The SDK logs the keys of a configuration that a plugin does not know.
    let asked = json!({ "link": ["get", "update"], "log": ["write"] });
    assert_eq!(shown["capabilities"], asked);
    assert_eq!(shown["refused"], json!([]));
    assert_eq!(shown["granted"], false);
    assert_eq!(shown["grants"], json!([]));
    let size = std::fs::metadata(&file)?.len();
    assert_eq!(shown["size"]["component"], size);
    assert!(shown["size"]["code"].as_u64() > Some(1000), "{shown:#}");
    // Without a grant the answer to `--granted` is no.
    json(&node, &granted_to(path(&file)?), 3);
    Ok(())
}

#[test]
fn a_grant_covers_it_or_is_said_not_to() -> Result<()> {
    let node = Node::create()?;
    let file = component("labels");
    let inspect = granted_to(path(&file)?);
    let digest = node.install_plugin("labels")?;
    node.put_grant("labels.yaml", &granted("labels", &digest)?)?;
    let shown = json(&node, &inspect, 0);
    assert_eq!(shown["granted"], true);
    assert_eq!(shown["grants"][0]["digest"], "fits");
    assert_eq!(shown["grants"][0]["not_granted"], json!([]));

    // For another component, without what it asks for, and with what it does not ask for.
    let other = format!("sha256:{}", "0".repeat(64));
    let grant = Grant {
        capabilities: "{ sysctl: [{ verbs: [read] }] }",
        ..Grant::nothing("labels")
    };
    node.put_grant("labels.yaml", &grant.document(&other))?;
    let shown = json(&node, &inspect, 3);
    let grant = &shown["grants"][0];
    assert_eq!(grant["digest"], json!({ "other": other }));
    assert_eq!(grant["not_granted"], json!(["link"]));
    assert_eq!(grant["not_requested"], json!(["sysctl"]));
    let text = node.weir(&["plugin", "inspect", "labels"])?;
    assert_contains(
        &text,
        &[
            "requested and not granted: link",
            "granted and not requested: sysctl",
            "it is for another component",
        ],
    );

    // Grants that cannot be read hide nothing else.
    node.put_grant("labels.yaml", "kind: Nothing")?;
    let shown = json(&node, &inspect, 3);
    assert!(shown["error"].is_string(), "{shown:#}");
    assert_eq!(shown["about"]["name"], "labels");
    Ok(())
}

/// A grant of a file is judged in place of those of the node, as if it were the only one.
#[test]
fn a_given_grant_is_judged_instead() -> Result<()> {
    let node = Node::create()?;
    let file = component("labels");
    let digest = node.install_plugin("labels")?;
    node.put_grant("labels.yaml", &Grant::nothing("labels").document(&digest))?;
    let grant = node.root().join("mine.yaml");
    let inspect = [&granted_to(path(&file)?)[..], &["--grant", path(&grant)?]].concat();
    for (document, code, digest) in [
        (granted("labels", &digest)?, 0, json!("fits")),
        (
            granted("labels", &format!("sha256:{}", "0".repeat(64)))?,
            3,
            json!({ "other": format!("sha256:{}", "0".repeat(64)) }),
        ),
        // As a project has it.
        (
            std::fs::read_to_string(crate::example("labels", "grant.yaml"))?,
            3,
            json!("missing"),
        ),
    ] {
        std::fs::write(&grant, document)?;
        let shown = json(&node, &inspect, code);
        let grants = shown["grants"].as_array().expect("a list");
        assert_eq!(grants.len(), 1, "{shown:#}");
        assert_eq!(grants[0]["digest"], digest, "{shown:#}");
        assert_eq!(grants[0]["not_granted"], json!([]), "{shown:#}");
        assert_eq!(grants[0]["origin"], path(&grant)?);
    }
    // Of another plugin, not valid, and not there.
    for (document, words) in [
        (
            Grant::nothing("mine").document(&digest),
            "a grant of plugin `mine`, and the component is `labels`",
        ),
        ("kind: Nothing".to_owned(), "mine.yaml:1:1:"),
    ] {
        std::fs::write(&grant, document)?;
        let output = node.command(&inspect)?;
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_contains(&said(&output), &[words]);
    }
    std::fs::remove_file(&grant)?;
    assert_eq!(node.command(&inspect)?.status.code(), Some(1));
    Ok(())
}

/// The verbs of a new grant are those of the imported functions, so every function is covered.
#[test]
fn a_new_grant_covers_every_function() -> Result<()> {
    let node = Node::create()?;
    for name in ["labels", "hostile", "pinned-gateway"] {
        node.install_plugin(name)?;
        let grant = node.root().join("new.yaml");
        // No network of the node names it.
        let new = node.weir(&["grants", "new", name])?;
        let new = new.replace("networks: []", "networks: [pods]");
        std::fs::write(&grant, &new)?;
        let inspect = [
            "plugin",
            "inspect",
            name,
            "--granted",
            "--grant",
            path(&grant)?,
        ];
        let output = node.command(&inspect)?;
        assert_eq!(output.status.code(), Some(0), "{}{new}", said(&output));
        assert_contains(
            &said(&output),
            &["it has rules for all functions that it imports"],
        );
    }
    let new = node.weir(&["grants", "new", "labels"])?;
    assert_contains(
        &new,
        &[
            "      # For get, update.",
            r#"- { namespace: container, names: ["{ifname}"], verbs: [read, update] }"#,
        ],
    );
    Ok(())
}

#[test]
fn what_is_refused_is_said_with_the_reason() -> Result<()> {
    let node = Node::create()?;
    for (guest, import, why) in [
        (
            "files",
            "wasi:filesystem/",
            "a plugin has no file system: `store.read-file`",
        ),
        ("sockets", "wasi:sockets/", "a plugin has no sockets"),
    ] {
        let file = component(guest);
        let shown = json(
            &node,
            &["plugin", "inspect", path(&file)?, "--output", "json"],
            3,
        );
        let refused = shown["refused"].as_array().expect("a list");
        let named = |refused: &&serde_json::Value| {
            refused["import"]
                .as_str()
                .is_some_and(|name| name.starts_with(import))
        };
        let found = refused.iter().find(named);
        let reason = found.and_then(|refused| refused["reason"].as_str());
        assert!(reason.is_some_and(|r| r.contains(why)), "{shown:#}");
        assert_eq!(shown["granted"], false);
        assert!(shown["about"].is_null(), "it was run: {shown:#}");
        // Several imports may have one reason, which is reported once.
        let text = said(&node.command(&["plugin", "inspect", path(&file)?])?);
        assert_eq!(text.matches(why).count(), 1, "{text}");
        let text = said(&node.command(&["plugin", "add", path(&file)?])?);
        assert_eq!(text.matches(why).count(), 1, "{text}");
    }
    Ok(())
}

/// The author chooses the name of an import: it is shown as harmless text.
#[test]
fn the_name_of_an_import_cannot_drive_the_terminal() -> Result<()> {
    let node = Node::create()?;
    let name = "url=<\u{1b}[2J\u{9b}31m\u{202e}\nsize        nothing>";
    let file = node.root().join("evil.wasm");
    std::fs::write(&file, importing(name))?;
    let inspect = ["plugin", "inspect", path(&file)?];
    let words = [&inspect[..], &["--output", "json"]].concat();
    let shown = json(&node, &words, 3);
    assert_eq!(shown["refused"][0]["import"], name);
    for words in [&inspect[..], &words, &["plugin", "add", path(&file)?]] {
        let output = node.command(words)?;
        let shown = said(&output);
        assert!(!shown.contains(misleads), "{words:?}: {shown:?}");
        let lines = shown.lines().filter(|line| line.starts_with("size"));
        assert!(lines.count() <= 1, "{words:?}: {shown}");
        assert!(shown.contains("[2J"), "{words:?}: {shown}");
    }
    Ok(())
}

fn misleads(c: char) -> bool {
    c != '\n' && (c.is_control() || c == '\u{202e}')
}

/// A component that imports an instance without functions by this name.
fn importing(name: &str) -> Vec<u8> {
    let length = |bytes: &[u8]| u8::try_from(bytes.len()).expect("a short name");
    let mut imports = vec![1, 0, length(name.as_bytes())];
    imports.extend(name.as_bytes());
    // An instance, of the first type.
    imports.extend([5, 0]);
    let mut component = b"\0asm\x0d\0\x01\0".to_vec();
    // The section of types: one, an instance without members.
    component.extend([7, 3, 1, 0x42, 0]);
    component.extend([10, length(&imports)]);
    component.extend(imports);
    component
}

/// A component without the contract, and bytes that are not a component.
#[test]
fn what_cannot_be_a_plugin_is_told_from_what_is_no_component() -> Result<()> {
    let node = Node::create()?;
    // The smallest component: magic number, version, layer 1.
    let empty = node.root().join("empty.wasm");
    std::fs::write(&empty, b"\0asm\x0d\0\x01\0")?;
    let shown = json(
        &node,
        &["plugin", "inspect", path(&empty)?, "--output", "json"],
        3,
    );
    let why = shown["unusable"].as_str().unwrap_or_default();
    assert!(why.contains("weir:cni"), "{shown:#}");
    let added = node.command(&["plugin", "add", path(&empty)?])?;
    assert_eq!(added.status.code(), Some(1), "{added:?}");
    assert!(!node.installed("empty").exists());

    let text = node.root().join("text.wasm");
    std::fs::write(&text, "#!/bin/sh\n")?;
    let output = node.command(&["plugin", "inspect", path(&text)?])?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    Ok(())
}
