//! Waiting until the cluster-wide default network is ready (section 6.1.2 of the standard): its daemon writes a file then (key
//! `readinessindicatorfile`).
//!
//! inotify reports changes on the path to the file. It does not report a file system that is mounted over a directory.

mod watched_path;

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{InitFlags, Inotify};
use weir_cni::Error;

use self::watched_path::WatchedPath;
use super::codes;

/// Returns as soon as `file`, an absolute path, exists. Links are followed.
///
/// Errors: `codes::NOT_READY` if it does not exist after `bound`, or cannot be waited for.
pub(crate) fn wait(file: &Path, bound: Duration) -> Result<(), Error> {
    Waiting::new(file, bound, &mut || {}).until_there()
}

struct Waiting<'a> {
    file: &'a Path,
    bound: Duration,
    start: Instant,
    /// Called before it sleeps.
    in_vain: &'a mut dyn FnMut(),
}

impl<'a> Waiting<'a> {
    fn new(file: &'a Path, bound: Duration, in_vain: &'a mut dyn FnMut()) -> Self {
        Self {
            file,
            bound,
            start: Instant::now(),
            in_vain,
        }
    }

    fn until_there(&mut self) -> Result<(), Error> {
        // The usual case needs no inotify.
        if self.exists()? {
            Ok(())
        } else {
            self.follow_the_path()
        }
    }

    fn follow_the_path(&mut self) -> Result<(), Error> {
        if !self.file.is_absolute() {
            let why = io::Error::new(ErrorKind::InvalidInput, "it is not an absolute path");
            return Err(self.cannot_wait(&why));
        }
        let flags = InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC;
        let inotify = Inotify::init(flags).map_err(|e| self.cannot_wait(&no_inotify(e)))?;
        loop {
            // Watched before it is looked at, so that no change is missed.
            let watched =
                WatchedPath::watch(&inotify, self.file).map_err(|e| self.cannot_wait(&e))?;
            if self.exists()? {
                return Ok(());
            }
            (self.in_vain)();
            let changed = self.next_change(&inotify, &watched);
            if !changed.map_err(|e| self.cannot_wait(&e.into()))? {
                return Err(self.not_ready(&watched));
            }
        }
    }

    fn exists(&self) -> Result<bool, Error> {
        match fs::metadata(self.file) {
            Ok(_) => Ok(true),
            Err(error) if leads_nowhere(&error) => Ok(false),
            Err(error) => Err(self.cannot_wait(&error)),
        }
    }

    /// Waits for a change on the path. Returns false if the time is over.
    fn next_change(&mut self, inotify: &Inotify, watched: &WatchedPath) -> nix::Result<bool> {
        loop {
            let left = self.bound.saturating_sub(self.start.elapsed());
            if left.is_zero() {
                return Ok(false);
            }
            let mut change = [PollFd::new(inotify.as_fd(), PollFlags::POLLIN)];
            match poll(&mut change, timeout(left)) {
                Ok(0) | Err(Errno::EINTR) => continue,
                polled => polled?,
            };
            match inotify.read_events() {
                Ok(events) if events.iter().any(|event| watched.is_on_it(event)) => {
                    return Ok(true);
                }
                Ok(_) | Err(Errno::EAGAIN | Errno::EINTR) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn not_ready(&self, watched: &WatchedPath) -> Error {
        let file = self.file.display();
        let what = format!(
            "readinessindicatorfile: `{file}` does not exist after {:.1} s: the cluster-wide default \
             network is not ready",
            self.start.elapsed().as_secs_f64()
        );
        Error::new(codes::NOT_READY, what).with_details(format!(
            "its path exists up to `{}`; the network's own daemon writes the file when pods can be \
             attached: look at that daemon's pod on this node and at its log, or correct the path",
            watched.end().display()
        ))
    }

    fn cannot_wait(&self, why: &io::Error) -> Error {
        let what = format!(
            "readinessindicatorfile: `{}` cannot be waited for: {why}",
            self.file.display()
        );
        Error::new(codes::NOT_READY, what)
    }
}

/// The remaining time, rounded up to milliseconds.
fn timeout(left: Duration) -> PollTimeout {
    let milliseconds = left.as_micros().div_ceil(1000);
    PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX)
}

/// Whether a path does not exist yet. A link to itself may be replaced.
fn leads_nowhere(error: &io::Error) -> bool {
    let number = error.raw_os_error().map(Errno::from_raw);
    matches!(number, Some(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP))
}

fn no_inotify(error: Errno) -> io::Error {
    match error {
        Errno::EMFILE => io::Error::other(
            "all inotify instances of this user are in use: raise fs.inotify.max_user_instances",
        ),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests;
