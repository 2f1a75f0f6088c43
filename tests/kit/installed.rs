//! Installed components that tests share: to compile one takes a second, and hundreds of tests want the same few.
//!
//! The first test that installs a component keeps what `weir plugin add` has written; each test gets a copy of it, until
//! the compiler changes or the crate that installs.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{house, program};

/// The crate that writes what is installed.
const SANDBOX: &str = "runtime/sandbox/src";

/// Where what is installed is kept, by component and by what installs it.
pub(super) struct InstalledCache(PathBuf);

impl InstalledCache {
    /// Of a component that is installed under a name.
    pub(super) fn of(name: &str, component: &Path) -> Result<Self> {
        let mut hasher = DefaultHasher::new();
        let bytes = fs::read(component).with_context(|| component.display().to_string())?;
        bytes.hash(&mut hasher);
        // It is in what is written.
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        hash_file(&program("weir-compiler"), &mut hasher)?;
        hash_directory(&house().join(SANDBOX), &mut hasher)?;
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

fn hash_directory(directory: &Path, hasher: &mut DefaultHasher) -> Result<()> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    let mut paths: Vec<PathBuf> = entries.map(|it| Ok(it?.path())).collect::<Result<_>>()?;
    paths.sort();
    paths.iter().try_for_each(|path| {
        if path.is_dir() {
            hash_directory(path, hasher)
        } else {
            hash_file(path, hasher)
        }
    })
}

/// Hashes what changes when the file is written.
fn hash_file(path: &Path, hasher: &mut DefaultHasher) -> Result<()> {
    let it = fs::metadata(path).with_context(|| path.display().to_string())?;
    (it.ino(), it.size(), it.mtime(), it.mtime_nsec()).hash(hasher);
    Ok(())
}
