//! A store's lock: flock(2) on the file `lock` in its directory, as in the reference `host-local`, so that both programs can
//! use one directory.

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;

use super::directory::Directory;
use super::key::LOCK;
use crate::{Error, Result};

/// The file's mode in the reference.
const MODE: u32 = 0o750;

/// The first pause of a waiter; it doubles up to [`LONGEST_PAUSE`]. A blocking flock(2) would not end at the deadline.
const FIRST_PAUSE: Duration = Duration::from_micros(200);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// The lock, held until it is dropped.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, waiting until `deadline`. None if the file or the directory was removed: others lock another file
    /// now, and the store must be opened again.
    ///
    /// Errors: `busy`.
    pub(super) fn take(directory: &Directory, deadline: Instant) -> Result<Option<Self>> {
        let file = match directory.open_lock(LOCK, MODE) {
            Ok(file) => file,
            Err(error) => match error.raw_os_error().map(Errno::from_raw) {
                // The directory was removed after it was opened.
                Some(Errno::ENOENT) => return Ok(None),
                Some(Errno::ELOOP | Errno::EISDIR | Errno::ENXIO) => {
                    return Err(directory.not_regular(LOCK));
                }
                _ => return Err(directory.failed("open the lock", LOCK, error)),
            },
        };
        let metadata = file.metadata();
        if !metadata.is_ok_and(|m| m.is_file()) {
            return Err(directory.not_regular(LOCK));
        }
        wait(&file, directory, deadline)?;
        let linked = file.metadata().is_ok_and(|m| m.nlink() > 0);
        if !linked && Instant::now() >= deadline {
            return Err(busy(directory));
        }
        Ok(linked.then_some(Self { _file: file }))
    }
}

fn wait(file: &File, directory: &Directory, deadline: Instant) -> Result<()> {
    let mut pause = FIRST_PAUSE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => {
                return Err(directory.failed("take the lock", LOCK, error));
            }
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(busy(directory));
        }
        thread::sleep(pause.min(left));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn busy(directory: &Directory) -> Error {
    let path = directory.path().join(LOCK);
    Error::busy(format!(
        "another process holds the lock `{}` and did not release it in time; `fuser -v` on it \
             shows which",
        path.display()
    ))
}
