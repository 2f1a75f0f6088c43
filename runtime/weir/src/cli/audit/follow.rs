//! Waiting for new records, also if the log is rotated: renamed and created again, or truncated.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, Inotify, WatchDescriptor};

use crate::cli::record::{Log, Record, Take};
use crate::cli::watch::{inotify, watch_directory};

/// Passes every record to `take`, existing ones first, until standard output has no reader. `None` means that there are no
/// more at present. Returns how many lines were not records.
pub fn follow(path: &Path, mut take: impl FnMut(Option<&Record>) -> Result<()>) -> Result<u64> {
    let watch = Watch::new(path)?;
    let mut tail = Tail::default();
    loop {
        watch.log_may_come()?;
        tail.read(&watch, &mut |record| {
            take(Some(record)).map_err(io::Error::other)
        })
        .with_context(|| format!("follow `{}`", path.display()))?;
        take(None)?;
        if !watch.wait()? {
            return Ok(tail.broken());
        }
    }
}

/// The open files of the log.
#[derive(Default)]
struct Tail {
    current: Option<Source>,
    /// The file before a rotation: an invocation that has it open still writes to it.
    previous: Option<Source>,
    broken: u64,
}

struct Source {
    log: Log,
    watched: WatchDescriptor,
}

impl Tail {
    fn read(&mut self, watch: &Watch, take: Take<'_>) -> io::Result<()> {
        for slot in [&mut self.previous, &mut self.current] {
            let Some(source) = slot else {
                continue;
            };
            source.log.notice_truncation()?;
            source.log.read(take)?;
            // While it is open, the kernel does not report that its directory was removed.
            if source.log.is_deleted()? {
                source.log.finish(take)?;
                self.broken += source.log.broken();
                *slot = None;
            }
        }
        let Some(new) = self.rotated(watch)? else {
            return Ok(());
        };
        let old = self.current.replace(new);
        if let Some(mut gone) = std::mem::replace(&mut self.previous, old) {
            gone.log.finish(take)?;
            self.broken += gone.log.broken();
            // A deleted file is no longer watched.
            let _ = watch.inotify.rm_watch(gone.watched);
        }
        self.read(watch, take)
    }

    /// The file at the log's path, if it is a new one.
    fn rotated(&self, watch: &Watch) -> io::Result<Option<Source>> {
        // Watched before it is read, so that no record is missed.
        let Some(watched) = watch.log()? else {
            return Ok(None);
        };
        let log = match Log::open(&watch.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            log => log?,
        };
        if let Some(current) = &self.current
            && current.log.identity()? == log.identity()?
        {
            return Ok(None);
        }
        Ok(Some(Source { log, watched }))
    }

    fn broken(&self) -> u64 {
        let open = [&self.previous, &self.current].into_iter().flatten();
        self.broken + open.map(|source| source.log.broken()).sum::<u64>()
    }
}

/// inotify for the log and its directory.
struct Watch {
    inotify: Inotify,
    path: PathBuf,
}

impl Watch {
    fn new(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path).context("find the working directory")?;
        let inotify = inotify()?;
        Ok(Self { inotify, path })
    }

    /// Watches the log's directory, or the nearest one that exists, for the log to be created.
    fn log_may_come(&self) -> Result<()> {
        let directories: Vec<&Path> = self.path.ancestors().skip(1).collect();
        let mut nearest = None;
        loop {
            // One may have been created since.
            let there = directories.iter().find(|directory| directory.is_dir());
            if nearest == there {
                return Ok(());
            }
            nearest = there;
            if let Some(directory) = there {
                watch_directory(&self.inotify, directory)?;
            }
        }
    }

    /// Watches the log, if it exists.
    fn log(&self) -> io::Result<Option<WatchDescriptor>> {
        match self.inotify.add_watch(&self.path, AddWatchFlags::IN_MODIFY) {
            Ok(watched) => Ok(Some(watched)),
            Err(Errno::ENOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for a change. Returns false if standard output has no reader.
    fn wait(&self) -> Result<bool> {
        let output = io::stdout();
        let mut either = [
            PollFd::new(self.inotify.as_fd(), PollFlags::POLLIN),
            PollFd::new(output.as_fd(), PollFlags::empty()),
        ];
        loop {
            match poll(&mut either, PollTimeout::NONE) {
                Err(Errno::EINTR) => continue,
                polled => polled.context("wait for the log to change")?,
            };
            let ended = either[1].revents().unwrap_or(PollFlags::empty());
            if ended.intersects(PollFlags::POLLERR | PollFlags::POLLHUP) {
                return Ok(false);
            }
            match self.inotify.read_events() {
                Err(Errno::EAGAIN | Errno::EINTR) => {}
                events => {
                    events.context("read the changes of the log")?;
                    return Ok(true);
                }
            }
        }
    }
}
