//! A list of plugins on a node, called as a runtime does: for ADD one after the other, each with the
//! result of the one before, and for DEL the last one first, all with the last result.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::call::Answer;
use crate::node::{Attachment, NETWORK, Node};

pub struct List {
    pub node: Node,
    /// As they are in the list.
    plugins: Vec<Value>,
}

/// How the calls of one command went, in the order of the list.
pub struct Calls(Vec<Answer>);

impl List {
    pub fn new(node: Node, plugins: Vec<Value>) -> Self {
        Self { node, plugins }
    }

    /// ADD of a new container.
    pub fn add(&mut self) -> Result<(Calls, Attachment)> {
        let container_id = self.node.next_container();
        let mut calls = Vec::new();
        let mut result = None;
        for plugin in &self.plugins {
            let answer = self.call("ADD", plugin, &container_id, result.as_ref())?;
            result = Some(answer.output.clone());
            calls.push(answer);
        }
        let result = result.context("a list has plugins")?;
        Ok((Calls(calls), self.attached(container_id, result)?))
    }

    fn attached(&self, container_id: String, result: Value) -> Result<Attachment> {
        if self.plugins[0]["ipam"]["type"] == "host-local" {
            self.node.attached(container_id, result)
        } else {
            self.node.attached_without_lease(container_id, result)
        }
    }

    /// DEL of an attachment, whose namespace lives on.
    pub fn del(&self, attachment: &Attachment) -> Result<Calls> {
        let (container_id, result) = (&attachment.container_id, Some(&attachment.result));
        let plugins = self.plugins.iter().rev();
        let calls = plugins.map(|plugin| self.call("DEL", plugin, container_id, result));
        let mut calls = calls.collect::<Result<Vec<_>>>()?;
        calls.reverse();
        self.node.detached(attachment)?;
        Ok(Calls(calls))
    }

    fn call(
        &self,
        command: &str,
        plugin: &Value,
        container_id: &str,
        previous: Option<&Value>,
    ) -> Result<Answer> {
        let name = plugin["type"].as_str().context("a plugin has a type")?;
        let configuration = execution(plugin, previous);
        self.node.run(name, command, container_id, &configuration)
    }
}

impl Calls {
    /// As if it had been one call: the time of all, and the memory of the largest.
    pub fn whole(&self) -> Answer {
        Answer {
            elapsed: self.0.iter().map(|call| call.elapsed).sum::<Duration>(),
            peak_memory: self.0.iter().map(|c| c.peak_memory).max().unwrap_or(0),
            output: Value::Null,
        }
    }

    /// The call of the list's last plugin.
    pub fn last(&self) -> &Answer {
        self.0.last().expect("a list has plugins")
    }
}

/// What a runtime makes of a plugin's part of a list.
pub fn execution(plugin: &Value, previous: Option<&Value>) -> Value {
    let mut configuration = plugin.clone();
    configuration["cniVersion"] = json!("1.0.0");
    configuration["name"] = json!(NETWORK);
    if let Some(previous) = previous {
        configuration["prevResult"] = previous.clone();
    }
    configuration
}
