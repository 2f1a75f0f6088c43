//! Installed components that tests share: to compile one takes a second, and hundreds of tests want the same few.
//!
//! The first test that installs a component with this weir keeps what `weir plugin add` has written; each test gets
//! a copy of it.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{binary, house};

/// Where what is installed is kept, by component and weir.
pub(super) struct InstalledCache(PathBuf);

impl InstalledCache {
    /// Of a component that is installed under a name.
    pub(super) fn of(name: &str, component: &Path) -> Result<Self> {
        let mut hasher = DefaultHasher::new();
        let bytes = fs::read(component).with_context(|| component.display().to_string())?;
        bytes.hash(&mut hasher);
        let weir = fs::metadata(binary())?;
        (weir.ino(), weir.size(), weir.mtime(), weir.mtime_nsec()).hash(&mut hasher);
        let name = format!("{name}-{:016x}", hasher.finish());
        Ok(Self(house().join("target/tmp/installed").join(name)))
    }

    /// Copies it to where a node has it. False where nothing is kept yet.
    pub(super) fn put(&self, installed: &Path) -> Result<bool> {
        if !self.0.exists() {
            return Ok(false);
        }
        let plugins = installed.parent().context("below a directory")?;
        fs::create_dir_all(plugins)?;
        copy(&self.0, installed)?;
        Ok(true)
    }

    /// Keeps what was installed. Another test may have been first.
    pub(super) fn keep(&self, installed: &Path) -> Result<()> {
        let new = self.0.with_extension(std::process::id().to_string());
        fs::create_dir_all(&new)?;
        copy(installed, &new)?;
        if fs::rename(&new, &self.0).is_err() {
            fs::remove_dir_all(&new)?;
        }
        Ok(())
    }
}

/// The files of a directory, with their modes.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}
