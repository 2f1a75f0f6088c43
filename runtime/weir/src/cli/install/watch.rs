//! Installing until everything is in place, and keeping it so: the main loop of a DaemonSet's container.
//!
//! It waits for inotify and signals, and otherwise looks only at long intervals, for changes that inotify does not report.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::Inotify;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::arguments::NodeArguments;
use super::listed::{Beside, Listed};
use super::node::{Node, State};
use crate::cli::output::{complain, say};
use crate::cli::watch::{inotify, watch_directory};

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
    // Before a thread starts, which inherits what is blocked.
    let watch = Watch::new()?;
    let plugins = Plugins::of(node, arguments)?;
    let mut progress = Progress::of(arguments);
    loop {
        // Watched before the pass, so that no change is missed.
        for directory in node.directories()? {
            watch_directory(&watch.inotify, &directory)?;
        }
        if let Some(directory) = plugins.beside().and_then(Beside::directory) {
            watch_directory(&watch.inotify, directory)?;
        }
        let pass = plugins.pass(node, node.pass())?;
        let has_changed = matches!(pass, Ok(State::Whole { changed: true }));
        let Some(timeout) = progress.after(pass)? else {
            return Ok(());
        };
        if has_changed && watch.pause()? || watch.wait(&plugins, timeout)? {
            return progress.end();
        }
    }
}

/// The plugins of a list, if there is one: with `--watch` they are installed beside the node.
enum Plugins {
    None,
    Now(Box<Listed>),
    Beside(Beside),
}

impl Plugins {
    fn of(node: &Node<'_>, arguments: &NodeArguments) -> Result<Self> {
        Ok(match node.listed()? {
            None => Self::None,
            Some(listed) if arguments.watch => Self::Beside(Beside::start(listed)?),
            Some(listed) => Self::Now(Box::new(listed)),
        })
    }

    fn beside(&self) -> Option<&Beside> {
        match self {
            Self::None | Self::Now(_) => None,
            Self::Beside(beside) => Some(beside),
        }
    }

    /// Installs the plugins after a pass of the node. New ones get links, in another pass. Errors: they are not installed any more.
    fn pass(&self, node: &Node<'_>, pass: Result<State>) -> Result<Result<State>> {
        match self {
            Self::None => Ok(pass),
            Self::Now(listed) if listed.pass(&|| ()) => Ok(node.pass()),
            Self::Now(_) => Ok(pass),
            // It tells of what it installs.
            Self::Beside(beside) => beside.wake().map(|()| pass),
        }
    }
}

struct Progress<'a> {
    arguments: &'a NodeArguments,
    start: Instant,
    /// Whether all was in place once.
    was_whole: bool,
    reported: String,
}

impl<'a> Progress<'a> {
    fn of(arguments: &'a NodeArguments) -> Self {
        Self {
            arguments,
            start: Instant::now(),
            was_whole: false,
            reported: String::new(),
        }
    }

    /// The longest wait for a change after a pass; none if all is done.
    fn after(&mut self, pass: Result<State>) -> Result<Option<Duration>> {
        match pass {
            Ok(State::Whole { .. }) if !self.arguments.watch => Ok(None),
            Ok(State::Whole { .. }) => {
                if !self.was_whole {
                    say!("all is in place; watching");
                }
                self.was_whole = true;
                self.reported.clear();
                Ok(Some(IDLE))
            }
            Ok(State::Waiting(reason)) => self.wait(reason).map(Some),
            Err(error) if self.was_whole => {
                self.complain(format!("{error:#}"));
                Ok(Some(RETRY))
            }
            Err(error) => Err(error),
        }
    }

    /// Waits for the default network, with a limit unless it existed before.
    fn wait(&mut self, reason: String) -> Result<Duration> {
        let left = self.arguments.wait.saturating_sub(self.start.elapsed());
        if !self.was_whole && left.is_zero() {
            bail!(
                "{reason}; waited {} (--wait) for the default network to be installed",
                humantime::format_duration(self.arguments.wait)
            );
        }
        self.complain(reason);
        Ok(if self.was_whole { IDLE } else { left })
    }

    /// Prints a message, unless it was the last one.
    fn complain(&mut self, message: String) {
        if message != self.reported {
            complain(&message);
            self.reported = message;
        }
    }

    /// The outcome after a signal.
    fn end(&self) -> Result<()> {
        if self.was_whole || self.arguments.watch {
            Ok(())
        } else {
            bail!(
                "ended by a signal before all was in place: {}",
                self.reported
            )
        }
    }
}

struct Watch {
    inotify: Inotify,
    signals: SignalFd,
}

impl Watch {
    fn new() -> Result<Self> {
        let mut ends = SigSet::empty();
        ends.add(Signal::SIGTERM);
        ends.add(Signal::SIGINT);
        // The first process of a container has no default action for signals.
        ends.thread_block().context("block signals")?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let signals = SignalFd::with_flags(&ends, flags).context("set up signals")?;
        Ok(Self {
            inotify: inotify()?,
            signals,
        })
    }

    /// Waits for a change, new plugins or a signal. Returns whether a signal came.
    fn wait(&self, plugins: &Plugins, timeout: Duration) -> Result<bool> {
        let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut all = vec![
            readable(self.signals.as_fd()),
            readable(self.inotify.as_fd()),
        ];
        let beside = plugins.beside();
        all.extend(beside.map(|beside| readable(beside.news())));
        poll_patiently(&mut all, timeout)?;
        let has_news = all.get(2).is_some_and(|news| news.any() == Some(true));
        if let Some(beside) = beside.filter(|_| has_news) {
            beside.take_news()?;
        }
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
        poll_patiently(&mut signals, PAUSE)?;
        self.is_ended()
    }

    fn is_ended(&self) -> Result<bool> {
        let signal = self.signals.read_signal().context("read a signal")?;
        Ok(signal.is_some())
    }
}

fn poll_patiently(descriptors: &mut [PollFd<'_>], timeout: Duration) -> Result<()> {
    // Rounded up, so that the wait is over when poll returns.
    let milliseconds = timeout.as_micros().div_ceil(1000);
    let timeout = PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX);
    match poll(descriptors, timeout) {
        Err(Errno::EINTR) | Ok(_) => Ok(()),
        Err(error) => Err(error).context("wait for changes"),
    }
}
