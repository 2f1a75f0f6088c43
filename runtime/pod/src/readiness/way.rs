//! The way to a file: the directories through which its path leads, those of its links included.
//!
//! A path begins to lead to something only when an entry is made in one of these directories, or moved
//! into it. So these two are all that is watched, and of them only the names on the way count.

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

/// A way that is watched.
pub(super) struct Way {
    /// The names that are looked up on it.
    names: BTreeSet<OsString>,
    /// The directory that it has come to.
    at: PathBuf,
    /// What of the path is still ahead, the next last.
    ahead: Vec<OsString>,
    links: usize,
}

impl Way {
    /// Watches the way to `file`, which is absolute, as far as it leads now. What changes on it from the
    /// moment of each look is told.
    pub(super) fn watch(inotify: &Inotify, file: &Path) -> io::Result<Self> {
        let mut way = Self {
            names: BTreeSet::new(),
            at: PathBuf::from("/"),
            ahead: Vec::new(),
            links: 0,
        };
        way.turn(file);
        while let Some(name) = way.ahead.pop() {
            if name == ".." {
                way.at.pop();
            } else if !watch_entries(inotify, &way.at)? || !way.step(name)? {
                break;
            }
        }
        Ok(way)
    }

    /// The directory that it has come to: what it leads to next is not there yet.
    pub(super) fn end(&self) -> &Path {
        &self.at
    }

    /// Whether what the kernel tells may be a step further: a name on the way, what was under a file system
    /// that is gone, or more than the kernel keeps.
    pub(super) fn is_on_it(&self, event: &InotifyEvent) -> bool {
        let anything = AddWatchFlags::IN_UNMOUNT | AddWatchFlags::IN_Q_OVERFLOW;
        let name = event.name.as_ref();
        event.mask.intersects(anything) || name.is_some_and(|name| self.names.contains(name))
    }

    /// Goes on with a path: the file's, or that of a link.
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

    /// Looks a name up in the directory. No: the way ends there.
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
            // Another entry has taken its place since, which is told.
            Err(error) if is_no_link(&error) || leads_nowhere(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn is_no_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::EINVAL as i32)
}

/// No: the directory is gone by now, which the one above has told.
fn watch_entries(inotify: &Inotify, directory: &Path) -> io::Result<bool> {
    let changes = AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO | AddWatchFlags::IN_ONLYDIR;
    match inotify.add_watch(directory, changes) {
        Ok(_) => Ok(true),
        Err(Errno::ENOENT | Errno::ENOTDIR) => Ok(false),
        Err(Errno::ENOSPC) => Err(io::Error::other(
            "all inotify watches of this user are taken: raise fs.inotify.max_user_watches",
        )),
        Err(error) => Err(error.into()),
    }
}
