//! The directory of CNI plugins: weir's binary, and a link to it for each plugin.
//!
//! A plugin of the same name is kept: it is exchanged with the link atomically, so that a runtime always finds a plugin of
//! that name.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use weir_files::rename;

use super::replaced::{self, remove};
use crate::OWN_NAME;
use crate::cli::output::say;

/// The running program, even if its file was replaced or removed.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// `.bridge.weir-new` is a `bridge` that is not in place yet.
const NEW_SUFFIX: &str = ".weir-new";

const MODE: u32 = 0o755;

pub struct BinDir {
    path: PathBuf,
    directory: Flock<File>,
}

impl BinDir {
    /// Creates the directory if it is missing, waits for others that install there, and cleans up after an interrupted
    /// install.
    pub fn lock(path: &Path) -> Result<Self> {
        let shown = path.display();
        fs::create_dir_all(path).with_context(|| format!("create `{shown}`"))?;
        let directory = File::open(path).with_context(|| format!("open `{shown}`"))?;
        let bin_dir = Self {
            path: path.to_owned(),
            directory: wait_for_lock(directory).with_context(|| format!("lock `{shown}`"))?,
        };
        bin_dir.clear_up()?;
        Ok(bin_dir)
    }

    /// Puts the running program in place. A running one keeps its file, which then has no name.
    pub fn put_binary(&self) -> Result<()> {
        let new = self.new_path(OWN_NAME);
        let place = self.path.join(OWN_NAME);
        let copied = copy_program(&new).and_then(|()| fs::rename(&new, &place));
        if copied.is_err() {
            let _ = fs::remove_file(&new);
        }
        copied.with_context(|| format!("install `{}`", place.display()))
    }

    /// Puts a plugin's link in place. Returns whether it was not there yet.
    pub fn put_link(&self, name: &str) -> Result<bool> {
        let place = self.path.join(name);
        let shown = place.display();
        let present = metadata(&place).with_context(|| format!("read `{shown}`"))?;
        if is_own_link(&place) {
            return Ok(false);
        }
        if present.as_ref().is_some_and(Metadata::is_dir) {
            bail!("install `{shown}`: it is a directory; move it away");
        }
        let new = self.new_path(name);
        let linked = symlink(OWN_NAME, &new).and_then(|()| match present {
            None => fs::rename(&new, &place),
            Some(_) => self.take_place(name, &new),
        });
        if linked.is_err() && is_own_link(&new) {
            let _ = fs::remove_file(&new);
        }
        linked.with_context(|| format!("install `{shown}`"))?;
        Ok(true)
    }

    /// Exchanges the link with the file of that name, which is then kept under another name.
    fn take_place(&self, name: &str, new: &Path) -> io::Result<()> {
        match rename::exchange(&*self.directory, &new_name(name), name) {
            Err(Errno::EINVAL | Errno::ENOSYS) => Err(io::Error::other(
                "this file system cannot exchange two names (RENAME_EXCHANGE); move the file away",
            )),
            exchanged => Ok(exchanged?),
        }?;
        fs::rename(new, self.path.join(replaced::name_of(name)))
    }

    /// Puts back the kept files, and removes weir's other links, and prints each change. The binary stays.
    pub fn restore(&self) -> Result<()> {
        let shown = self.path.display();
        for name in replaced::names(&self.path)? {
            let place = self.path.join(&name);
            if metadata(&place)?.is_some() && !is_own_link(&place) {
                let kept = replaced::name_of(&name);
                say!("left {shown}/{name}, which is not weir's, and {shown}/{kept}");
            } else {
                replaced::put_back(&self.path, &name)?;
                say!("put back {shown}/{name}");
            }
        }
        for name in replaced::file_names(&self.path)? {
            let place = self.path.join(&name);
            if is_own_link(&place) {
                remove(&place)?;
                say!("removed {shown}/{name}");
            }
        }
        self.sync()
    }

    /// Removes the binary, if it exists.
    pub fn remove_binary(&self) -> Result<()> {
        let place = self.path.join(OWN_NAME);
        if metadata(&place)?.is_some() {
            remove(&place)?;
            self.sync()?;
            say!("removed {}", place.display());
        }
        Ok(())
    }

