//! Installing until everything is in place, and keeping it so: the main loop of a DaemonSet's container.
//!
//! It waits for inotify and signals, and otherwise looks only at long intervals, for changes that inotify does not report.

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
use crate::cli::watch::watch_directory;

/// The longest time without another pass: a directory may have been created.
const IDLE: Duration = Duration::from_secs(300);

/// When a failed pass is repeated, even if nothing changes.
const RETRY: Duration = Duration::from_secs(30);

/// The pause after a change, in case another process undoes it at once.
const PAUSE: Duration = Duration::from_secs(1);

/// Installs on a node; with `--watch` until SIGTERM.
///
/// Errors: something cannot be installed, or the default network does not appear in time. Once all was in place, `--watch`
/// prints errors and repeats.
pub fn install(node: &Node<'_>, arguments: &NodeArguments) -> Result<()> {
    let watch = Watch::new()?;
    let mut progress = Progress::of(arguments);
    loop {
        // Watched before the pass, so that no change is missed.
        for directory in node.directories()? {
            watch.directory(&directory)?;
        }
        let Some(wait) = progress.after(node.pass())? else {
            return Ok(());
        };
        if wait.after_a_pause && watch.pause()? || watch.wait(wait.timeout)? {
            return progress.end();
        }
    }
}

/// The progress of an installation.
struct Progress<'a> {
    arguments: &'a NodeArguments,
    /// None for an endless wait.
    deadline: Option<Instant>,
    /// Whether all was in place once.
    was_whole: bool,
    /// The last message.
    told: String,
}

/// The wait until the next pass.
struct Wait {
    after_a_pause: bool,
    timeout: Option<Duration>,
}

impl Wait {
    fn at_most(timeout: Option<Duration>) -> Self {
        Self {
            after_a_pause: false,
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

    /// The wait after a pass; none if all is done.
    fn after(&mut self, pass: Result<State>) -> Result<Option<Wait>> {
        match pass {
            Ok(State::Whole { .. }) if !self.arguments.watch => Ok(None),
            Ok(State::Whole { changed }) => {
                if !self.was_whole {
                    say!("all is in place; watching");
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

    /// Waits for the default network, with a limit unless it existed before.
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

    /// Prints a message, unless it was the last one.
    fn complain(&mut self, message: String) {
        if message != self.told {
            complain(&message);
            self.told = message;
        }
    }

    /// The outcome after a signal.
    fn end(&self) -> Result<()> {
        if self.was_whole || self.arguments.watch {
            Ok(())
        } else {
            bail!("ended by a signal before all was in place: {}", self.told)
        }
    }
}

/// The events to wait for.
struct Watch {
    inotify: Inotify,
    signals: SignalFd,
}

impl Watch {
    fn new() -> Result<Self> {
        let flags = InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC;
        let inotify = Inotify::init(flags).context("ask for inotify")?;
        let mut ends = SigSet::empty();
        ends.add(Signal::SIGTERM);
        ends.add(Signal::SIGINT);
        // The first process of a container has no default action for signals.
        ends.thread_block().context("block signals")?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let signals = SignalFd::with_flags(&ends, flags).context("ask for signals")?;
        Ok(Self { inotify, signals })
    }

    /// Watches a directory, if it exists.
    fn directory(&self, directory: &Path) -> Result<()> {
        let changes = AddWatchFlags::IN_CLOSE_WRITE
            | AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_DELETE_SELF
            | AddWatchFlags::IN_ATTRIB
            | AddWatchFlags::IN_MOVED_FROM
            | AddWatchFlags::IN_MOVED_TO
            | AddWatchFlags::IN_MOVE_SELF;
        watch_directory(&self.inotify, directory, changes)
    }

    /// Waits for a change or a signal. Returns whether a signal came.
    fn wait(&self, timeout: Option<Duration>) -> Result<bool> {
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

    /// Waits for a signal for a moment. Returns whether one came.
    fn pause(&self) -> Result<bool> {
        let mut signals = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        poll_patiently(&mut signals, Some(PAUSE))?;
        self.is_ended()
    }

    fn is_ended(&self) -> Result<bool> {
        let signal = self.signals.read_signal().context("read a signal")?;
        Ok(signal.is_some())
    }
}

fn poll_patiently(descriptors: &mut [PollFd<'_>], timeout: Option<Duration>) -> Result<()> {
    // Rounded up, so that the wait is over when poll returns.
    let timeout = timeout.map_or(PollTimeout::NONE, |timeout| {
        let milliseconds = timeout.as_micros().div_ceil(1000);
        PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX)
    });
    match poll(descriptors, timeout) {
        Err(Errno::EINTR) | Ok(_) => Ok(()),
        Err(error) => Err(error).context("wait for changes"),
    }
}
