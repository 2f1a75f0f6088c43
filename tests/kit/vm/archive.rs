//! The initial file system of the machine, in the format that the kernel unpacks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// The files of an initramfs by their path; the order of the paths puts a directory before what is
/// in it.
#[derive(Default)]
pub(super) struct Archive(BTreeMap<String, Node>);

pub(super) enum Node {
    Dir,
    File { mode: u32, bytes: Vec<u8> },
    Symlink(String),
    Console,
}

impl Archive {
    pub(super) fn add(&mut self, path: &str, node: Node) {
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.dir(parent);
        }
        self.0.insert(path.to_owned(), node);
    }

    pub(super) fn dir(&mut self, path: &str) {
        if !path.is_empty() && !self.0.contains_key(path) {
            self.add(path, Node::Dir);
        }
    }

    pub(super) fn file(&mut self, path: &str, host_path: &Path, mode: u32) -> Result<()> {
        let bytes =
            fs::read(host_path).with_context(|| format!("reading {}", host_path.display()))?;
        self.add(path, Node::File { mode, bytes });
        Ok(())
    }

    /// The archive in the kernel's own format ("newc", Documentation/driver-api/early-userspace).
    pub(super) fn newc(&self) -> Vec<u8> {
        let mut archive = Vec::new();
        for (index, (path, node)) in self.0.iter().enumerate() {
            let name = path.trim_start_matches('/');
            node.append(name, index + 1, &mut archive);
        }
        append_entry(&mut archive, "TRAILER!!!", 0, 0, (0, 0), &[]);
        archive
    }
}

impl Node {
    fn append(&self, name: &str, inode: usize, archive: &mut Vec<u8>) {
        const DIRECTORY: u32 = 0o040_000;
        const REGULAR: u32 = 0o100_000;
        const SYMLINK: u32 = 0o120_000;
        const CHARACTER: u32 = 0o020_000;
        // The device number of /dev/console.
        const CONSOLE: (usize, usize) = (5, 1);
        let (mode, device, bytes) = match self {
            Self::Dir => (DIRECTORY | 0o755, (0, 0), &[][..]),
            Self::File { mode, bytes } => (REGULAR | (mode & 0o7777), (0, 0), &bytes[..]),
            Self::Symlink(target) => (SYMLINK | 0o777, (0, 0), target.as_bytes()),
            Self::Console => (CHARACTER | 0o600, CONSOLE, &[][..]),
        };
        append_entry(archive, name, inode, mode, device, bytes);
    }
}

/// Appends a header of thirteen hexadecimal fields, the name and the content, each padded to four
/// bytes. `device` is (major, minor).
fn append_entry(
    archive: &mut Vec<u8>,
    name: &str,
    inode: usize,
    mode: u32,
    device: (usize, usize),
    bytes: &[u8],
) {
    let (owner, group, links, mtime, checksum) = (0, 0, 1, 0, 0);
    let fields = [
        inode,
        mode as usize,
        owner,
        group,
        links,
        mtime,
        bytes.len(),
        0,
        0,
        device.0,
        device.1,
        name.len() + 1,
        checksum,
    ];
    archive.extend_from_slice(b"070701");
    for field in fields {
        archive.extend_from_slice(format!("{field:08x}").as_bytes());
    }
    archive.extend_from_slice(name.as_bytes());
    archive.push(0);
    pad(archive);
    archive.extend_from_slice(bytes);
    pad(archive);
}

fn pad(archive: &mut Vec<u8>) {
    archive.resize(archive.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_precede_their_files_and_entries_are_aligned() {
        let mut archive = Archive::default();
        let bytes = b"four!".to_vec();
        archive.add("/a/b/c", Node::File { mode: 0o755, bytes });
        archive.add("/a-b", Node::Symlink("a/b/c".to_owned()));
        let paths: Vec<&str> = archive.0.keys().map(String::as_str).collect();
        assert_eq!(paths, ["/a", "/a-b", "/a/b", "/a/b/c"]);

        let newc = archive.newc();
        assert_eq!(newc.len() % 4, 0);
        let headers = newc.windows(6).enumerate().filter(|(_, w)| w == b"070701");
        let offsets: Vec<usize> = headers.map(|(offset, _)| offset).collect();
        assert_eq!(offsets.len(), paths.len() + 1);
        assert!(offsets.iter().all(|offset| offset % 4 == 0), "{offsets:?}");
    }
}
