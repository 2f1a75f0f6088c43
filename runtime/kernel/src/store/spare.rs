//! A spare file, so that overwriting a key creates and frees no inode.
//!
//! `put` over an existing key swaps two names with `RENAME_EXCHANGE`: the key gets the file with the
//! new value, and the file with the old value becomes the spare, in which the next value is
//! written. On ext4, renaming over a file waits for the disk; an exchange does not.
//!
//! A reader sees a whole value, with the lock or without it: a spare is written only while nobody has it open, for which
//! a write lease (fcntl(2), `F_SETLEASE`) stands, and never while it has a second name. `docs/decisions/0037-store-index.md`
//! says what other programs and power failures make of it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use cap_std::fs::{Dir, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc::{self, c_int};

/// The spare's name. It holds an old value, or part of one after a crash.
pub(super) const NAME: &str = ".weir~old";
/// The most bytes of a spare; longer values are not kept.
pub(super) const MOST: usize = 4096;

/// Permissions to execute: a plugin must not write into a program.
const EXECUTABLE: u32 = 0o111;

/// fcntl(2), the same on every architecture.
const F_SETSIG: c_int = 10;

/// Writes `value` into the spare, if there is one that can become `key`'s file. It then has
/// `key`'s mode and owner.
pub(super) fn fill(dir: &Dir, key: &str, value: &[u8]) -> bool {
    // ext4 frees the blocks of an empty file, and waits for the disk.
    let fits = (1..=MOST).contains(&value.len());
    // If the spare is unusable for any reason, a new file is written.
    fits && try_fill(dir, key, value).unwrap_or(false)
}

fn try_fill(dir: &Dir, key: &str, value: &[u8]) -> io::Result<bool> {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits());
    let spare = dir.open_with(NAME, &options)?;
    let metadata = spare.metadata()?;
    let usable = metadata.is_file()
        && metadata.nlink() == 1
        && metadata.mode() & EXECUTABLE == 0
        && same_access(&metadata, &dir.symlink_metadata(key)?);
    if !usable {
        return Ok(false);
    }
    let size = metadata.len();
    let spare = spare.into_std();
    lease(&spare)?;
    spare.write_all_at(value, 0)?;
    if size != value.len() as u64 {
        spare.set_len(value.len() as u64)?;
    }
    Ok(true)
}

fn same_access(one: &Metadata, other: &Metadata) -> bool {
    let access = |m: &Metadata| (m.mode(), m.uid(), m.gid());
    access(one) == access(other)
}

/// Fails if another process has the file open. A process that opens it waits until it is closed.
fn lease(file: &File) -> io::Result<()> {
    let descriptor = file.as_raw_fd();
    // A process that opens the file now waits, and this process gets a signal. The usual one, SIGIO, would end it; this one is
    // ignored.
    // SAFETY: both calls have an integer as argument, and the descriptor is open.
    Errno::result(unsafe { libc::fcntl(descriptor, F_SETSIG, libc::SIGURG) })?;
    Errno::result(unsafe { libc::fcntl(descriptor, libc::F_SETLEASE, libc::F_WRLCK) })?;
    Ok(())
}
