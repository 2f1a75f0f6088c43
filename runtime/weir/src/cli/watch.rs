//! What `weir audit --follow` and `weir install --watch` share.

use std::path::Path;

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, Inotify};

/// Watches a directory for changes, if it exists.
pub fn watch_directory(inotify: &Inotify, directory: &Path, changes: AddWatchFlags) -> Result<()> {
    match inotify.add_watch(directory, changes | AddWatchFlags::IN_ONLYDIR) {
        Ok(_) | Err(Errno::ENOENT | Errno::ENOTDIR) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("watch `{}`", directory.display())),
    }
}
