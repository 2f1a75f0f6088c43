//! A store's directory: whether it can be trusted, and the files in it.
//!
//! A key is a file's name and its value the file's content, nothing else. Modes are those of the
//! reference `host-local`: 0755 for directories, 0644 for files, both less the umask.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, OpenOptions, OpenOptionsExt};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use weir_files::file_trust::{self, Foreign, Owner};
use weir_files::rename::{exchange, rename_new};

use super::key::{MOST_VALUE, is_key};
use super::spare;
use crate::{Error, Result, WhileDoing as _};

const DIRECTORY_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;
/// Only an entry's owner can remove or rename it.
const STICKY: u32 = 0o1000;

/// Where a new file is written before it gets its key's name. Only the holder of the lock writes it, and the next
/// transaction that changes anything removes what a killed process left. It is neither a key (`~`), so that weir does not
/// list it, nor an address, so that the reference does not take it for a lease.
const TEMPORARY: &str = ".weir~new";

/// An open directory whose owner and mode were checked.
pub(super) struct Directory {
    path: PathBuf,
    dir: Dir,
    /// The same directory, for its times and fsync(2), which `Dir` lacks.
    handle: File,
}

/// Whether a missing directory is made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Create,
    Leave,
}

/// Opening.
impl Directory {
    /// Opens `parent`/`name`. None if it is missing and `missing` is `Leave`.
    ///
    /// Neither may be a symbolic link. `name` must belong to the effective user and be writable for no other, and no other
    /// user may be able to replace it in `parent`.
    /// Errors: `invalid`, `exhausted`.
    pub(super) fn open(parent: &Path, name: &str, missing: Missing) -> Result<Option<Self>> {
        let Some(parent_handle) = open_parent(parent, missing)? else {
            return Ok(None);
        };
        check_owner(parent, &parent_handle, Role::Parent)?;
        let path = parent.join(name);
        let parent = Dir::from_std_file(parent_handle);
        let Some(handle) = open_child(&parent, name, &path, missing)? else {
            return Ok(None);
        };
        check_owner(&path, &handle, Role::Store)?;
        let dir = Dir::from_std_file(handle.try_clone()?);
        Ok(Some(Self { path, dir, handle }))
    }

    /// The directory as weir found it, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Its device, inode and times.
    pub(super) fn metadata(&self) -> io::Result<fs::Metadata> {
        self.handle.metadata()
    }

    /// Sets the time of its last modification.
    pub(super) fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        self.handle.set_modified(time)
    }

    /// Makes all removals and creations so far survive a power failure.
    pub(super) fn sync(&self) -> Result<()> {
        self.handle
            .sync_all()
            .while_doing(format_args!("sync `{}`", self.path.display()))
    }
}

fn open_parent(path: &Path, missing: Missing) -> Result<Option<File>> {
    let open = || {
        fs::OpenOptions::new()
            .read(true)
            .custom_flags((OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW).bits())
            .open(path)
    };
    let create = || {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(DIRECTORY_MODE)
            .create(path)
    };
    open_or_create(path, missing, open, create)
}

fn open_child(parent: &Dir, name: &str, path: &Path, missing: Missing) -> Result<Option<File>> {
    let open = || {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .custom_flags((OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW).bits());
        Ok(parent.open_with(name, &options)?.into_std())
    };
    let create = || parent.create_dir_with(name, DirBuilder::new().mode(DIRECTORY_MODE));
    open_or_create(path, missing, open, create)
}

fn open_or_create(
    path: &Path,
    missing: Missing,
    open: impl Fn() -> io::Result<File>,
    create: impl Fn() -> io::Result<()>,
) -> Result<Option<File>> {
    match open() {
        Ok(handle) => return Ok(Some(handle)),
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(not_opened(path, error)),
        Err(_) if missing == Missing::Leave => return Ok(None),
        Err(_) => {}
    }
    match create() {
        // Another process was faster.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        created => {
            created.while_doing(format_args!("create the directory `{}`", path.display()))?
        }
    }
    open().map(Some).map_err(|e| not_opened(path, e))
}

