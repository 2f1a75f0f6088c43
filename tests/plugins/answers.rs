//! Answers of `weir plugin` and `weir grants` that are easily wrong.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{Grant, Node, assert_contains, binary, component};

use crate::{json, path, said};

/// What the example needs.
const LABELS: &str = "{ link: [{ verbs: [read, update] }] }";

fn inspected(node: &Node, words: &[&str], code: i32) -> Value {
    let words = [&["plugin", "inspect", "--output", "json"], words].concat();
    json(node, &words, code)
}

/// Runs weir, which must fail, and returns its standard error.
#[track_caller]
fn refused(node: &Node, words: &[&str]) -> String {
    let output = node.command(words).expect("weir runs");
    assert_eq!(output.status.code(), Some(1), "{words:?}: {output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Replaced by a grant of nothing, for another component, without the verb of a function.
#[test]
fn what_does_not_let_it_run_does_not_cover_it() -> Result<()> {
    let node = Node::create()?;
    let digest = node.install_plugin("labels")?;
    let full = Grant {
        capabilities: LABELS,
        ..Grant::nothing("labels")
    };
    node.put_grant("b.yaml", &full.document(&digest))?;
    assert_eq!(
        inspected(&node, &["labels", "--granted"], 0)["granted"],
        true
    );

    node.put_grant("a.yaml", &Grant::nothing("labels").document(&digest))?;
    let shown = inspected(&node, &["labels", "--granted"], 3);
    assert_eq!(shown["granted"], false, "it is shadowed: {shown:#}");
    fs::remove_file(node.grants().join("a.yaml"))?;

    let other = format!("sha256:{}", "0".repeat(64));
    node.put_grant("b.yaml", &full.document(&other))?;
    inspected(&node, &["labels", "--granted"], 3);

    let reading = Grant {
        capabilities: "{ link: [{ verbs: [read] }, { namespace: host, verbs: [create] }] }",
        ..full
    };
    node.put_grant("b.yaml", &reading.document(&digest))?;
    let shown = inspected(&node, &["labels", "--granted"], 3);
    let grant = &shown["grants"][0];
    assert_eq!(grant["not_granted"], json!([]));
    assert_eq!(
        grant["functions_not_granted"],
        json!([{ "capability": "link", "function": "update", "verbs": ["update"] }])
    );
    let text = node.weir(&["plugin", "inspect", "labels"])?;
    assert_contains(&text, &["link.update: no rule allows update"]);
    assert!(!text.contains("link.get:"), "{text}");
    Ok(())
}

#[test]
fn the_file_of_a_built_in_plugin_is_that_plugin() -> Result<()> {
    let node = Node::create()?;
    let file = component("bridge");
    let shown = inspected(&node, &[path(&file)?, "--granted"], 0);
    assert_eq!(shown["grants"][0]["digest"], "not_needed", "{shown:#}");
    let text = node.weir(&["plugin", "inspect", path(&file)?])?;
    assert!(!text.contains("names no digest"), "{text}");

    // Another component of that name is not.
    let other = component("labels");
    let words = [path(&other)?, "--name", "bridge", "--granted"];
    let shown = inspected(&node, &words, 3);
    let error = shown["error"].as_str().unwrap_or_default();
    assert!(error.contains("is built into weir"), "{shown:#}");
    assert_eq!(shown["grants"], json!([]));
    Ok(())
}

/// A weir that can write no file as large as the compiler cannot run it.
#[test]
fn a_plugin_of_the_node_is_inspected_without_the_compiler() -> Result<()> {
    let node = Node::create()?;
    node.install_plugin("labels")?;
    let file = component("labels");
    for (plugin, succeeds) in [("labels", true), ("bridge", true), (path(&file)?, false)] {
        let mut command = Command::new("prlimit");
        command.arg("--fsize=1000000").arg(binary());
        command.args(["plugin", "inspect", plugin]);
        let output = command.env("WEIR_ROOT", node.root()).output()?;
        assert_eq!(output.status.success(), succeeds, "{plugin}: {output:?}");
    }
    Ok(())
}

/// The line of a plugin in the list, which must end with this code.
#[track_caller]
fn listed(node: &Node, name: &str, code: i32) -> Value {
    let all = json(node, &["plugin", "list", "--output", "json"], code);
    let all = all.as_array().expect("a list").iter();
    let found: Vec<&Value> = all.filter(|line| line["name"] == name).collect();
    assert_eq!(found.len(), 1, "{name}");
    found[0].clone()
}

#[test]
fn the_list_reads_what_is_installed() -> Result<()> {
    let node = Node::create()?;
    node.install_plugin("labels")?;
    let whole = listed(&node, "labels", 0);
    assert!(whole["digest"].is_string() && whole["error"].is_null());
    for name in ["code.cwasm", "component.wasm"] {
        let file = node.installed("labels").join(name);
        let bytes = fs::read(&file)?;
        let mut flipped = bytes.clone();
        flipped[bytes.len() / 2] ^= 1;
        fs::write(&file, flipped)?;
        let damaged = listed(&node, "labels", 3);
        let error = damaged["error"].as_str().context("an error")?;
        assert_contains(error, &[name, "--replace"]);
        // What was recorded of it is known.
        for key in ["digest", "version", "trusted"] {
            assert_eq!(damaged[key], whole[key], "{damaged:#}");
        }
        let output = node.command(&["plugin", "list"])?;
        let text = said(&output);
        assert!(!text.contains("CNI"), "it is a person's: {text}");
        let line = text.lines().find(|line| line.starts_with("labels "));
        assert!(line.is_some_and(|l| l.contains(" unusable ")), "{text}");
        fs::write(&file, bytes)?;
    }
    listed(&node, "labels", 0);
    Ok(())
}

/// Code that is complete, but not made by this weir.
#[test]
fn the_list_tells_of_code_that_cannot_be_loaded() -> Result<()> {
    let node = Node::create()?;
    node.install_plugin("labels")?;
    let directory = node.installed("labels");
    let manifest = fs::read(directory.join("manifest.json"))?;
    let mut manifest: Value = serde_json::from_slice(&manifest)?;
    let component = serde_json::from_value(manifest["digest"].clone())?;
    let seal = weir_sandbox::seal(&weir_files::Paths::below(node.root()), &component, b"");
    manifest["seal"] = seal.map_err(anyhow::Error::msg)?.into();
    manifest["compiledBy"] = "0.0.1".into();
    fs::write(directory.join("manifest.json"), manifest.to_string())?;
    fs::write(directory.join("code.cwasm"), b"")?;
    let error = listed(&node, "labels", 3)["error"].to_string();
    assert!(error.contains("compiled by weir 0.0.1"), "{error}");
    Ok(())
}

#[test]
fn a_directory_that_is_no_plugin_is_reported_as_one() -> Result<()> {
    let node = Node::create()?;
    fs::create_dir_all(node.installed("stray"))?;
    let error = listed(&node, "stray", 3)["error"].to_string();
    assert!(error.contains("has no manifest.json"), "{error}");
    assert!(!error.contains("built in:"), "{error}");
    // Its advice works.
    assert!(error.contains("weir plugin remove stray"), "{error}");
    node.weir(&["plugin", "remove", "stray"])?;
    node.weir(&["plugin", "list"])?;
    Ok(())
}

/// A core module whose producers are clang alone.
const OF_CLANG: &[u8] =
    b"\0asm\x01\0\0\0\0\x26\x09producers\x01\x0cprocessed-by\x01\x05clang\x0619.1.7";

#[test]
fn what_is_no_component_is_reported_with_its_file() -> Result<()> {
    let node = Node::create()?;
    let config = crate::example("labels", "network.conflist");
    for (name, bytes, why) in [
        (
            "passwd",
            &b"root:x:0:0:root:/root:/bin/bash\n"[..],
            "it is not WebAssembly",
        ),
        ("core.wasm", b"\0asm\x01\0\0\0", "core module"),
        ("clang.wasm", OF_CLANG, "link it with `wasm-component-ld`"),
        ("text.wat", b"(component)", "WebAssembly text"),
        (
            "short.wasm",
            b"\0asm\x0d\0\x01\0\xff",
            "not a WebAssembly component",
        ),
    ] {
        let file = node.root().join(name);
        fs::write(&file, bytes)?;
        let file = path(&file)?;
        for words in [
            &["plugin", "inspect", file][..],
            &["plugin", "add", file],
            &["plugin", "test", file, path(&config)?],
            &["grants", "diff", file, file],
        ] {
            // A document is not read as a component.
            if words[1] == "diff" && !bytes.starts_with(b"\0asm") {
                continue;
            }
            let said = refused(&node, words);
            assert!(said.contains(&format!("`{file}`")), "{words:?}: {said}");
            assert!(said.contains(why), "{words:?}: {said}");
            assert_eq!(said.lines().count(), 1, "{words:?}: {said}");
        }
    }
    Ok(())
}

#[test]
fn a_refused_import_is_reported_without_an_empty_name() -> Result<()> {
    let node = Node::create()?;
    let file = component("files");
    let unusable = inspected(&node, &[path(&file)?], 3)["unusable"].to_string();
    assert!(unusable.contains("imports `wasi:filesystem"), "{unusable}");
    assert!(!unusable.contains("``"), "{unusable}");
    let config = crate::example("labels", "network.conflist");
    let said = refused(&node, &["plugin", "test", path(&file)?, path(&config)?]);
    assert!(
        said.contains(path(&file)?) && !said.contains("``"),
        "{said}"
    );
    Ok(())
}

#[test]
fn a_grant_without_a_digest_lets_nothing_from_elsewhere_run() -> Result<()> {
    let node = Node::create()?;
    let digest = node.install_plugin("labels")?;
    let without = Grant::nothing("labels")
        .document(&digest)
        .replace(&format!("    digest: {digest}\n"), "");
    node.put_grant("labels.yaml", &without)?;
    let output = node.command(&["grants", "show", "labels"])?;
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = said(&output);
    assert!(text.contains("names no digest"), "{text}");
    assert!(!text.contains("inside this weir"), "{text}");
    let text = node.weir(&["grants", "show", "bridge"])?;
    assert!(text.contains("the one inside this weir"), "{text}");
    Ok(())
}

#[test]
fn the_component_of_a_remaining_grant_is_reported() -> Result<()> {
    let node = Node::create()?;
    let other = format!("sha256:{}", "0".repeat(64));
    let own = Grant::nothing("pinned-gateway");
    for (granted, expected) in [
        (None, "allows it to run if it is added again"),
        (Some(other.as_str()), "for component sha256:000"),
        (Some(""), "names no digest"),
    ] {
        node.weir(&["plugin", "add", path(&component("pinned-gateway"))?])?;
        let digest = node.digest("pinned-gateway")?;
        let mut document = own.document(granted.unwrap_or(&digest));
        if granted == Some("") {
            document = document.replace("    digest: \n", "");
        }
        node.put_grant("pinned-gateway.yaml", &document)?;
        let text = node.weir(&["plugin", "remove", "pinned-gateway"])?;
        assert!(text.contains(expected), "{granted:?}: {text}");
        assert_eq!(text.lines().count(), 2, "{text}");
    }
    Ok(())
}

#[test]
fn an_invalid_document_is_reported_with_its_error() -> Result<()> {
    let node = Node::create()?;
    let file = component("pinned-gateway");
    node.put_grant("broken.yaml", "kind: Nothing\n")?;
    let shown = inspected(&node, &[path(&file)?], 0);
    let error = shown["error"].as_str().context("an error")?;
    assert_contains(error, &["broken.yaml:1:1:", "no plugin runs until"]);
    let text = node.weir(&["plugin", "inspect", path(&file)?])?;
    let added = node.weir(&["plugin", "add", path(&file)?])?;
    for said in [error, &text, &added] {
        assert!(said.contains("unknown kind `Nothing`"), "{said}");
        assert!(!said.contains("CNI"), "{said}");
    }
    Ok(())
}

#[test]
fn a_plugin_has_a_plain_name() -> Result<()> {
    let node = Node::create()?;
    let file = component("labels");
    for name in ["Foo Bar", "../x", "a/b", ".x", "-x", "", "a\nb"] {
        let name = format!("--name={name}");
        let said = refused(&node, &["plugin", "add", &name, path(&file)?]);
        assert!(said.contains("plugin name"), "{name}: {said}");
        assert!(!node.root().join("var/lib/weir/plugins").exists(), "{name}");
    }
    let error = refused(&node, &["plugin", "new", "Foo Bar", "unused"]);
    assert!(error.contains("plugin name"), "{error}");
    let document = node.root().join("document.yaml");
    let digest = format!("sha256:{}", "0".repeat(64));
    fs::write(&document, Grant::nothing("../x").document(&digest))?;
    let output = node.command(&["grants", "check", path(&document)?])?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = said(&output);
    assert_contains(&text, &["document.yaml:7:11: plugin name `../x`"]);
    Ok(())
}

#[test]
fn a_name_that_is_nearly_a_plugins_gets_a_suggestion() -> Result<()> {
    let node = Node::create()?;
    node.install_plugin("labels")?;
    for (words, meant) in [
        (&["plugin", "inspect", "brigde"][..], "bridge"),
        (&["plugin", "inspect", "label"], "labels"),
        (&["plugin", "remove", "label"], "labels"),
        (&["grants", "new", "brigde"], "bridge"),
        (&["grants", "show", "brigde"], "bridge"),
        (
            &["grants", "explain", "brigde", "link.list", "namespace=host"],
            "bridge",
        ),
    ] {
        let said = refused(&node, words);
        let expected = format!("did you mean `{meant}`?");
        assert!(said.contains(&expected), "{words:?}: {said}");
    }
    let said = refused(&node, &["plugin", "inspect", "something-else"]);
    assert!(!said.contains("did you mean"), "{said}");
    Ok(())
}

#[test]
fn a_test_ends_where_the_configuration_is_not_valid() -> Result<()> {
    let node = Node::create()?;
    let config = node.root().join("network.conflist");
    let list = json!({
        "cniVersion": "1.1.0",
        "name": "tried",
        "plugins": [
            { "type": "ptp", "ipam": { "type": "host-local", "subnet": "no subnet" } },
            { "type": "labels" },
        ]
    });
    fs::write(&config, list.to_string())?;
    let test = |words: &[&str]| {
        let mut weir = Command::new(binary());
        weir.args(["plugin", "test"])
            .args([&component("labels"), &config]);
        weir.args(words).output().context("run weir")
    };
    let output = test(&["--output", "json"])?;
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let steps = report["steps"].as_array().context("steps")?;
    assert_eq!(steps.len(), 1, "{report:#}");
    assert_eq!(steps[0]["error"]["code"], 7, "{report:#}");
    assert_eq!(report["stopped"], true);
    let text = said(&test(&[])?);
    assert_eq!(text.matches("error 7").count(), 1, "{text}");
    assert!(text.contains("nothing was attached"), "{text}");
    Ok(())
}
