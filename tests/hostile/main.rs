//! Hostile guests: plugins that loop, eat, flood, trap, lie, forge and reach for what is not theirs.
//! Each is denied or bounded, recorded, and leaves nothing behind.

mod attacks;
mod bounds;
mod changes;
mod contract;
mod crossing;
mod delegation;
mod excess;
mod explained;
mod filters;
mod forgery;
mod imports;
mod inspected;
mod interfaces;
mod limits;
mod links;
mod names;
mod networks;
mod output;
mod parameters;
mod puppet;
mod reach;
mod records;
mod review;
mod size;
mod stores;
mod tenants;
mod versions;
mod wat;

use std::fs;

use anyhow::Result;
use bytesize::ByteSize;
use serde_json::{Value, json};
use weir_kit::{Call, Container, Grant, Node, Outcome, State, assert_contains, weir, with_keys};

/// What an error says of a plugin that needs more than this time.
fn over_time(limit: &str) -> String {
    format!("did not finish within its time, `limits.time: {limit}`")
}

/// What an error says of a plugin that needs more than this memory.
fn over_memory(limit: &str) -> String {
    format!("needed more memory than `limits.memory: {limit}`")
}

/// What a plugin may have where its grant does not say, in bytes.
const DEFAULT_MEMORY: u64 = 64 << 20;

/// What all of a call of weir takes besides, at most, in bytes.
const HOSTS_OWN: u64 = 32 << 20;

/// A node with a hostile plugin under a grant, and a container.
pub struct AttackedNode {
    pub node: Node,
    pub container: Container,
    plugin: String,
    before: State,
}

impl AttackedNode {
    pub fn create(grant: &Grant<'_>) -> Result<Self> {
        let node = Node::create()?;
        node.install_with(grant)?;
        Ok(Self {
            container: node.container()?,
            before: State::of(&node)?,
            plugin: grant.plugin.to_owned(),
            node,
        })
    }

    /// A configuration that tells the plugin what to do.
    pub fn config(&self, keys: Value) -> Value {
        let config = json!({ "cniVersion": "1.1.0", "name": "hostile", "type": self.plugin });
        with_keys(config, keys)
    }

    /// Runs ADD with these keys.
    pub fn add(&self, keys: Value) -> Result<Outcome> {
        self.run("ADD", keys, &[])
    }

    /// Runs ADD with these keys, which must fail with this code and these words and leave nothing; see
    /// [`assert_ended`](Self::assert_ended).
    #[track_caller]
    pub fn ends(&self, keys: Value, code: u64, words: &[&str]) -> Result<()> {
        let outcome = self.add(keys)?;
        self.assert_ended(&outcome, code, words);
        Ok(())
    }

    /// A call of a command with these keys.
    pub fn call(&self, command: &str, keys: Value) -> Call {
        let config = self.config(keys);
        weir(&self.node, &self.plugin, command, &self.container, &config)
    }

    /// Runs a command with these keys and variables.
    pub fn run(&self, command: &str, keys: Value, variables: &[(&str, &str)]) -> Result<Outcome> {
        let mut call = self.call(command, keys);
        for (name, value) in variables {
            call.set(name, *value);
        }
        let measured = self.node.inside(|| call.measure())?;
        let most = self.memory()? + HOSTS_OWN;
        let peak = measured.peak;
        assert!(
            peak <= most,
            "{peak} bytes of memory, which are more than {most}"
        );
        Ok(measured.outcome)
    }

    /// What the grants let a plugin have, in bytes: the largest limit, or the one where no grant names any.
    fn memory(&self) -> Result<u64> {
        let mut most = DEFAULT_MEMORY;
        for entry in fs::read_dir(self.node.root().join("etc/weir/grants.d"))? {
            let text = fs::read_to_string(entry?.path())?;
            for (_, rest) in text
                .match_indices("memory: ")
                .map(|(at, word)| text.split_at(at + word.len()))
            {
                let size = rest
                    .split([',', '}', '\n'])
                    .next()
                    .unwrap_or_default()
                    .trim();
                let size: ByteSize = size.parse().map_err(anyhow::Error::msg)?;
                most = most.max(size.as_u64());
            }
        }
        Ok(most)
    }

    /// Fails unless the error has this code, names the plugin once, says these words, and nothing
    /// stays of the plugin: neither on the node nor in the container.
    #[track_caller]
    pub fn assert_ended(&self, outcome: &Outcome, code: u64, words: &[&str]) {
        let error = outcome.error();
        assert_eq!(error["code"], code, "{error:#}");
        let message = error["msg"].as_str().unwrap_or_default();
        let named = message.matches(&format!("`{}`", self.plugin)).count();
        assert_eq!(named, 1, "the plugin is named once: {message}");
        assert_contains(&outcome.said(), words);
        self.assert_no_residue();
    }

    /// Fails if the node or the container is not as it was.
    #[track_caller]
    pub fn assert_no_residue(&self) {
        State::of(&self.node)
            .expect("the node's state")
            .assert_same(&self.before);
        let links = self
            .container
            .ip_json("link show")
            .expect("the container's links");
        assert_eq!(
            links.as_array().map(Vec::len),
            Some(1),
            "links in the container: {links:#}"
        );
    }

    /// The audit records of an operation.
    pub fn records(&self, operation: &str) -> Vec<Value> {
        let mut records = self.node.audit();
        records.retain(|record| record["operation"] == operation);
        records
    }
}

/// May make what [`AttackedNode`]'s guest makes half-way.
pub const HALF: &str = r#"{
    link: [
      { namespace: host, kinds: [veth], names: [half0], verbs: [create, read, delete] },
      { namespace: container, kinds: [veth], names: ["{ifname}"], verbs: [create, read, delete] } ],
    address: [ { namespace: container, links: ["{ifname}"], verbs: [create, read] } ],
    store: [ { verbs: [read, write] } ] }"#;

/// May read the interface of the container.
pub const READ: &str =
    r#"{ link: [ { namespace: container, names: ["{ifname}"], verbs: [read] } ] }"#;
