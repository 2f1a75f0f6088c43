//! Waiting until the cluster-wide default network is ready: section 6.1.2 of the standard, with the file
//! that the network's own daemon writes then (key `readinessindicatorfile`).
//!
//! The wait is inotify's: nothing is looked at again before the kernel has told of a change on the way to
//! the file. What it does not tell is that a file system was mounted over a directory on that way.

mod way;

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{InitFlags, Inotify};
use weir_cni::Error;

use self::way::Way;
use super::codes;

/// Returns as soon as there is something at `file`, a path from the root; at once where it is there
/// already. A link is what it leads to.
///
/// Errors: `codes::NOT_READY` when it is not there after `bound`, and when it cannot be waited for.
pub(crate) fn wait(file: &Path, bound: Duration) -> Result<(), Error> {
    Waiting::new(file, bound, &mut || {}).until_there()
}

/// A wait under way.
struct Waiting<'a> {
    file: &'a Path,
    bound: Duration,
    start: Instant,
    /// Called when it has looked in vain and is about to sleep.
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
        // On a node that has been up for a while there is nothing to be made for it.
        if self.is_there().map_err(|e| self.cannot_wait(&e))? {
            Ok(())
        } else {
            self.follow_the_way()
        }
    }

    fn follow_the_way(&mut self) -> Result<(), Error> {
        if !self.file.is_absolute() {
            let why = io::Error::new(ErrorKind::InvalidInput, "it is no path from the root");
            return Err(self.cannot_wait(&why));
        }
        let flags = InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC;
        let inotify = Inotify::init(flags).map_err(|e| self.cannot_wait(&no_inotify(e)))?;
        loop {
            // Watched before it is looked at, so that nothing falls in between.
            let way = Way::watch(&inotify, self.file).map_err(|e| self.cannot_wait(&e))?;
            if self.is_there().map_err(|e| self.cannot_wait(&e))? {
                return Ok(());
            }
            (self.in_vain)();
            let told = self.next_change(&inotify, &way);
            if !told.map_err(|e| self.cannot_wait(&e.into()))? {
                return Err(self.not_ready(&way));
            }
        }
    }

    fn is_there(&self) -> io::Result<bool> {
        match fs::metadata(self.file) {
            Ok(_) => Ok(true),
            Err(error) if leads_nowhere(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Waits for a change on the way. No: the time was over first.
    fn next_change(&mut self, inotify: &Inotify, way: &Way) -> nix::Result<bool> {
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
                Ok(events) if events.iter().any(|event| way.is_on_it(event)) => return Ok(true),
                Ok(_) | Err(Errno::EAGAIN | Errno::EINTR) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn not_ready(&self, way: &Way) -> Error {
        let file = self.file.display();
        let what = format!(
            "readinessindicatorfile: `{file}` is not there after {:.1} s: the cluster-wide default \
             network is not ready",
            self.start.elapsed().as_secs_f64()
        );
        Error::new(codes::NOT_READY, what).with_details(format!(
            "the way to it ends in `{}`; the network's own daemon writes the file when pods can be \
             attached: look at that daemon's pod on this node and at its log, or correct the path",
            way.end().display()
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

/// What time is left, rounded up to what poll(2) can be told, or the most that it can.
fn timeout(left: Duration) -> PollTimeout {
    let milliseconds = left.as_micros().div_ceil(1000);
    i32::try_from(milliseconds)
        .ok()
        .and_then(|milliseconds| PollTimeout::try_from(milliseconds).ok())
        .unwrap_or(PollTimeout::MAX)
}

/// Whether nothing is at a path yet. A link to itself may be another one soon.
fn leads_nowhere(error: &io::Error) -> bool {
    let number = error.raw_os_error().map(Errno::from_raw);
    matches!(number, Some(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP))
}

fn no_inotify(error: Errno) -> io::Error {
    match error {
        Errno::EMFILE => io::Error::other(
            "all inotify instances of this user are taken: raise fs.inotify.max_user_instances",
        ),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests;
