//! A layout as a tar archive. Nothing of it is unpacked: its files are read into memory, those that a layout has.

use std::collections::BTreeMap;
use std::fs::{OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path};

use nix::libc::O_NONBLOCK;
use tar::{Archive, Builder, Entry, EntryType, Header};

use super::super::error::{Error, Result};
use super::super::manifest::{MOST_COMPONENT, MOST_METADATA};
use super::{BLOBS, Bytes, Files, INDEX_FILE, MARKER, parent};

/// The largest archive, in bytes: a component, its metadata, and what the format adds.
const MOST: u64 = MOST_COMPONENT + 4 * MOST_METADATA;

/// The first bytes of compressed files.
const COMPRESSED: [(&[u8], &str); 5] = [
    (&[0x1f, 0x8b], "gzip"),
    (b"PK\x03\x04", "zip"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ", "xz"),
];

/// Writes an archive under a name of its own, and gives it its name when it is complete. The same artifact makes the same
/// archive.
pub(super) fn save(files: &[(String, Bytes<'_>)], to: &Path) -> Result<()> {
    let failed = |e: io::Error| Error::file(to, "written", e);
    let new = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(parent(to))
        .map_err(failed)?;
    let mut archive = Builder::new(new);
    for (name, bytes) in files {
        let mut header = Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        let appended = archive.append_data(&mut header, name, &bytes[..]);
        appended.map_err(failed)?;
    }
    let mut new = archive.into_inner().map_err(failed)?;
    new.flush().map_err(failed)?;
    let kept = new.persist_noclobber(to);
    kept.map_err(|e| failed(e.error))?;
    Ok(())
}

/// The files of a layout in an archive.
pub(super) struct Contents(BTreeMap<String, Vec<u8>>);

pub(super) fn open(from: &Path) -> Result<Contents> {
    let failed = |e: io::Error| Error::file(from, "read", e);
    let wrong = |why: String| Error::Layout {
        path: from.to_owned(),
        why: why.into(),
    };
    let mut options = OpenOptions::new();
    // A pipe without a writer is not waited for.
    options.read(true).custom_flags(O_NONBLOCK);
    let file = options.open(from).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(wrong("it is neither a file nor a directory".to_owned()));
    }
    if metadata.len() > MOST {
        return Err(wrong(format!(
            "it has {} bytes, more than the {MOST} that a plugin can need",
            metadata.len()
        )));
    }
    read(file.take(MOST)).map_err(wrong)
}

/// Reads what is not larger than [`MOST`].
pub(super) fn read(mut archive: impl Read) -> Result<Contents, String> {
    let mut start = Vec::new();
    let read = archive.by_ref().take(8).read_to_end(&mut start);
    read.map_err(|e| e.to_string())?;
    if let Some((_, kind)) = COMPRESSED
        .iter()
        .find(|(magic, _)| start.starts_with(magic))
    {
        return Err(format!(
            "it is compressed with {kind}, which weir does not unpack; unpack it first"
        ));
    }
    let mut archive = Archive::new(start.chain(archive));
    let mut files = BTreeMap::new();
    for entry in archive.entries().map_err(|e| not_tar(&e))? {
        let mut entry = entry.map_err(|e| not_tar(&e))?;
        let Some(name) = name(&entry)? else {
            continue;
        };
        let mut bytes = Vec::new();
        let read = entry.read_to_end(&mut bytes);
        read.map_err(|e| format!("`{name}`: {e}"))?;
        if bytes.len() as u64 != entry.size() {
            return Err(format!("`{name}` ends early"));
        }
        if files.insert(name.clone(), bytes).is_some() {
            return Err(format!("it has `{name}` twice"));
        }
    }
    Ok(Contents(files))
}

/// The name of a file that is a part of a layout; none for a directory, or a file that is not.
///
/// Errors: an entry that no layout has, and that an unpacking program could be misled by.
fn name(entry: &Entry<'_, impl Read>) -> Result<Option<String>, String> {
    let path = entry.path().map_err(|e| not_tar(&e))?;
    let shown = path.display();
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str().unwrap_or_default()),
            Component::CurDir => {}
            _ => return Err(format!("its entry `{shown}` leads out of the archive")),
        }
    }
    match entry.header().entry_type() {
        EntryType::Directory => return Ok(None),
        EntryType::Regular => {}
        other => {
            return Err(format!(
                "its entry `{shown}` is of type `{other:?}`, and a layout has only files and directories"
            ));
        }
    }
    let name = parts.join("/");
    let is_part = name == MARKER || name == INDEX_FILE || name.starts_with(BLOBS);
    Ok(is_part.then_some(name))
}

fn not_tar(error: &io::Error) -> String {
    format!("not a valid tar archive: {error}")
}

impl Files for Contents {
    fn read(&mut self, name: &str, limit: u64) -> Result<Vec<u8>, String> {
        let bytes = self.0.remove(name);
        let bytes = bytes.ok_or_else(|| format!("it has no `{name}`"))?;
        if bytes.len() as u64 > limit {
            return Err(format!("`{name}` has more than {limit} bytes"));
        }
        Ok(bytes)
    }
}
