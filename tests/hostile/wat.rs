//! Plugins in WebAssembly's text format: what no compiler would write, down to the bytes that cross.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use weir_kit::{Container, Grant, Node, State, house, program};

use super::AttackedNode;

/// The plugin's name.
pub const PLUGIN: &str = "text";

/// A plugin that succeeds in everything and does nothing, with its parts to be replaced.
///
/// Where a function returns a pointer, it is one to zeros: success, and an empty result.
#[derive(Clone, Debug)]
pub struct Text<'a> {
    /// What the names of its commands begin with: the contract's interface, or nothing for bare functions.
    pub exports: &'a str,
    /// Imports of functions.
    pub imports: &'a str,
    /// Data, functions, and a start function.
    pub more: &'a str,
    /// Pages of memory at first.
    pub pages: u32,
    /// What `add` does before it returns.
    pub add: &'a str,
    /// What it returns.
    pub returns: &'a str,
    /// The bodies of the other commands, before they return.
    pub others: &'a str,
    pub version: &'a str,
    /// What weir calls for memory; its own when empty.
    pub realloc: &'a str,
    /// What is called after `add`.
    pub after: &'a str,
}

/// Never runs out of memory and never frees: what the host hands over.
const REALLOC: &str = "
    (local $at i32)
    (local.set $at
        (i32.and (i32.add (global.get $next) (i32.const 15)) (i32.const -16)))
    (global.set $next (i32.add (local.get $at) (local.get 3)))
    (block $enough
        (br_if $enough (i32.le_u (global.get $next) (i32.mul (memory.size) (i32.const 65536))))
        (drop (memory.grow (i32.const 16))))
    (local.get $at)";

impl Default for Text<'_> {
    fn default() -> Self {
        Self {
            exports: "weir:cni/commands@0.2.0#",
            imports: "",
            more: "",
            pages: 1,
            add: "",
            returns: "(i32.const 1024)",
            others: "",
            version: "",
            realloc: REALLOC,
            after: "",
        }
    }
}

impl<'a> Text<'a> {
    /// A plugin whose `add` does this before it returns.
    pub fn adding(add: &'a str) -> Self {
        Self {
            add,
            ..Self::default()
        }
    }

    fn module(&self) -> String {
        let Self {
            exports,
            imports,
            more,
            pages,
            add,
            returns,
            others,
            version,
            realloc,
            after,
        } = self;
        format!(
            r#"(module
    {imports}
    (memory (export "memory") {pages})
    (global $next (mut i32) (i32.const 8192))
    {more}
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) {realloc})
    (func (export "{exports}add") (param i32) (result i32) {add} {returns})
    (func (export "cabi_post_{exports}add") (param i32) {after})
    (func (export "{exports}del") (param i32) (result i32) {others} (i32.const 1024))
    (func (export "{exports}check") (param i32) (result i32) {others} (i32.const 1024))
    (func (export "{exports}status") (param i32 i32 i32 i32) (result i32) {others} (i32.const 1024))
    (func (export "{exports}gc") (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32) {others} (i32.const 1024))
    (func (export "{exports}version") (result i32) {version} (i32.const 1024))
)"#
        )
    }

    /// Makes it a component against a contract, in a file of its own.
    pub fn component(&self, node: &Node, wit: &Path) -> Result<PathBuf> {
        self.component_with(node, wit, None)
    }

    /// The same, with the component of this text inside.
    pub fn component_with(&self, node: &Node, wit: &Path, inside: Option<&str>) -> Result<PathBuf> {
        encode(node, wit, &self.module(), inside)
    }

    /// A place with the plugin in it.
    pub fn fixture(&self, capabilities: &str, limits: &str) -> Result<AttackedNode> {
        self.place_with(None, capabilities, limits)
    }

    /// The same, where the plugin has the component of this text inside.
    pub fn place_with(
        &self,
        inside: Option<&str>,
        capabilities: &str,
        limits: &str,
    ) -> Result<AttackedNode> {
        let node = Node::create()?;
        let file = self.component_with(&node, &house().join("wit"), inside)?;
        placed(node, &file, capabilities, limits)
    }
}

/// Installs the plugin of a file, and returns the place with it.
pub fn placed(node: Node, file: &Path, capabilities: &str, limits: &str) -> Result<AttackedNode> {
    let file = file.to_str().context("text")?;
    node.weir(&["plugin", "add", file, "--name", PLUGIN])?;
    node.link_plugin(PLUGIN)?;
    put_grant(&node, capabilities, limits)?;
    let container: Container = node.container()?;
    Ok(AttackedNode {
        container,
        before: State::of(&node)?,
        plugin: PLUGIN.to_owned(),
        node,
    })
}

/// Makes a module a component of a world `plugin`, in a file of its own, with the component of another text inside.
pub fn encode(node: &Node, wit: &Path, module: &str, inside: Option<&str>) -> Result<PathBuf> {
    let mut weir_wat = Command::new(program("weir-wat"));
    weir_wat.arg(wit);
    if let Some(inside) = inside {
        let file = node.root().join("inside.wat");
        fs::write(&file, inside)?;
        weir_wat.arg(file);
    }
    let input = node.root().join("text.wat");
    fs::write(&input, module)?;
    let output = weir_wat.stdin(File::open(&input)?).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{errors}\n{module}");
    let file = node.root().join("text.wasm");
    fs::write(&file, output.stdout)?;
    Ok(file)
}

/// Puts a grant of these capabilities and limits in force.
pub fn put_grant(node: &Node, capabilities: &str, limits: &str) -> Result<()> {
    let grant = Grant {
        capabilities,
        limits,
        ..Grant::nothing(PLUGIN)
    };
    node.put_grant("text.yaml", &grant.document(&node.digest(PLUGIN)?))
}

/// A contract that is not quite ours: each text of it replaced by another one.
pub fn other_contract(node: &Node, replaced: &[(&str, &str)]) -> Result<PathBuf> {
    let wit = node.root().join("wit");
    let _ = fs::remove_dir_all(&wit);
    fs::create_dir_all(&wit)?;
    for entry in fs::read_dir(house().join("wit"))? {
        let entry = entry?;
        let mut text = fs::read_to_string(entry.path())?;
        for (old, new) in replaced {
            text = text.replace(old, new);
        }
        fs::write(wit.join(entry.file_name()), text)?;
    }
    Ok(wit)
}
