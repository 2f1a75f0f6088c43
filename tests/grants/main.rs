//! Whether a plugin may run at all: its component, its digest, its grant.

mod components;
mod documents;
mod schema;

use std::fs;

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::{Container, Grant, Node, Outcome, State, weir};

const PLUGIN: &str = "misbehaving";

struct NodeWithPlugin {
    node: Node,
    container: Container,
}

impl NodeWithPlugin {
    /// A node with the plugin installed, but no grant for it.
    fn create() -> Result<Self> {
        let node = Node::create()?;
        node.install_plugin(PLUGIN)?;
        Ok(Self {
            container: node.container()?,
            node,
        })
    }

    fn granted() -> Result<Self> {
        let fixture = Self::create()?;
        fixture.grant(&Grant::nothing(PLUGIN))?;
        fixture.run(PLUGIN, "ADD")?.result();
        Ok(fixture)
    }

    fn grant(&self, grant: &Grant<'_>) -> Result<()> {
        let digest = self.node.digest(grant.plugin)?;
        self.node
            .put_grant(format!("{}.yaml", grant.plugin), &grant.document(&digest))
    }

    fn run(&self, plugin: &str, command: &str) -> Result<Outcome> {
        let config = json!({ "cniVersion": "1.1.0", "name": "green", "type": plugin });
        self.node
            .run(&weir(&self.node, plugin, command, &self.container, &config))
    }

    /// ADD and DEL must fail with this code and say these words, without an effect.
    #[track_caller]
    fn refused(&self, plugin: &str, code: u64, words: &[&str]) {
        for command in ["ADD", "DEL"] {
            let before = State::of(&self.node).expect("the node's state");
            let outcome = self.run(plugin, command).expect("weir runs");
            outcome.refused(code, words);
            State::of(&self.node)
                .expect("the node's state")
                .assert_same(&before);
        }
    }

    /// ADD and DEL must fail because the plugin is damaged, and say these words and what to do.
    #[track_caller]
    fn damaged(&self, words: &[&str]) {
        let always = ["damaged", "install it again with `weir plugin add"];
        self.refused(PLUGIN, 200, &[&always, words].concat());
    }

    fn manifest(&self) -> Result<Value> {
        Ok(serde_json::from_slice(&fs::read(
            self.file("manifest.json"),
        )?)?)
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.node.installed(PLUGIN).join(name)
    }
}
