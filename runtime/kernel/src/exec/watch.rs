//! A program watched until its end: what it prints is read, and the clock is looked at.

use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::process::{Child, ChildStderr, ChildStdout};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::output::{Beyond, Output};
use super::{Error, Excess, MOST_MESSAGES, MOST_OUTPUT};

/// What a program said.
pub(super) struct Said {
    pub(super) output: Vec<u8>,
    pub(super) messages: Vec<u8>,
}

/// Why it must be ended, and what it has said.
pub(super) struct Unended {
    reason: Reason,
    messages: Vec<u8>,
}

enum Reason {
    Time,
    Output,
    Io(io::Error),
}

impl Unended {
    pub(super) fn explain(self, time: Duration) -> Error {
        let excess = match self.reason {
            Reason::Time => Excess::Time(time),
            Reason::Output => Excess::Output,
            Reason::Io(error) => return Error::Io(error),
        };
        Error::Killed {
            excess,
            messages: self.messages,
        }
    }
}

impl From<io::Error> for Reason {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Errno> for Reason {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

/// Watches a program until it ends, and no longer: what it has left running may hold its pipes open.
pub(super) fn until(child: &mut Child, deadline: Instant) -> Result<Said, Unended> {
    let mut watched = Watched::new(child).map_err(|error| Unended {
        reason: error.into(),
        messages: Vec::new(),
    })?;
    let ended = watched.until_end(deadline);
    let messages = watched.messages.into_bytes();
    match ended {
        Ok(()) => Ok(Said {
            output: watched.output.into_bytes(),
            messages,
        }),
        Err(reason) => Err(Unended { reason, messages }),
    }
}

struct Watched {
    process: OwnedFd,
    output: Output<ChildStdout>,
    messages: Output<ChildStderr>,
}

impl Watched {
    fn new(child: &mut Child) -> io::Result<Self> {
        let missing = || io::Error::other("it was started without pipes");
        let output = child.stdout.take().ok_or_else(missing)?;
        let messages = child.stderr.take().ok_or_else(missing)?;
        Ok(Self {
            process: open(child.id())?,
            output: Output::new(output, MOST_OUTPUT, Beyond::Fails)?,
            messages: Output::new(messages, MOST_MESSAGES, Beyond::IsDropped)?,
        })
    }

    fn until_end(&mut self, deadline: Instant) -> Result<(), Reason> {
        loop {
            // What it printed before its end is in the pipes by then.
            let has_ended = self.wait(deadline)?;
            self.read()?;
            if has_ended {
                return Ok(());
            }
        }
    }

    /// Waits until something is printed, or the program has ended, which is told.
    fn wait(&self, deadline: Instant) -> Result<bool, Reason> {
        let pipes = [self.output.descriptor(), self.messages.descriptor()];
        let all = [Some(self.process.as_fd())].into_iter().chain(pipes);
        let mut polled: Vec<PollFd<'_>> = all
            .flatten()
            .map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN))
            .collect();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Reason::Time);
            }
            match poll(&mut polled, timeout(left)) {
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        let process = polled.first().and_then(PollFd::any);
        Ok(process == Some(true))
    }

    fn read(&mut self) -> Result<(), Reason> {
        self.messages.read()?;
        if self.output.read()? {
            Ok(())
        } else {
            Err(Reason::Output)
        }
    }
}

/// In whole milliseconds, and not before the time.
fn timeout(left: Duration) -> PollTimeout {
    PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
}

/// A descriptor of a process that was not waited for yet. It can be read when the process has ended.
fn open(process: u32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes two numbers.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
    let descriptor = Errno::result(descriptor)?;
    let descriptor = i32::try_from(descriptor).map_err(io::Error::other)?;
    // SAFETY: the kernel made the descriptor for this call, close-on-exec.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