/// Says what stands where the directory should be.
fn not_opened(path: &Path, error: io::Error) -> Error {
    let shown = path.display();
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => Error::invalid(format!(
            "`{shown}` is a symbolic link, and a store's directory must not be one: name the \
             directory it leads to instead"
        )),
        Ok(found) if !found.is_dir() => Error::invalid(format!(
            "`{shown}` is not a directory, and a store must be one: move it away, or name another \
             directory"
        )),
        _ => Error::from(error).while_doing(format_args!("open the directory `{shown}`")),
    }
}

/// Which checks apply to a directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// May belong to root, and may be writable for others if it is sticky.
    Parent,
    Store,
}

fn check_owner(path: &Path, handle: &File, place: Role) -> Result<()> {
    let shown = path.display();
    let metadata = handle.metadata()?;
    let (owner, kept) = match place {
        Role::Parent => (Owner::UserOrRoot, metadata.mode() & STICKY != 0),
        Role::Store => (Owner::User, false),
    };
    match file_trust::check(&metadata, owner) {
        Err(Foreign::Owner { owner, user }) => Err(Error::invalid(format!(
            "the directory `{shown}` belongs to user {owner}, and a store must belong to user \
             {user}, as whom weir runs: look at what is in it, then `chown {user} {shown}`"
        ))),
        Err(Foreign::Mode(mode)) if !kept => Err(Error::invalid(format!(
            "the directory `{shown}` has mode {mode:04o}, and nobody but its owner may write in a \
             store: look at what is in it, then `chmod go-w {shown}`"
        ))),
        _ => Ok(()),
    }
}

