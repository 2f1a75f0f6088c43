//! The directory of installed plugins. One process at a time writes to it, and a plugin is installed or removed atomically.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use weir_files::{entries, lock_directory, rename};
use weir_grant::document::Digest;

use super::attached::Attached;
use super::installed::{CODE, COMPONENT, MANIFEST, Manifest};

/// Beside the plugins' directories: the one that is being written, and the one that is being removed.
const NEW: &str = ".new";
const OLD: &str = ".old";

/// The replaced versions that made attachments, which DEL and CHECK of those run: `<plugin>@<digest>`.
const KEPT: &str = ".kept";

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
        plugin_store.keep_or_clear()?;
        plugin_store.clear(OLD)?;
        plugin_store.clear_unused()?;
        Ok(plugin_store)
    }

    /// Where a replaced version of a plugin is kept.
    pub(crate) fn kept_version_directory(plugins: &Path, name: &str, digest: &Digest) -> PathBuf {
        let digest = digest.to_string();
        let digest = digest.trim_start_matches("sha256:");
        plugins.join(KEPT).join(format!("{name}@{digest}"))
    }

    /// Keeps what was replaced if attachments were made with it, and otherwise removes it. What was not installed yet has none.
    fn keep_or_clear(&self) -> io::Result<()> {
        let manifest = fs::read(self.path.join(NEW).join(MANIFEST)).ok();
        let manifest = manifest.and_then(|m| serde_json::from_slice::<Manifest>(&m).ok());
        if let Some(Manifest { name, digest, .. }) = &manifest
            && Attached::of(&self.path, name).count(digest) > 0
        {
            let kept = Self::kept_version_directory(&self.path, name, digest);
            if !kept.exists() {
                let mut directory = DirBuilder::new();
                directory.recursive(true).mode(DIRECTORY_MODE);
                directory.create(self.path.join(KEPT))?;
                return fs::rename(self.path.join(NEW), kept);
            }
        }
        self.clear(NEW)
    }

    /// Removes the kept versions whose attachments are gone.
    fn clear_unused(&self) -> io::Result<()> {
        for place in entries(&self.path.join(KEPT))? {
            let is_used = version_at(&place)
                .is_some_and(|(name, digest)| Attached::of(&self.path, &name).count(&digest) > 0);
            if !is_used {
                fs::remove_dir_all(&place)?;
            }
        }
        Ok(())
    }

    /// The digests of the kept versions of a plugin.
    pub(crate) fn kept_versions(plugins: &Path, name: &str) -> io::Result<Vec<Digest>> {
        let places = entries(&plugins.join(KEPT))?;
        let versions = places.iter().filter_map(|place| version_at(place));
        let own = versions.filter(|(plugin, _)| plugin == name);
        Ok(own.map(|(_, digest)| digest).collect())
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

    /// The same in place of an installed plugin, if there is one, which is kept while there are attachments that it made. Errors: also `Unsupported` if the file system cannot exchange
    /// two directories atomically.
    pub(crate) fn replace(&self, place: &str) -> io::Result<()> {
        match rename::exchange(&self.directory, NEW, place) {
            Err(Errno::ENOENT) => return self.take(place),
            Err(Errno::EINVAL | Errno::ENOSYS) => return Err(self.no_exchange(place)),
            exchanged => exchanged?,
        }
        self.directory.sync_all()?;
        self.keep_or_clear()?;
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

/// The name and the digest of the version in a directory of kept ones.
fn version_at(place: &Path) -> Option<(String, Digest)> {
    let (name, hex) = place.file_name()?.to_str()?.rsplit_once('@')?;
    let digest = format!("sha256:{hex}").parse().ok()?;
    Some((name.to_owned(), digest))
}

#[cfg(test)]
mod tests;
