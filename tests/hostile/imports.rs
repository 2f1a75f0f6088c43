//! Components that import what no plugin may: refused by name, when they are installed and when they
//! are run.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use weir_files::Paths;
use weir_kit::{Grant, Node, State, component, component_file, program, weir};
use weir_sandbox::{digest, seal};

use super::wat::{Text, encode, other_contract};

const REFUSED: [(&str, &str); 3] = [
    ("files", "wasi:filesystem/"),
    ("sockets", "wasi:sockets/"),
    ("stranger", "stranger:house/backdoor@1.0.0"),
];

/// Property: what asks for more than the contract is refused by name.
#[test]
fn they_are_not_installed() -> Result<()> {
    let node = Node::create()?;
    for (name, import) in REFUSED {
        let file = &component_file(name);
        // To look at it is not an error, and the answer is no.
        for (command, code) in [("add", 1), ("inspect", 3)] {
            let printed = node.exits(&["plugin", command, file], code)?;
            assert!(printed.contains(import), "{name}: {printed}");
        }
        assert!(!node.installed(name).exists(), "{name} was installed");
    }
    Ok(())
}

/// Property: the same when its files were put in place by other means.
///
/// Installed by other means than weir's, with files that are all as they should be.
#[test]
fn they_are_not_run() -> Result<()> {
    let (node, container) = Node::with_container()?;
    let before = State::of(&node)?;
    for (name, import) in REFUSED {
        smuggle(&node, name, &component(name))?;
        let config = json!({ "cniVersion": "1.1.0", "name": "hostile", "type": name });
        for command in ["ADD", "DEL"] {
            let outcome = node.run(&weir(&node, name, command, &container, &config))?;
            let error = outcome.error();
            assert_eq!(error["code"], 201, "{error:#}");
            // The first is in the message, and all are in the details.
            assert!(error["msg"].to_string().contains(name), "{error:#}");
            assert!(error["details"].to_string().contains(import), "{error:#}");
        }
        State::of(&node)?.assert_same(&before);
    }
    Ok(())
}

/// Puts the files of an installed plugin in place, as root may: with the node's key.
pub fn smuggle(node: &Node, name: &str, component: &Path) -> Result<()> {
    let wasm = fs::read(component)?;
    let compiled = node.root().join("compiled");
    let compiler = Command::new(program("weir-aot"))
        .args([&compiled, component])
        .status();
    ensure!(compiler?.success(), "compile {name}");
    let code = fs::read(compiled.join(name).with_extension("cwasm"))?;
    let directory = node.installed(name);
    fs::create_dir_all(&directory)?;
    let seal = seal(&Paths::below(node.root()), &digest(&wasm), &code);
    let manifest = json!({
        "name": name,
        "digest": digest(&wasm).to_string(),
        "seal": seal.map_err(anyhow::Error::msg)?,
        "compiledBy": "somebody",
    });
    fs::write(directory.join("component.wasm"), &wasm)?;
    fs::write(directory.join("code.cwasm"), &code)?;
    fs::write(directory.join("manifest.json"), manifest.to_string())?;
    // As they should be whatever the umask of who runs this.
    let all = ["", "component.wasm", "code.cwasm", "manifest.json"];
    for (name, mode) in all.into_iter().zip([0o755, 0o644, 0o644, 0o644]) {
        fs::set_permissions(directory.join(name), Permissions::from_mode(mode))?;
    }
    node.link_plugin(name)?;
    let document = Grant::nothing(name).document(&digest(&wasm).to_string());
    node.put_grant(format!("{name}.yaml"), &document)
}

/// Property: a plugin uses this contract: what only looks like it is refused by name.
#[test]
fn contracts_that_only_look_like_ours_are_refused() -> Result<()> {
    const LOG: &str = "write: func(level: level";
    let node = Node::create()?;
    let before = State::of(&node)?;
    let calls = |exports, imports| Text {
        exports,
        imports,
        add: "(call $log (i32.const 1) (i32.const 64) (i32.const 1) (i32.const 0) (i32.const 0))",
        ..Text::default()
    };
    for (replaced, imports, word) in [
        (
            ("weir:cni@0.2.0", "wear:cni@0.2.0"),
            r#"(import "wear:cni/log@0.2.0" "write" (func $log (param i32 i32 i32 i32 i32)))"#,
            "wear:cni/",
        ),
        // An interface that the contract does not have.
        (
            ("interface log {", "interface shell {"),
            r#"(import "weir:cni/shell@0.2.0" "write" (func $log (param i32 i32 i32 i32 i32)))"#,
            "weir:cni/shell@0.2.0",
        ),
        // A function that the interface does not have.
        (
            (LOG, "execute: func(level: level"),
            r#"(import "weir:cni/log@0.2.0" "execute" (func $log (param i32 i32 i32 i32 i32)))"#,
            "execute",
        ),
        // A function of other arguments.
        (
            (LOG, "write: func(level: u32"),
            r#"(import "weir:cni/log@0.2.0" "write" (func $log (param i32 i32 i32 i32 i32)))"#,
            "write",
        ),
    ] {
        let mut replacements = vec![replaced];
        if word.contains("shell") {
            replacements.push(("import log;", "import shell;"));
        }
        let wit = other_contract(&node, &replacements)?;
        let exports = if word.starts_with("wear") {
            "wear:cni/commands@0.2.0#"
        } else {
            Text::default().exports
        };
        let file = calls(exports, imports).component(&node, &wit)?;
        let shown = file.to_str().context("text")?;
        let printed = node.exits(&["plugin", "add", shown, "--name", "text"], 1)?;
        assert!(printed.contains(word), "{word}: {printed}");
        assert!(!node.installed("text").exists(), "{word} was installed");
    }
    State::of(&node)?.assert_same(&before);
    Ok(())
}

/// wit/README.md: a component without commands is not a plugin.
#[test]
fn a_component_without_commands_is_no_plugin() -> Result<()> {
    let node = Node::create()?;
    let world = "package other:thing@1.0.0;\n\nworld plugin { export run: func(); }\n";
    node.write("wit/world.wit", world)?;
    let wit = node.root().join("wit");
    let module = r#"(module (func (export "run")))"#;
    let file = encode(&node, &wit, module, None)?;
    let file = file.to_str().context("text")?;
    let printed = node.exits(&["plugin", "add", file, "--name", "text"], 1)?;
    let why = "exports no interface `weir:cni/commands@0.2.0`";
    assert!(printed.contains(why), "{printed}");
    Ok(())
}
