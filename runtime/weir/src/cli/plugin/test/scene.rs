//! Where a test takes place: a node and a container, and their state.

use anyhow::{Context, Result};

use super::node_state::{Changes, NodeState};
use crate::cli::scratch_node::{Container, ScratchNode};

/// A node and the container of the test, in the state after the last command.
pub struct Scene<'a> {
    node: &'a ScratchNode,
    pub container: &'a Container,
    pub state: NodeState,
}

impl<'a> Scene<'a> {
    /// Returns the path of the container's network namespace.
    pub fn netns(&self) -> String {
        self.container.netns().to_string_lossy().into_owned()
    }

    /// In its present state.
    pub fn of(node: &'a ScratchNode, container: &'a Container) -> Result<Self> {
        Ok(Self {
            node,
            container,
            state: NodeState::of(node, container).context("read the namespaces")?,
        })
    }

    /// Returns what has changed since the last call.
    pub fn changes(&mut self) -> Result<Changes> {
        let now = NodeState::of(self.node, self.container).context("read the namespaces")?;
        let changes = now.changes_since(&self.state);
        self.state = now;
        Ok(changes)
    }
}