    /// Waits until all names are on disk.
    pub fn sync(&self) -> Result<()> {
        let synced = self.directory.sync_all();
        synced.with_context(|| format!("write `{}` to disk", self.path.display()))
    }

    /// Removes the files of an interrupted install, and keeps a file that it had just replaced.
    fn clear_up(&self) -> Result<()> {
        for file in replaced::file_names(&self.path)? {
            let name = file.strip_prefix('.');
            let name = name.and_then(|name| name.strip_suffix(NEW_SUFFIX));
            let Some(name) = name.filter(|name| !name.is_empty()) else {
                continue;
            };
            let path = self.path.join(&file);
            if name == OWN_NAME || is_own_link(&path) {
                remove(&path)?
            } else {
                fs::rename(&path, self.path.join(replaced::name_of(name)))
                    .with_context(|| format!("keep `{}`", path.display()))?
            }
        }
        Ok(())
    }

    fn new_path(&self, name: &str) -> PathBuf {
        self.path.join(new_name(name))
    }
}

/// Whether a directory has the running program as weir, executable.
pub fn has_binary(bin_dir: &Path) -> Result<bool> {
    let place = bin_dir.join(OWN_NAME);
    let compare = || -> io::Result<bool> {
        let Some(metadata) = metadata(&place)? else {
            return Ok(false);
        };
        let is_program = metadata.is_file() && metadata.mode() & 0o7777 == MODE;
        Ok(is_program && same_content(&place, Path::new(OWN_PROGRAM))?)
    };
    compare().with_context(|| format!("read `{}`", place.display()))
}

/// Returns the file that serves a plugin's name once weir's links are removed, if there is one.
pub fn successor(bin_dir: &Path, name: &str) -> Result<Option<PathBuf>> {
    for place in [name.to_owned(), replaced::name_of(name)] {
        let place = bin_dir.join(place);
        let found = metadata(&place).with_context(|| format!("read `{}`", place.display()));
        if found?.is_some() && !is_own_link(&place) {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// Returns the names of weir's links that replaced no other plugin.
pub fn without_predecessor(bin_dir: &Path) -> Result<Vec<String>> {
    let kept = replaced::names(bin_dir)?;
    let mut names = replaced::file_names(bin_dir)?;
    names.retain(|name| is_own_link(&bin_dir.join(name)) && !kept.contains(name));
    Ok(names)
}

fn new_name(name: &str) -> String {
    format!(".{name}{NEW_SUFFIX}")
}

/// Whether a file is a link to weir.
pub fn is_own_link(path: &Path) -> bool {
    fs::read_link(path).is_ok_and(|target| target == Path::new(OWN_NAME))
}

fn metadata(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        metadata => metadata.map(Some),
    }
}

/// What a file system that can has in one piece in the page cache, if it is written at once. The processor maps such a piece by one
/// entry, and a call of weir needs most of what is in one.
const LARGE_PAGE: usize = 2 << 20;

fn copy_program(to: &Path) -> io::Result<()> {
    let program = File::open(OWN_PROGRAM)?;
    let mut copy = File::create_new(to)?;
    let mut piece = Vec::with_capacity(LARGE_PAGE);
    let size = LARGE_PAGE as u64;
    while (&program).take(size).read_to_end(&mut piece)? > 0 {
        copy.write_all(&piece)?;
        piece.clear();
    }
    copy.set_permissions(Permissions::from_mode(MODE))?;
    copy.sync_all()
}

fn same_content(one: &Path, other: &Path) -> io::Result<bool> {
    let (one, other) = (File::open(one)?, File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let mut one = BufReader::with_capacity(CHUNK, one);
    let mut other = BufReader::with_capacity(CHUNK, other);
    loop {
        let (ours, theirs) = (one.fill_buf()?, other.fill_buf()?);
        let length = ours.len().min(theirs.len());
        if length == 0 || ours[..length] != theirs[..length] {
            return Ok(ours == theirs);
        }
        one.consume(length);
        other.consume(length);
    }
}

const CHUNK: usize = 64 << 10;

fn wait_for_lock(mut directory: File) -> nix::Result<Flock<File>> {
    loop {
        directory = match Flock::lock(directory, FlockArg::LockExclusive) {
            Err((directory, Errno::EINTR)) => directory,
            locked => return locked.map_err(|(_, error)| error),
        };
    }
}
