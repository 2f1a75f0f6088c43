//! Installing until all is in its place, and keeping it so: the main loop of a DaemonSet's container.
//!
//! It waits for the kernel's notifications and for signals, and never polls the disk, apart from one look
//! at long intervals at what no notification tells of.

use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::arguments::NodeArguments;
use super::node::{Node, State};
use crate::cli::output::{complain, say};

/// How long nothing may be heard of before all is looked at again: a directory may have come since.
const IDLE: Duration = Duration::from_secs(300);

/// When what failed is tried again, although nothing has changed.
const RETRY: Duration = Duration::from_secs(30);

/// After something was put in place: who undoes it at once is answered once a second.
const PAUSE: Duration = Duration::from_secs(1);

/// Installs on a node; with `--watch` until SIGTERM.
///
/// Errors: something cannot be installed, or the default network does not come in time. Once all was in
/// its place, `--watch` tells of errors and tries again.
pub fn install(node: &Node<'_>, arguments: &NodeArguments) -> Result<()> {
    let watch = Watch::new()?;
    let mut progress = Progress::of(arguments);
    loop {
        // Watched before it is looked at, so that no change falls in between.
        for directory in node.directories()? {
            watch.directory(&directory)?;
        }
        let Some(wait) = progress.after(node.pass())? else {
            return Ok(());
        };
        let is_ended = wait.after_a_pause && watch.pause()? == Woken::Ended
            || watch.wait(wait.timeout)? == Woken::Ended;
        if is_ended {
            return progress.end();
        }
    }
}

/// How far an installation has come.
struct Progress<'a> {
    arguments: &'a NodeArguments,
    /// None where there is no end of the wait.
    deadline: Option<Instant>,
    /// Whether all was in its place once.
    was_whole: bool,
    /// What was complained of last.
    told: String,
}

/// What to wait for until the next pass.
struct Wait {
    after_a_pause: bool,
    timeout: Option<Duration>,
}

impl Wait {
    fn at_most(timeout: Option<Duration>) -> Self {
        let after_a_pause = false;
        Self {
            after_a_pause,
            timeout,
        }
    }
}

impl<'a> Progress<'a> {
    fn of(arguments: &'a NodeArguments) -> Self {
        Self {
            arguments,
            deadline: Instant::now().checked_add(arguments.wait),
            was_whole: false,
            told: String::new(),
        }
    }

    /// What comes after a pass; none where all is done.
    fn after(&mut self, pass: Result<State>) -> Result<Option<Wait>> {
        match pass {
            Ok(State::Whole { .. }) if !self.arguments.watch => Ok(None),
            Ok(State::Whole { changed }) => {
                if !self.was_whole {
                    say!("all is in its place; watching");
                }
                self.was_whole = true;
                self.told.clear();
                Ok(Some(Wait {
                    after_a_pause: changed,
                    timeout: Some(IDLE),
                }))
            }
            Ok(State::Waiting(reason)) => self.wait(reason).map(Some),
            Err(error) if self.was_whole => {
                self.complain(format!("{error:#}"));
                Ok(Some(Wait::at_most(Some(RETRY))))
            }
            Err(error) => Err(error),
        }
    }

    /// For the default network: with an end, unless it was there before.
    fn wait(&mut self, reason: String) -> Result<Wait> {
        let now = Instant::now();
        let left = self.deadline.map(|d| d.saturating_duration_since(now));
        if !self.was_whole && left == Some(Duration::ZERO) {
            bail!(
                "{reason}; waited {} (--wait) for the default network to be installed",
                humantime::format_duration(self.arguments.wait)
            );
        }
        self.complain(reason);
        Ok(Wait::at_most(if self.was_whole {
            Some(IDLE)
        } else {
            left
        }))
    }

    /// Tells what is amiss, once.
    fn complain(&mut self, message: String) {
        if message != self.told {
            complain(&message);
            self.told = message;
        }
    }

    /// A signal ended it.
    fn end(&self) -> Result<()> {
        if self.was_whole || self.arguments.watch {
            Ok(())
        } else {
            bail!(
                "ended by a signal before all was in its place: {}",
                self.told
            )
        }
    }
}

/// What there is to wait for.
struct Watch {
    inotify: Inotify,
    signals: SignalFd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    /// Something changed, or there was nothing for as long as was to be waited.
    Again,
    /// By SIGTERM or SIGINT.
    Ended,
}

impl Watch {
    fn new() -> Result<Self> {
        let flags = InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC;
        let inotify = Inotify::init(flags).context("ask for inotify")?;
        let mut ends = SigSet::empty();
        ends.add(Signal::SIGTERM);
        ends.add(Signal::SIGINT);
        // The first process of a container has no default action: a signal must be asked for.
        ends.thread_block().context("block signals")?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let signals = SignalFd::with_flags(&ends, flags).context("ask for signals")?;
        Ok(Self { inotify, signals })
    }

    /// Watches a directory, where it is there; again is no error.
    fn directory(&self, directory: &Path) -> Result<()> {
        let changes = AddWatchFlags::IN_CLOSE_WRITE
            | AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_DELETE_SELF
            | AddWatchFlags::IN_ATTRIB
            | AddWatchFlags::IN_MOVED_FROM
            | AddWatchFlags::IN_MOVED_TO
            | AddWatchFlags::IN_MOVE_SELF
            | AddWatchFlags::IN_ONLYDIR;
        match self.inotify.add_watch(directory, changes) {
            Ok(_) | Err(Errno::ENOENT | Errno::ENOTDIR) => Ok(()),
            Err(error) => Err(error).with_context(|| format!("watch `{}`", directory.display())),
        }
    }

    /// Waits for a change or a signal.
    fn wait(&self, timeout: Option<Duration>) -> Result<Woken> {
        let mut both = [
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.inotify.as_fd(), PollFlags::POLLIN),
        ];
        poll_patiently(&mut both, timeout)?;
        loop {
            match self.inotify.read_events() {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => break,
                Err(error) => return Err(error).context("read what changed"),
            }
        }
        self.is_ended()
    }

    /// Waits for a signal for a moment; changes are heard of later.
    fn pause(&self) -> Result<Woken> {
        let mut signals = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        poll_patiently(&mut signals, Some(PAUSE))?;
        self.is_ended()
    }

    fn is_ended(&self) -> Result<Woken> {
        let signal = self.signals.read_signal().context("read a signal")?;
        Ok(match signal {
            Some(_) => Woken::Ended,
            None => Woken::Again,
        })
    }
}

fn poll_patiently(descriptors: &mut [PollFd<'_>], timeout: Option<Duration>) -> Result<()> {
    // Rounded up to the next millisecond, so that it is over when the wait is.
    let timeout = timeout.map_or(PollTimeout::NONE, |timeout| {
        let milliseconds = timeout.as_micros().div_ceil(1000);
        PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX)
    });
    match poll(descriptors, timeout) {
        Err(Errno::EINTR) | Ok(_) => Ok(()),
        Err(error) => Err(error).context("wait for changes"),
    }
}
