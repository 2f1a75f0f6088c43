//! A container of the demo: one of the throw-away node's, with the id that plugins are told.

use std::path::Path;

use anyhow::Result;

use crate::cli::scratch_node::{self, ScratchNode};

/// A network namespace at a path, as a container runtime makes it.
pub struct Container {
    name: &'static str,
    space: scratch_node::Container,
}

impl Container {
    /// Makes a namespace.
    pub fn create(node: &ScratchNode, name: &'static str) -> Result<Self> {
        let space = node.container(name)?;
        Ok(Self { name, space })
    }

    /// `one` or `two`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// `CNI_CONTAINERID`.
    pub fn id(&self) -> String {
        format!("demo-{}", self.name)
    }

    /// `CNI_NETNS`.
    pub fn netns(&self) -> &Path {
        self.space.netns()
    }

    /// Runs `act` in a thread inside the namespace.
    pub fn enter<T: Send>(&self, act: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        self.space.enter(act)
    }

    /// The names of the links inside.
    pub fn links(&self) -> Result<Vec<String>> {
        self.space.links()
    }
}
