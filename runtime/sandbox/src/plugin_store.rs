//! The directory of installed plugins. One process at a time writes to it, and a plugin is installed or removed atomically.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use weir_files::{lock_directory, rename};

use super::installed::{CODE, COMPONENT, MANIFEST, Manifest};

/// Beside the plugins' directories: the one that is being written, and the one that is being removed.
const NEW: &str = ".new";
const OLD: &str = ".old";

/// The modes, whatever the umask: a plugin that others can write is not run.
const DIRECTORY_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;

/// The directory of plugins.
pub(crate) struct PluginStore {
    path: PathBuf,
    /// Locked until it is closed.
    directory: File,
}

impl PluginStore {
    /// Waits until no other process writes, and removes what an interrupted one left.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let plugin_store = Self {
            path: path.to_owned(),
            directory: lock_directory(path, DIRECTORY_MODE)?,
        };
        plugin_store.clear(NEW)?;
        plugin_store.clear(OLD)?;
        Ok(plugin_store)
    }

    /// Writes a plugin to disk, so that it survives a loss of power.
    pub(crate) fn write(
        &self,
        manifest: &Manifest,
        component: &[u8],
        code: &[u8],
    ) -> io::Result<()> {
        let new = self.path.join(NEW);
        DirBuilder::new().mode(DIRECTORY_MODE).create(&new)?;
        fs::set_permissions(&new, Permissions::from_mode(DIRECTORY_MODE))?;
        for (name, content) in [
            (COMPONENT, component),
            (CODE, code),
            (MANIFEST, &serde_json::to_vec_pretty(manifest)?),
        ] {
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(FILE_MODE)
                .open(new.join(name))?;
            file.set_permissions(Permissions::from_mode(FILE_MODE))?;
            file.write_all(content)?;
            file.sync_all()?;
        }
        File::open(&new)?.sync_all()
    }

    /// Moves the written plugin to its place, which must be free.
    pub(crate) fn take(&self, place: &str) -> io::Result<()> {
        match rename::rename_new(&self.directory, NEW, place) {
            Err(Errno::EINVAL) if !self.path.join(place).exists() => {
                fs::rename(self.path.join(NEW), self.path.join(place))?;
            }
            Err(Errno::EINVAL) => return Err(ErrorKind::AlreadyExists.into()),
            taken => taken?,
        }
        self.directory.sync_all()
    }

    /// The same in place of an installed plugin, if there is one. Errors: also `Unsupported` if the file system cannot exchange
    /// two directories atomically.
    pub(crate) fn replace(&self, place: &str) -> io::Result<()> {
        match rename::exchange(&self.directory, NEW, place) {
            Err(Errno::ENOENT) => return self.take(place),
            Err(Errno::EINVAL | Errno::ENOSYS) => return Err(self.no_exchange(place)),
            exchanged => exchanged?,
        }
        self.directory.sync_all()?;
        self.clear(NEW)?;
        self.clear(OLD)
    }

    fn no_exchange(&self, place: &str) -> io::Error {
        let why = format!(
            "the file system of `{}` cannot exchange two directories in one step: remove the plugin \
             with `weir plugin remove {place}`, then add it, while nothing needs it; or move the \
             directory to another file system",
            self.path.display()
        );
        io::Error::new(ErrorKind::Unsupported, why)
    }

    /// Removes a plugin, or anything else in its place.
    pub(crate) fn remove(&self, place: &str) -> io::Result<()> {
        fs::rename(self.path.join(place), self.path.join(OLD))?;
        self.directory.sync_all()?;
        self.clear(OLD)
    }

    /// Removes a directory, or a file in its place.
    fn clear(&self, name: &str) -> io::Result<()> {
        let path = self.path.join(name);
        let cleared = match fs::remove_dir_all(&path) {
            Err(error) if error.kind() == ErrorKind::NotADirectory => fs::remove_file(&path),
            cleared => cleared,
        };
        match cleared {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
