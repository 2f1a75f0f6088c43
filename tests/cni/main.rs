//! weir as a container runtime is to execute networks, and as a plugin is to run others: one test for each
//! clause of sections 3 and 4 of the CNI specification, under the number that the clause has in
//! `docs/conformance.md`.
//!
//! Most networks here are lists of one plugin that writes to weir's log what it was called with, and leaves a mark in
//! the result that it passes on.

mod by_hand;
mod delegation;
mod deleted_again;
mod execution;

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{Container, Grant, Node, failure, with_keys};

/// The plugin that writes to the log what it was called with.
const PLUGIN: &str = "puppet";

/// The network's name.
const NETWORK: &str = "blue";

/// A network on a node of its own, and a container.
struct Network {
    node: Node,
    container: Container,
}

/// What a plugin said in answer to one order.
#[derive(Clone, Debug, PartialEq)]
struct Said {
    plugin: String,
    command: String,
    order: String,
    said: String,
}

/// A plugin with a mark, which says its configuration and the marks of the previous result.
fn plugin(mark: &str) -> Value {
    json!({
        "type": PLUGIN,
        "mark": mark,
        "orders": [{ "do": "input.config" }, { "do": "input.previous" }],
    })
}

/// The same, failing on one command.
fn failing(mark: &str, command: &str) -> Value {
    let mut plugin = plugin(mark);
    plugin["end"] = json!(format!("{mark} is broken"));
    plugin["only"] = json!(command);
    plugin
}

impl Network {
    /// With these plugins.
    fn of(plugins: &[Value]) -> Result<Self> {
        Self::with(json!({ "plugins": plugins }))
    }

    /// Of the plugins `a`, `b` and `c`, after its ADD.
    fn attached() -> Result<Self> {
        let network = Self::of(&["a", "b", "c"].map(plugin))?;
        network.add()?;
        Ok(network)
    }

    /// Runs a command, and returns which plugins it ran, in their order.
    fn then(&self, command: &str) -> Result<Vec<String>> {
        self.run(command)?;
        Ok(self.run_on(&command.to_uppercase()))
    }

    /// Of three plugins, after its ADD and a command that must fail with the error of the second one.
    fn broken(command: &str) -> Result<Self> {
        let second = failing("b", &command.to_uppercase());
        let network = Self::of(&[plugin("a"), second, plugin("c")])?;
        network.add()?;
        let error = failure(network.run(command))?;
        assert!(error.contains("b is broken"), "{error}");
        Ok(network)
    }

    /// With these keys of the list.
    fn with(keys: Value) -> Result<Self> {
        let node = Node::create()?;
        node.install_with(&Grant::nothing(PLUGIN))?;
        let network = Self {
            container: node.container()?,
            node,
        };
        network.write(keys)?;
        Ok(network)
    }

    /// Puts a list with these keys in the place of the present one.
    fn write(&self, keys: Value) -> Result<()> {
        let list = with_keys(json!({ "cniVersion": "1.1.0", "name": NETWORK }), keys);
        let directory = self.node.root().join("etc/cni/net.d");
        fs::create_dir_all(&directory)?;
        fs::write(directory.join("10-blue.conflist"), list.to_string()).context("write the list")
    }

    /// Runs a command for the container.
    fn run(&self, command: &str) -> Result<String> {
        self.run_with(command, &[])
    }

    /// Runs a command for the container, with more words.
    fn run_with(&self, command: &str, words: &[&str]) -> Result<String> {
        self.run_for(command, &self.container, words)
    }

    fn run_for(&self, command: &str, container: &Container, words: &[&str]) -> Result<String> {
        let netns = container.netns();
        let netns = netns.to_str().context("text")?;
        let own = [
            "net",
            command,
            NETWORK,
            netns,
            "--container-id",
            &container.id,
        ];
        self.node.weir(&[&own, words].concat())
    }

    /// Runs ADD, and returns its result.
    fn add(&self) -> Result<Value> {
        Ok(serde_json::from_str(&self.run("add")?)?)
    }

    /// Runs GC, with no attachment that is valid.
    fn gc(&self) -> Result<String> {
        self.node.weir(&["net", "gc", NETWORK])
    }

    /// All that plugins said so far, in order.
    fn said(&self) -> Vec<Said> {
        let log = self.node.log();
        let log = log.unwrap_or_default();
        let lines = log.lines();
        let lines = lines.map(|line| serde_json::from_str(line).expect("JSON Lines"));
        lines.filter_map(|line: Value| said(&line)).collect()
    }

    /// Who was run with this command, by the marks in the configurations, in order.
    fn run_on(&self, command: &str) -> Vec<String> {
        let configs = self.configs(command);
        let marks = configs.iter().map(|config| config["mark"].as_str());
        marks
            .map(|mark| mark.unwrap_or_default().to_owned())
            .collect()
    }

    /// The configurations of the calls with this command.
    fn configs(&self, command: &str) -> Vec<Value> {
        let configs = self.answers(command, "input.config");
        let configs = configs.iter().map(|config| serde_json::from_str(config));
        configs.collect::<Result<_, _>>().expect("JSON")
    }

    /// What was said to an order in the calls with this command.
    fn answers(&self, command: &str, order: &str) -> Vec<String> {
        let said = self.said().into_iter();
        let said = said.filter(|said| said.command == command && said.order == order);
        said.map(|said| said.said).collect()
    }
}

fn said(line: &Value) -> Option<Said> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Some(Said {
        plugin: text(&line["plugin"])?,
        command: text(&line["command"])?,
        order: text(&line["message"])?,
        said: text(&line["fields"]["said"])?,
    })
}

/// A plugin configuration with addresses of the node.
fn bridge(ranges: Value) -> Value {
    json!({
        "type": "bridge",
        "bridge": "blue0",
        "ipam": { "type": "host-local", "ranges": ranges },
    })
}
