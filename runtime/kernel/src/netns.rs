//! Running a closure in another network namespace: the calling thread enters, acts and comes back.
//!
//! Each thread has its own namespace, so other threads of the process are not affected. A new thread for each closure
//! would work as well, but starting it takes longer than everything else here.

use std::os::fd::BorrowedFd;
use std::process;

use nix::sched::{CloneFlags, setns};

use super::error::{Result, WhileDoing as _};

/// Runs `act` in the namespace `there`. `home` is the one that the thread is in.
///
/// Errors: `Failed` when the thread cannot enter.
pub(crate) fn enter<T>(
    there: BorrowedFd<'_>,
    home: BorrowedFd<'_>,
    act: impl FnOnce() -> T,
) -> Result<T> {
    setns(there, CloneFlags::CLONE_NEWNET).while_doing("enter the container's namespace")?;
    let _return = Return(home);
    Ok(act())
}

/// Brings the thread back, also when `act` panics.
struct Return<'a>(BorrowedFd<'a>);

impl Drop for Return<'_> {
    fn drop(&mut self) {
        if let Err(error) = setns(self.0, CloneFlags::CLONE_NEWNET) {
            // Whatever this thread did next would be done to the wrong namespace.
            eprintln!("weir: cannot return to the host's network namespace: {error}");
            process::abort();
        }
    }
}
