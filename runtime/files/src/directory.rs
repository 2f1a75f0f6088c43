//! What is in a directory, and the locks by which one process at a time works on a file or a directory.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Returns the paths in a directory, sorted; none if it does not exist.
pub fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.map(|entry| Ok(entry?.path()));
    let mut paths: Vec<PathBuf> = paths.collect::<io::Result<_>>()?;
    paths.sort();
    Ok(paths)
}

/// Waits until no other process has a lock on a file, and locks it until it is closed.
pub fn lock(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            locked => return locked,
        }
    }
}

/// Locks a directory, which is created with `mode` if it does not exist.
pub fn lock_directory(path: &Path, mode: u32) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(mode).create(path)?;
    let directory = File::open(path)?;
    lock(&directory)?;
    Ok(directory)
}

/// Whether a path leads to an open file or directory.
pub fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        there => there.map(|there| (there.dev(), there.ino()) == (own.dev(), own.ino())),
    }
}
