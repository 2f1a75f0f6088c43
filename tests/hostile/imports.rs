//! Components that import what no plugin may: refused by name, when they are installed and when they
//! are run.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use weir_files::Paths;
use weir_kit::{Grant, Node, State, component, program, weir};
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
        let file = component(name);
        let file = file.to_str().context("text")?;
        // To look at it is no error, and the answer is no.
        for (command, code) in [("add", 1), ("inspect", 3)] {
            let output = node.command(&["plugin", command, file])?;
            assert_eq!(output.status.code(), Some(code), "{name}: {output:?}");
            let printed = [output.stdout, output.stderr].concat();
            let printed = String::from_utf8(printed)?;
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
            // The first is in the message, and all are in the details.
            assert!(error["msg"].to_string().contains(name), "{error:#}");
            assert!(error["details"].to_string().contains(import), "{error:#}");
        }
        State::of(&node)?.assert_same(&before);
    }
    Ok(())
}

fn smuggle(node: &Node, name: &str) -> Result<()> {
    let wasm = fs::read(component(name))?;
    let compiled = node.root().join("compiled");
    let compiler = Command::new(program("weir-aot"))
        .args([&compiled, &component(name)])
        .status();
    ensure!(compiler?.success(), "compile {name}");
    let code = fs::read(compiled.join(name).with_extension("cwasm"))?;
    let directory = node.installed(name);
    fs::create_dir_all(&directory)?;
    // As root may: with the node's key.
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

/// Property: a plugin speaks this version of this contract: what looks like it is refused by name.
#[test]
fn contracts_that_only_look_like_ours_are_refused() -> Result<()> {
    const LOG: &str = "write: func(level: level";
    let node = Node::create()?;
    let before = State::of(&node)?;
    let calls = |imports| Text {
        imports,
        add: "(call $log (i32.const 1) (i32.const 64) (i32.const 1) (i32.const 0) (i32.const 0))",
        ..Text::default()
    };
    for (replaced, imports, word) in [
        (
            ("weir:cni@0.2.0", "weir:cni@0.3.0"),
            r#"(import "weir:cni/log@0.3.0" "write" (func $log (param i32 i32 i32 i32 i32)))"#,
            "@0.3.0",
        ),
        (
            ("weir:cni@0.2.0", "weir:cni@1.0.0"),
            r#"(import "weir:cni/log@1.0.0" "write" (func $log (param i32 i32 i32 i32 i32)))"#,
            "@1.0.0",
        ),
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
        let commands = match replaced {
            (_, "weir:cni@0.3.0") => "weir:cni/commands@0.3.0",
            (_, "weir:cni@1.0.0") => "weir:cni/commands@1.0.0",
            (_, "wear:cni@0.2.0") => "wear:cni/commands@0.2.0",
            _ => "weir:cni/commands@0.2.0",
        };
        let text = Text {
            commands,
            ..calls(imports)
        };
        let file = text.component(&node, &wit)?;
        let shown = file.to_str().context("text")?;
        let output = node.command(&["plugin", "add", shown, "--name", "text"])?;
        assert_eq!(output.status.code(), Some(1), "{word}: {output:?}");
        let printed = String::from_utf8([output.stdout, output.stderr].concat())?;
        assert!(printed.contains(word), "{word}: {printed}");
        assert!(!node.installed("text").exists(), "{word} was installed");
    }
    State::of(&node)?.assert_same(&before);
    Ok(())
}

/// Adds a component, which must be refused with all of these words.
fn assert_not_added(node: &Node, component: &Path, words: &[&str]) -> Result<()> {
    let shown = component.to_str().context("text")?;
    let output = node.command(&["plugin", "add", shown, "--name", "text"])?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let printed = String::from_utf8([output.stdout, output.stderr].concat())?;
    for word in words {
        assert!(printed.contains(word), "{word}: {printed}");
    }
    Ok(())
}

/// wit/README.md: a component of version 0.1 is refused, with what to do, though it imports nothing.
#[test]
fn a_plugin_of_version_0_1_is_told_to_be_built_again() -> Result<()> {
    let node = Node::create()?;
    let wit = node.root().join("wit");
    fs::create_dir_all(&wit)?;
    let world = "package weir:cni@0.1.0;\n\nworld plugin { export add: func(); }\n";
    fs::write(wit.join("world.wit"), world)?;
    let module = r#"(module (func (export "add")))"#;
    let file = encode(&node, &wit, module, None)?;
    let words = [
        "version 0.1",
        "`weir:cni`",
        "0.2",
        "build it with this weir's SDK",
    ];
    assert_not_added(&node, &file, &words)
}

/// wit/README.md: what exports no commands is no plugin.
#[test]
fn a_component_without_commands_is_no_plugin() -> Result<()> {
    let node = Node::create()?;
    let wit = node.root().join("wit");
    fs::create_dir_all(&wit)?;
    let world = "package other:thing@1.0.0;\n\nworld plugin { export run: func(); }\n";
    fs::write(wit.join("world.wit"), world)?;
    let module = r#"(module (func (export "run")))"#;
    let file = encode(&node, &wit, module, None)?;
    assert_not_added(
        &node,
        &file,
        &["exports no interface `weir:cni/commands@0.2.0`"],
    )
}

/// wit/README.md: within a minor version a component runs where all that it imports is there, and is refused by the name
/// of what is not.
#[test]
fn a_plugin_of_a_later_patch_runs_if_all_that_it_imports_is_there() -> Result<()> {
    const LOG: &str = "write: func(level: level";
    let later = ("weir:cni@0.2.0", "weir:cni@0.2.7");
    let text = |imports| Text {
        imports,
        commands: "weir:cni/commands@0.2.7",
        add: "(call $log (i32.const 1) (i32.const 64) (i32.const 1) (i32.const 0) (i32.const 0))",
        ..Text::default()
    };
    let node = Node::create()?;
    let wit = other_contract(&node, &[later])?;
    let imports =
        r#"(import "weir:cni/log@0.2.7" "write" (func $log (param i32 i32 i32 i32 i32)))"#;
    let file = text(imports).component(&node, &wit)?;
    node.weir(&[
        "plugin",
        "add",
        file.to_str().context("text")?,
        "--name",
        "text",
    ])?;

    let node = Node::create()?;
    let wit = other_contract(&node, &[later, (LOG, "execute: func(level: level")])?;
    let imports =
        r#"(import "weir:cni/log@0.2.7" "execute" (func $log (param i32 i32 i32 i32 i32)))"#;
    let file = text(imports).component(&node, &wit)?;
    assert_not_added(&node, &file, &["execute"])
}
