//! The way to a file: the directories on its path, and on the paths of its links.
//!
//! A path begins to exist when an entry is created in one of these directories or moved into it. So only these changes are
//! watched, and only for names on the way.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, Inotify, InotifyEvent};

use super::leads_nowhere;

/// The kernel follows no more links (`MAXSYMLINKS`).
const MOST_LINKS: usize = 40;

pub(super) struct WatchedPath {
    names: BTreeSet<OsString>,
    /// The directory that was reached.
    at: PathBuf,
    /// The rest of the path, the next name last.
    ahead: Vec<OsString>,
    links: usize,
}

impl WatchedPath {
    /// Watches the way to `file`, which is absolute, as far as it exists.
    pub(super) fn watch(inotify: &Inotify, file: &Path) -> io::Result<Self> {
        let mut watched = Self {
            names: BTreeSet::new(),
            at: PathBuf::from("/"),
            ahead: Vec::new(),
            links: 0,
        };
        watched.turn(file);
        while let Some(name) = watched.ahead.pop() {
            if name == ".." {
                watched.at.pop();
            } else if !watch_entries(inotify, &watched.at)? || !watched.step(name)? {
                break;
            }
        }
        Ok(watched)
    }

    /// The last directory that exists.
    pub(super) fn end(&self) -> &Path {
        &self.at
    }

    /// Whether an event may be about the way: a name on it, an unmounted file system, or lost events.
    pub(super) fn is_on_it(&self, event: &InotifyEvent) -> bool {
        let anything = AddWatchFlags::IN_UNMOUNT | AddWatchFlags::IN_Q_OVERFLOW;
        let name = event.name.as_ref();
        event.mask.intersects(anything) || name.is_some_and(|name| self.names.contains(name))
    }

    /// Continues with a path: the file's, or that of a link.
    fn turn(&mut self, path: &Path) {
        if path.is_absolute() {
            self.at = PathBuf::from("/");
        }
        let names = path.components().rev().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some(OsString::from("..")),
            _ => None,
        });
        self.ahead.extend(names);
    }

    /// Takes the next step. Returns false if the way ends there.
    fn step(&mut self, name: OsString) -> io::Result<bool> {
        let next = self.at.join(&name);
        self.names.insert(name);
        let found = match fs::symlink_metadata(&next) {
            Err(error) if leads_nowhere(&error) => return Ok(false),
            found => found?,
        };
        if found.is_symlink() {
            return self.follow(&next);
        }
        if found.is_dir() && !self.ahead.is_empty() {
            self.at = next;
            return Ok(true);
        }
        Ok(false)
    }

    fn follow(&mut self, link: &Path) -> io::Result<bool> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Ok(false);
        }
        match fs::read_link(link) {
            Ok(target) => {
                self.turn(&target);
                Ok(true)
            }
            // It was replaced, which is an event.
            Err(error) if is_no_link(&error) || leads_nowhere(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn is_no_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::EINVAL as i32)
}

/// Returns false if the directory no longer exists, which is an event of the one above.
fn watch_entries(inotify: &Inotify, directory: &Path) -> io::Result<bool> {
    let changes = AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO | AddWatchFlags::IN_ONLYDIR;
    match inotify.add_watch(directory, changes) {
        Ok(_) => Ok(true),
        Err(Errno::ENOENT | Errno::ENOTDIR) => Ok(false),
        Err(Errno::ENOSPC) => Err(io::Error::other(
            "all inotify watches of this user are in use: raise fs.inotify.max_user_watches",
        )),
        Err(error) => Err(error.into()),
    }
}