/// Files.
impl Directory {
    /// Opens the lock file, and makes it if it is missing.
    pub(super) fn open_lock(&self, name: &str, mode: u32) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(true)
            .mode(mode)
            .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits());
        Ok(self.dir.open_with(name, &options)?.into_std())
    }

    /// A key's value; none if there is no such key.
    ///
    /// Errors: `invalid` for what is not a regular file or too large.
    pub(super) fn read(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let mut options = OpenOptions::new();
        options
            .read(true)
            // A FIFO without a writer must not block.
            .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits());
        let file = match self.dir.open_with(key, &options) {
            Ok(file) => file.into_std(),
            Err(error) => return self.not_read(key, error),
        };
        let metadata = file.metadata().map_err(|e| self.failed("read", key, e))?;
        if !metadata.is_file() {
            return Err(self.not_regular(key));
        }
        let size = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
        let mut value = Vec::with_capacity(size.min(MOST_VALUE) + 1);
        file.take(MOST_VALUE as u64 + 1)
            .read_to_end(&mut value)
            .map_err(|e| self.failed("read", key, e))?;
        if value.len() > MOST_VALUE {
            return Err(Error::invalid(format!(
                "`{}` has {size} bytes, and a value has at most {MOST_VALUE}: move the file away",
                self.path.join(key).display()
            )));
        }
        Ok(Some(value))
    }

    fn not_read(&self, key: &str, error: io::Error) -> Result<Option<Vec<u8>>> {
        match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ENOENT) => Ok(None),
            // A symbolic link; a socket.
            Some(Errno::ELOOP | Errno::ENXIO) => Err(self.not_regular(key)),
            _ => Err(self.failed("read", key, error)),
        }
    }

    /// Creates the first of `keys` that does not exist, and returns it.
    ///
    /// The value is written first and then gets its name, which fails if the name is taken. So a killed process leaves
    /// either nothing or the whole lease, never an empty file.
    pub(super) fn claim<'k>(&self, keys: &'k [String], value: &[u8]) -> Result<Option<&'k str>> {
        let Some(first) = keys.first() else {
            return Ok(None);
        };
        self.write_file(TEMPORARY, value)
            .map_err(|e| self.failed("create", first, e))?;
        let claimed = self.name_first(keys, value);
        if !matches!(claimed, Ok(Some(_))) {
            self.sweep();
        }
        claimed
    }

    fn name_first<'k>(&self, keys: &'k [String], value: &[u8]) -> Result<Option<&'k str>> {
        for key in keys {
            match self.name(key, value) {
                Ok(()) => return Ok(Some(key)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(self.failed("create", key, error)),
            }
        }
        Ok(None)
    }

    /// Renames the temporary file to its key's name, which must be free.
    fn name(&self, key: &str, value: &[u8]) -> io::Result<()> {
        match rename_new(&self.handle, TEMPORARY, key) {
            // This file system does not rename so.
            Err(Errno::EINVAL | Errno::ENOSYS) => {
                self.write_file(key, value)?;
                self.sweep();
                Ok(())
            }
            named => Ok(named?),
        }
    }

    /// Sets a key's value in one step. `before` is the value that it has, if it exists.
    pub(super) fn set(&self, key: &str, before: Option<&[u8]>, value: &[u8]) -> Result<()> {
        let set = match before {
            Some(before) => self.overwrite(key, before, value),
            None => self
                .write_file(TEMPORARY, value)
                .and_then(|()| self.dir.rename(TEMPORARY, &self.dir, key)),
        };
        set.map_err(|error| {
            self.sweep();
            self.failed("write", key, error)
        })
    }

    /// Exchanges the key's file with the spare, or replaces it by a new file.
    fn overwrite(&self, key: &str, before: &[u8], value: &[u8]) -> io::Result<()> {
        if spare::fill(&self.dir, key, value) && self.exchanged(spare::NAME, key) {
            self.keep_spare(before);
            return Ok(());
        }
        self.write_file(TEMPORARY, value)?;
        if !self.exchanged(TEMPORARY, key) {
            // This file system cannot exchange names.
            return self.dir.rename(TEMPORARY, &self.dir, key);
        }
        // The spare that there was could not be used. A rename over it would wait for the disk.
        let _ = self.dir.remove_file(spare::NAME);
        match self.dir.rename(TEMPORARY, &self.dir, spare::NAME) {
            Ok(()) => self.keep_spare(before),
            Err(_) => self.sweep(),
        }
        Ok(())
    }

    fn exchanged(&self, one: &str, other: &str) -> bool {
        exchange(&self.handle, one, other).is_ok()
    }

    /// Removes the spare if its value is too large to keep.
    fn keep_spare(&self, value: &[u8]) {
        if value.len() > spare::MOST {
            // If it cannot be removed, it does no harm.
            let _ = self.dir.remove_file(spare::NAME);
        }
    }

    /// Writes a file that must not exist. One that cannot be written whole is removed again.
    fn write_file(&self, name: &str, value: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(FILE_MODE);
        let mut file = self.dir.open_with(name, &options)?;
        let written = file.write_all(value);
        if written.is_err() {
            // If this fails too, the next change reports it.
            let _ = self.dir.remove_file(name);
        }
        written
    }

    /// Removes a key.
    pub(super) fn remove(&self, key: &str) -> Result<()> {
        self.dir
            .remove_file(key)
            .map_err(|e| self.failed("remove", key, e))
    }

    /// Removes what a killed process may have left. Looking for it first is faster, because it is rarely there.
    pub(super) fn sweep(&self) {
        if let Err(error) = self.dir.symlink_metadata(TEMPORARY)
            && error.kind() == ErrorKind::NotFound
        {
            return;
        }
        // If this fails, so does the next write, which reports it.
        let _ = self.dir.remove_file(TEMPORARY);
    }

    /// All keys; nothing is read but names.
    pub(super) fn keys(&self) -> Result<Vec<String>> {
        let failed = |e| {
            Error::from(e).while_doing(format_args!("list the directory `{}`", self.path.display()))
        };
        let mut keys = Vec::new();
        for entry in self.dir.entries().map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            if let Some(name) = name.to_str().filter(|n| is_key(n)) {
                keys.push(name.to_owned());
            }
        }
        Ok(keys)
    }

    /// An error with a file of this directory.
    pub(super) fn failed(&self, doing: &str, name: &str, error: io::Error) -> Error {
        let path = self.path.join(name);
        let error = Error::from(error).while_doing(format_args!("{doing} `{}`", path.display()));
        match error.errno {
            Some(Errno::ENOSPC | Errno::EDQUOT) => Error {
                message: format!("{}; free some space on its file system", error.message),
                ..error
            },
            _ => error,
        }
    }

    /// An entry that is a directory, a symbolic link, a device or the like.
    pub(super) fn not_regular(&self, name: &str) -> Error {
        Error::invalid(format!(
            "`{}` is not a regular file, and a store has nothing else in it: move it away",
            self.path.join(name).display()
        ))
    }
}
