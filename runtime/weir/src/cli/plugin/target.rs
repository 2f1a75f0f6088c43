//! What a command about signatures names: a component's file, or an artifact in a registry.

use std::path::Path;

use anyhow::{Context, Result};
use weir_distribution::Reference;

pub enum Target<'a> {
    File(&'a Path),
    Artifact(Reference),
}

impl<'a> Target<'a> {
    /// A file if there is one of that name.
    pub fn of(word: &'a Path) -> Result<Self> {
        if word.exists() {
            return Ok(Self::File(word));
        }
        let shown = word.display();
        let text = word
            .to_str()
            .with_context(|| format!("`{shown}` is not text"))?;
        let reference: Result<Reference, _> = text.parse();
        let reference = reference.with_context(|| format!("there is no file `{shown}`"))?;
        Ok(Self::Artifact(reference))
    }
}
