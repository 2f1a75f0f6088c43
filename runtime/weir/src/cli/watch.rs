//! What `weir audit --follow` and `weir install --watch` share.

use std::path::Path;

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

pub fn inotify() -> Result<Inotify> {
    let flags = InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC;
    Inotify::init(flags).context("set up inotify")
}

/// Watches a directory for changes, if it exists.
pub fn watch_directory(inotify: &Inotify, directory: &Path) -> Result<()> {
    let changes = AddWatchFlags::IN_CLOSE_WRITE
        | AddWatchFlags::IN_CREATE
        | AddWatchFlags::IN_DELETE
        | AddWatchFlags::IN_DELETE_SELF
        | AddWatchFlags::IN_ATTRIB
        | AddWatchFlags::IN_MOVED_FROM
        | AddWatchFlags::IN_MOVED_TO
        | AddWatchFlags::IN_MOVE_SELF
        | AddWatchFlags::IN_ONLYDIR;
    match inotify.add_watch(directory, changes) {
        Ok(_) | Err(Errno::ENOENT | Errno::ENOTDIR) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("watch `{}`", directory.display())),
    }
}
