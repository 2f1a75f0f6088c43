//! A thread inside the container's namespace, for what must happen there.
//!
//! It lives as long as the invocation's namespaces: one thread is made however many sysctls are
//! written and sockets opened.

use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns};

use super::error::{Code, Error};

/// Work for the thread, which is told whether it entered.
type Work = Box<dyn FnOnce(Result<(), Errno>) + Send>;

/// Enough for opening a socket or a file.
const STACK: usize = 64 << 10;

/// The thread; it ends when this is dropped.
pub struct Inside {
    work: Sender<Work>,
}

impl Inside {
    /// Makes the thread. Errors: `Failed` when that is not possible.
    pub fn start(namespace: OwnedFd) -> Result<Self, Error> {
        let (work, taken) = channel();
        thread::Builder::new()
            .stack_size(STACK)
            .spawn(move || serve(&namespace, &taken))?;
        Ok(Self { work })
    }

    /// Runs `act` in the thread and waits for it. Errors: `Failed` when the thread could not enter,
    /// or when `act` panicked.
    pub fn run<T: Send + 'static>(
        &self,
        act: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (answer, answered) = channel();
        let work = move |entered: Result<(), Errno>| {
            // Who asked waits for the answer.
            let _ = answer.send(entered.map(|()| act()));
        };
        let sent = self.work.send(Box::new(work)).ok();
        let outcome = sent.and_then(|()| answered.recv().ok());
        let panicked = || {
            Error::new(
                Code::Failed,
                "the thread in the container's namespace panicked",
            )
        };
        outcome
            .ok_or_else(panicked)?
            .map_err(|e| Error::from(e).while_doing("enter the container's namespace"))
    }
}

fn serve(namespace: &OwnedFd, work: &Receiver<Work>) {
    let entered = setns(namespace, CloneFlags::CLONE_NEWNET);
    while let Ok(work) = work.recv() {
        work(entered);
    }
}
