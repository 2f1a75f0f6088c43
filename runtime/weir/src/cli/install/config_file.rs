//! A small file to install: the configuration, the kubeconfig.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use weir_files::{Durability, is_temporary, replace};

use super::replaced::{file_names, remove};

/// Its path and content. Only its owner may read it.
pub struct ConfigFile {
    pub path: PathBuf,
    pub content: String,
}

impl ConfigFile {
    /// Writes it, unless it is there. Returns whether it was not.
    pub fn put(&self) -> Result<bool> {
        if self.is_there()? {
            return Ok(false);
        }
        replace(&self.path, self.content.as_bytes(), Durability::Disk)
            .with_context(|| format!("write `{}`", self.path.display()))?;
        Ok(true)
    }

    /// Whether it exists with its content and permissions.
    pub fn is_there(&self) -> Result<bool> {
        let compare = || -> io::Result<bool> {
            let metadata = fs::symlink_metadata(&self.path)?;
            let is_private = metadata.is_file() && metadata.mode() & 0o077 == 0;
            Ok(is_private && fs::read(&self.path)? == self.content.as_bytes())
        };
        match compare() {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            compared => compared.with_context(|| format!("read `{}`", self.path.display())),
        }
    }
}

/// Removes what an interrupted write left in a directory. No other process may be writing there.
pub fn clear_up(directory: &Path) -> Result<()> {
    for name in file_names(directory)? {
        if is_temporary(name.as_ref()) {
            remove(&directory.join(name))?;
        }
    }
    Ok(())
}

/// Waits until the names in a directory are on disk.
pub fn sync(directory: &Path) -> Result<()> {
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.with_context(|| format!("write `{}` to disk", directory.display()))
}
