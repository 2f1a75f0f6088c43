//! The one directory that everything is written to.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A directory that is gone when this value is.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes a directory in `parent`, with a name of its own.
    pub fn create(parent: &Path) -> Result<Self> {
        let name = format!("weir-bench-{}", std::process::id());
        let path = std::path::absolute(parent)?.join(name);
        fs::create_dir(&path)
            .with_context(|| format!("--work-dir: make the directory `{}`", path.display()))?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("weir-bench: `{}` is left behind: {error}", self.0.display());
        }
    }
}
