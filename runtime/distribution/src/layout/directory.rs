//! A layout as a directory.

use std::fs::{self, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use nix::libc::O_NONBLOCK;

use super::super::error::{Error, Result};
use super::{BLOBS, Bytes, Files, parent};

/// Writes a directory under a name of its own, and gives it its name when it is complete.
pub(super) fn save(files: &[(String, Bytes<'_>)], to: &Path) -> Result<()> {
    let failed = |e: io::Error| Error::file(to, "written", e);
    let new = tempfile::Builder::new()
        .prefix(".weir-save-")
        .tempdir_in(parent(to))
        .map_err(failed)?;
    fs::create_dir_all(new.path().join(BLOBS)).map_err(failed)?;
    for (name, bytes) in files {
        fs::write(new.path().join(name), bytes).map_err(failed)?;
    }
    fs::set_permissions(new.path(), Permissions::from_mode(0o755)).map_err(failed)?;
    // The kernel replaces an empty directory, and no other.
    fs::rename(new.path(), to).map_err(|e| match e.kind() {
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => {
            Error::file(to, "written", "it exists and is not an empty directory")
        }
        _ => failed(e),
    })?;
    // It has its name; there is nothing to remove.
    let _ = new.keep();
    Ok(())
}

/// A directory that is read. No link leads out of it.
pub(super) struct Directory(Dir);

pub(super) fn open(from: &Path) -> Result<Directory> {
    let directory = Dir::open_ambient_dir(from, ambient_authority());
    let directory = directory.map_err(|e| Error::file(from, "read", e))?;
    Ok(Directory(directory))
}

impl Files for Directory {
    fn read(&mut self, name: &str, limit: u64) -> Result<Vec<u8>, String> {
        let failed = |e: io::Error| format!("`{name}`: {e}");
        let mut options = OpenOptions::new();
        // A pipe without a writer is not waited for.
        options.read(true).custom_flags(O_NONBLOCK);
        let file = self.0.open_with(name, &options).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(format!("`{name}` is not a file"));
        }
        let mut bytes = Vec::new();
        let read = file.take(limit + 1).read_to_end(&mut bytes);
        read.map_err(failed)?;
        if bytes.len() as u64 > limit {
            return Err(format!("`{name}` has more than {limit} bytes"));
        }
        Ok(bytes)
    }
}
