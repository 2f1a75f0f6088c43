//! Who may take back what several invocations share: the lock that every ADD holds.
//!
//! A bridge or a gateway's address that one ADD made, another may use a moment later. An ADD that
//! fails takes such a thing back only while no other is under way.

use std::fs::File;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use weir_files::{Paths, paths};

use crate::error::{Error, Result};

/// Below the directory of locks.
const FILE: &str = "add.lock";

/// A share in the lock. It ends with the value, and with the process.
#[derive(Debug)]
pub struct SharedLock {
    lock: Flock<File>,
}

impl SharedLock {
    /// Takes a share. Waits while another invocation has the lock exclusively, which it has only to delete a link.
    ///
    /// Errors: `Failed` naming the file.
    pub fn take(paths: &Paths) -> Result<Self> {
        let path = paths.run().join(FILE);
        let failed = |e: Error| e.while_doing(format_args!("lock `{}`", path.display()));
        let file = paths::open_lock(&path).map_err(|e| failed(e.into()))?;
        let lock = share(file).map_err(|e| failed(e.into()))?;
        Ok(Self { lock })
    }

    /// Tries to make the lock exclusive. False while others have a share; this one may be lost then, so that only an
    /// invocation that is about to end may call this.
    ///
    /// Errors: `Failed`.
    pub fn try_exclusive(&mut self) -> Result<bool> {
        match self.lock.relock(FlockArg::LockExclusiveNonblock) {
            Ok(()) => Ok(true),
            Err(Errno::EWOULDBLOCK) => Ok(false),
            Err(errno) => Err(Error::from(errno).while_doing("lock the node's shared links")),
        }
    }
}

fn share(mut file: File) -> nix::Result<Flock<File>> {
    loop {
        match Flock::lock(file, FlockArg::LockShared) {
            Ok(lock) => return Ok(lock),
            Err((back, Errno::EINTR)) => file = back,
            Err((_, errno)) => return Err(errno),
        }
    }
}
