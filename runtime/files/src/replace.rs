//! Files of weir's own, replaced in one step.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Whether a file must still be there after the machine has lost its power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It survives the process.
    Process,
    /// It and its name are on the disk before the call returns.
    Disk,
}

/// Writes `content` to `path` with mode 0600. A reader sees the old file or the new one, whole. The
/// directory is made, with mode 0700, where it is missing. No two may replace one file at a time.
pub fn replace(path: &Path, content: &[u8], durability: Durability) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let new = beside(path);
    let written = write(directory, &new, content, durability).and_then(|()| {
        fs::rename(&new, path)?;
        match durability {
            Durability::Process => Ok(()),
            Durability::Disk => File::open(directory)?.sync_all(),
        }
    });
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

/// Removes a file, and what a process that was killed while it replaced it has left; one that is not there is
/// no error.
pub fn remove(path: &Path) -> io::Result<()> {
    clear_up(path)?;
    missing_is_fine(fs::remove_file(path))
}

/// Removes what a process that was killed before it could put a file in its place has left.
pub fn clear_up(path: &Path) -> io::Result<()> {
    missing_is_fine(fs::remove_file(beside(path)))
}

fn missing_is_fine(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Puts a file that cannot be understood out of the way, for people. Returns where it is now: beside where it
/// was, with `.damaged` after its name.
pub fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".damaged");
    fs::rename(path, &aside)?;
    Ok(aside.into())
}

/// Whether a file of that name is what [`replace`] writes before it takes its place.
pub fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(b".") && name.ends_with(SUFFIX)
}

const SUFFIX: &[u8] = b".weir~";

/// The longest name of a file, in bytes.
const LONGEST_NAME: usize = 255;

/// Where the new content of a file is first: by the same name for the same file, so that what a killed process
/// leaves is found.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let room = LONGEST_NAME - SUFFIX.len() - 1;
    let mut temporary = vec![b'.'];
    temporary.extend(&name[..name.len().min(room)]);
    temporary.extend(SUFFIX);
    path.with_file_name(OsStr::from_bytes(&temporary))
}

fn write(directory: &Path, new: &Path, content: &[u8], durability: Durability) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = match options.open(new) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)?;
            options.open(new)?
        }
        opened => opened?,
    };
    file.write_all(content)?;
    match durability {
        Durability::Process => Ok(()),
        Durability::Disk => file.sync_all(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_leaves_goes_with_the_file() -> io::Result<()> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("record");
        replace(&path, b"one", Durability::Process)?;
        fs::write(beside(&path), "tw")?;
        replace(&path, b"three", Durability::Disk)?;
        assert_eq!(fs::read(&path)?, b"three");
        fs::write(beside(&path), "fo")?;
        remove(&path)?;
        remove(&path)?;
        assert_eq!(fs::read_dir(&directory)?.count(), 0);
        directory.close()
    }

    #[test]
    fn a_temporary_name_is_no_longer_than_names_may_be() {
        let long = "n".repeat(LONGEST_NAME);
        let beside = beside(&Path::new("/d").join(long));
        let name = beside.file_name().unwrap_or_default();
        assert_eq!(name.len(), LONGEST_NAME);
        assert!(is_temporary(name));
    }
}
