//! Reading with a limit.

use std::io::{ErrorKind, Result};

/// Reads again after an interruption: a read with a limit is interrupted when the process is stopped for
/// a moment, although no signal has a handler.
pub fn patiently<T>(mut read: impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        match read() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            ended => return ended,
        }
    }
}
