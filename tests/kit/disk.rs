//! A disk that is soon full.

use std::fs;
use std::path::PathBuf;
use std::thread;

use anyhow::{Context, Result, anyhow};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};

/// Runs `test` in a thread with a new mount namespace, in which a file system of this many bytes and inodes is mounted at
/// `path`.
pub fn on_small_disk(
    path: PathBuf,
    size: &str,
    test: impl FnOnce() -> Result<()> + Send,
) -> Result<()> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNS).context("a mount namespace")?;
            let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
            mount(None::<&str>, "/", None::<&str>, private, None::<&str>)?;
            fs::create_dir_all(&path)?;
            mount(
                Some("weir"),
                &path,
                Some("tmpfs"),
                MsFlags::empty(),
                Some(size),
            )?;
            let outcome = test();
            umount2(&path, MntFlags::MNT_DETACH)?;
            outcome
        });
        thread
            .join()
            .map_err(|_| anyhow!("the test panicked, see above"))?
    })
}
