//! Replaces weir's files atomically.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What a file must survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process.
    Process,
    /// A loss of power: the file and its name are on disk before the call returns.
    Disk,
}

/// Writes `content` to `path` with mode 0600. A reader sees the whole old file or the whole new one. The directory is
/// created with mode 0700 if it does not exist. Only one caller may replace a file at a time.
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

/// Removes a file, if it exists, and the temporary file of a process that was killed while it replaced it.
pub fn remove(path: &Path) -> io::Result<()> {
    clear_up(path)?;
    missing_is_fine(fs::remove_file(path))
}

/// Removes the temporary file of a process that was killed while it replaced a file.
pub fn clear_up(path: &Path) -> io::Result<()> {
    missing_is_fine(fs::remove_file(beside(path)))
}

fn missing_is_fine(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Renames a file that cannot be parsed, for a person to look at. Returns its new path: `.damaged` is appended.
pub fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".damaged");
    fs::rename(path, &aside)?;
    Ok(aside.into())
}

/// Whether a name is that of a temporary file of [`replace`].
pub fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(b".") && name.ends_with(SUFFIX)
}

const SUFFIX: &[u8] = b".weir~";

/// The longest name of a file, in bytes.
const LONGEST_NAME: usize = 255;

/// The temporary file for the new content. The name depends only on the file, so that what a killed process left is
/// found.
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
