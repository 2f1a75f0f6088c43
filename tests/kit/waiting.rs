//! Waiting with a bound, and reading with a limit.

use std::io::{self, ErrorKind};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

/// How long something may take on a busy machine, and how often it is looked at meanwhile.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(10);

/// Reads again after an interruption: a read with a limit is interrupted when the process is stopped for
/// a moment, although no signal has a handler.
pub fn patiently<T>(mut read: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match read() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            ended => return ended,
        }
    }
}

/// Waits until `look` finds something, at most 30 seconds. Errors: its own, or that `what` did not come.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        ensure!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        thread::sleep(POLL);
    }
}
