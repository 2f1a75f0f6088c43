//! Plugins for other versions of the contract, as `wit/README.md` says of them.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::json;
use weir_kit::{Node, State, assert_contains, weir};

use super::imports::smuggle;
use super::wat::{PLUGIN, Text, other_contract, placed};

/// How version 0.1 exported a plugin's commands.
const BARE: &str = "
    export add: func(request: request) -> result<attachment-result, failure>;
    export del: func(request: request) -> result<_, failure>;
    export check: func(request: request) -> result<_, failure>;
    export status: func(request: status-request) -> result<_, failure>;
    export gc: func(request: gc-request) -> result<_, failure>;
    export version: func() -> about;
    use cni.{request, status-request, gc-request, attachment-result, failure, about};";

/// A plugin for version 0.1: bare functions, and no import but types.
fn of_version_1(node: &Node) -> Result<PathBuf> {
    let wit = other_contract(
        node,
        &[
            ("weir:cni@0.2.0", "weir:cni@0.1.0"),
            ("@since(version = 0.2.0)", "@since(version = 0.1.0)"),
            ("export commands;", BARE),
        ],
    )?;
    let text = Text {
        exports: "",
        ..Text::default()
    };
    text.component(node, &wit)
}

/// A plugin for a later version that logs, with a function of the log that version 0.2.0 does not have.
fn of_version(node: &Node, version: &str, function: &str) -> Result<PathBuf> {
    const WRITE: &str = "write: func(level: level";
    let package = format!("weir:cni@{version}");
    let more = format!("flush: func();\n    {WRITE}");
    let wit = other_contract(node, &[("weir:cni@0.2.0", &package), (WRITE, &more)])?;
    let (parameters, arguments) = match function {
        "flush" => ("", ""),
        _ => (
            "(param i32 i32 i32 i32 i32)",
            "(i32.const 1) (i32.const 64) (i32.const 5) (i32.const 0) (i32.const 0)",
        ),
    };
    let text = Text {
        exports: &format!("weir:cni/commands@{version}#"),
        imports: &format!(
            r#"(import "weir:cni/log@{version}" "{function}" (func $log {parameters}))"#
        ),
        more: r#"(data (i32.const 64) "later")"#,
        add: &format!("(call $log {arguments})"),
        ..Text::default()
    };
    text.component(node, &wit)
}

/// Property: a plugin for another version of the contract is refused; the error says which version, and what to do.
#[test]
fn those_for_another_version_are_refused_with_what_to_do() -> Result<()> {
    let node = Node::create()?;
    let before = State::of(&node)?;
    for (version, remedy) in [
        (
            "0.1.0",
            "exports the functions `add`, `check`, `del`, `gc`, `status`, `version`; build it again",
        ),
        ("0.3.0", "exports `weir:cni/commands@0.3.0`; update weir"),
        ("1.0.0", "exports `weir:cni/commands@1.0.0`; update weir"),
    ] {
        let file = match version {
            "0.1.0" => of_version_1(&node)?,
            later => of_version(&node, later, "write")?,
        };
        let file = file.to_str().context("text")?;
        let what = format!(
            "is built for version {version} of the contract `weir:cni`, and this weir runs version 0.2"
        );
        for (command, code) in [("add", 1), ("inspect", 3)] {
            let printed = node.exits(&["plugin", command, file], code)?;
            assert_contains(&printed, &[&what, remedy]);
        }
        assert!(!node.installed(PLUGIN).exists(), "{version} was installed");
    }
    State::of(&node)?.assert_same(&before);
    Ok(())
}

/// Property: the same for a plugin that an older weir installed, and whose code is still there.
#[test]
fn an_installed_one_for_an_older_version_is_refused_as_well() -> Result<()> {
    let (node, container) = Node::with_container()?;
    let file = of_version_1(&node)?;
    let before = State::of(&node)?;
    smuggle(&node, PLUGIN, &file)?;
    let config = json!({ "cniVersion": "1.1.0", "name": "old", "type": PLUGIN });
    for command in ["ADD", "DEL"] {
        let outcome = node.run(&weir(&node, PLUGIN, command, &container, &config))?;
        let error = outcome.error();
        assert_eq!(error["code"], 203, "{error:#}");
        let told = error.to_string();
        assert_contains(
            &told,
            &[
                "plugin `text`",
                "0.1.0",
                "this weir runs version 0.2",
                "weir:cni/cni@0.1.0",
                "functions `add`",
                "weir plugin add --replace",
            ],
        );
        State::of(&node)?.assert_same(&before);
    }
    let listed = node.exits(&["plugin", "list"], 3)?;
    let error = "error      plugin `text` is built for version 0.1.0";
    assert_contains(&listed, &["unusable   sha256:", error]);
    Ok(())
}

/// Property: a plugin for a later patch of the contract runs if everything that it imports exists.
#[test]
fn one_for_a_later_patch_runs() -> Result<()> {
    let node = Node::create()?;
    let file = of_version(&node, "0.2.7", "write")?;
    let fixture = placed(node, &file, "{}", "{}")?;
    fixture.add(json!({}))?.result();
    let lines = fixture.node.log()?;
    assert_contains(&lines, &["later"]);
    Ok(())
}

/// Property: a plugin that imports a function that does not exist is refused by the function's name.
#[test]
fn one_for_a_later_patch_is_refused_for_a_function_that_is_not_there() -> Result<()> {
    let node = Node::create()?;
    let file = of_version(&node, "0.2.7", "flush")?;
    let file = file.to_str().context("text")?;
    let printed = node.exits(&["plugin", "add", file], 1)?;
    let words = ["weir:cni@0.2.0", "weir:cni/log@0.2.7", "`flush`"];
    assert_contains(&printed, &words);
    Ok(())
}
