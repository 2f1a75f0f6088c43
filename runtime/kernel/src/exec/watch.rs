//! Watches a program until it ends: reads what it prints and checks the time.

use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::process::{Child, ChildStderr, ChildStdout};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::output::{Beyond, Output};
use super::{Error, Excess, MOST_MESSAGES, MOST_OUTPUT};

struct Watched {
    process: OwnedFd,
    output: Output<ChildStdout>,
    messages: Output<ChildStderr>,
}

/// Watches a program until it ends, and no longer: processes that it leaves running may hold its pipes open.
///
/// Returns its output and its messages. Errors: what it must be killed for; `Io`.
pub(super) fn until_end(child: &mut Child, time: Duration) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let deadline = Instant::now() + time;
    let missing = || io::Error::other("it was started without pipes");
    let output = child.stdout.take().ok_or_else(missing)?;
    let messages = child.stderr.take().ok_or_else(missing)?;
    let mut watched = Watched {
        process: open(child.id())?,
        output: Output::new(output, MOST_OUTPUT, Beyond::Fails)?,
        messages: Output::new(messages, MOST_MESSAGES, Beyond::IsDropped)?,
    };
    let excess = loop {
        // What it printed before its end is in the pipes by then.
        let Some(has_ended) = watched.wait(deadline)? else {
            break Excess::Time(time);
        };
        watched.messages.read()?;
        if !watched.output.read()? {
            break Excess::Output;
        }
        if has_ended {
            let Watched {
                output, messages, ..
            } = watched;
            return Ok((output.into_bytes(), messages.into_bytes()));
        }
    };
    Err(Error::Killed {
        excess,
        messages: watched.messages.into_bytes(),
    })
}

impl Watched {
    /// Waits for output or the end of the program. Returns whether it has ended; none after the deadline.
    fn wait(&self, deadline: Instant) -> io::Result<Option<bool>> {
        let pipes = [self.output.descriptor(), self.messages.descriptor()];
        let all = [Some(self.process.as_fd())].into_iter().chain(pipes);
        let mut polled: Vec<PollFd<'_>> = all
            .flatten()
            .map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN))
            .collect();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            match poll(&mut polled, timeout(left)) {
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        let process = polled.first().and_then(PollFd::any);
        Ok(Some(process == Some(true)))
    }
}

/// Whole milliseconds, rounded up.
fn timeout(left: Duration) -> PollTimeout {
    PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
}

/// A descriptor of a process that has not been waited for. It is readable once the process has ended.
fn open(process: u32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes two numbers.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
    let descriptor = Errno::result(descriptor)?;
    let descriptor = i32::try_from(descriptor).map_err(io::Error::other)?;
    // SAFETY: the kernel made the descriptor for this call, close-on-exec.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
