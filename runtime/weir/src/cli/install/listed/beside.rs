//! A list that a thread of its own carries out, so that no server holds up the node.

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;

use anyhow::{Context, Result, bail};

use super::Listed;

pub struct Beside {
    directory: Option<PathBuf>,
    wake: SyncSender<()>,
    /// A byte for each plugin that was installed.
    news: PipeReader,
}

impl Beside {
    /// The thread ends with the process: a plugin is installed whole or not at all.
    pub fn start(listed: Listed) -> Result<Self> {
        let directory = listed.directory().map(Path::to_owned);
        // One more look is enough, however often something changes during the present one.
        let (wake, woken) = sync_channel(1);
        let (news, writer) = pipe().context("create a pipe")?;
        thread::Builder::new()
            .name("plugin-list".to_owned())
            .spawn(move || keep(&listed, &woken, &writer))
            .context("start a thread for the list of plugins")?;
        Ok(Self {
            directory,
            wake,
            news,
        })
    }

    /// Readable after a plugin was installed, until [`take_news`](Self::take_news).
    pub fn news(&self) -> BorrowedFd<'_> {
        self.news.as_fd()
    }

    /// Call it when there are some.
    pub fn take_news(&self) -> Result<()> {
        let mut news = &self.news;
        news.read_exact(&mut [0]).context("the list of plugins")
    }

    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Has the list looked at again. Errors: the thread has ended.
    pub fn wake(&self) -> Result<()> {
        match self.wake.try_send(()) {
            Ok(()) | Err(TrySendError::Full(())) => Ok(()),
            Err(TrySendError::Disconnected(())) => {
                bail!("the list of plugins is not carried out any more: its thread has ended")
            }
        }
    }
}

/// Carries out the list each time that something may have changed, and again after a failure.
fn keep(listed: &Listed, woken: &Receiver<()>, news: &PipeWriter) {
    let installed = || {
        // The other end is there as long as the process.
        let _ = (&*news).write_all(&[1]);
    };
    loop {
        let is_over = match listed.retry() {
            Some(pause) => woken.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected),
            None => woken.recv().is_err(),
        };
        if is_over {
            return;
        }
        listed.pass(&installed);
    }
}
