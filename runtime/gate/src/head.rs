//! The head file: where the chain over the audit log has got to. Its lock is the one under which the log is written.
//!
//! It is not the log itself that is locked: whoever may read a file can lock it, and keep every ADD of the node waiting.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use serde::{Deserialize, Serialize};
use weir_files::file_trust::{self, Untrusted};
use weir_files::lock;

use crate::chain::ChainLine;

/// Its size in bytes: the same whatever it says, so that it is written in one step into space that it already has.
const SIZE: usize = 256;

/// The content of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The file that has the chain's last line: its device and inode, and where the line ends.
    pub device: u64,
    pub inode: u64,
    pub end: u64,
    /// The chain's last line.
    pub chained: u64,
    pub sha256: String,
}

impl Head {
    /// The head of a log with this metadata, whose last line ends at `end`.
    pub(crate) fn of(log: &Metadata, end: u64, line: ChainLine) -> Self {
        Self {
            device: log.dev(),
            inode: log.ino(),
            end,
            chained: line.chained,
            sha256: line.sha256,
        }
    }

    /// The head of a chain that no file has a line of yet.
    fn of_new_chain() -> io::Result<Self> {
        let line = ChainLine::first().map_err(|e| io::Error::other(e.to_string()))?;
        Ok(Self {
            device: 0,
            inode: 0,
            end: 0,
            chained: line.chained,
            sha256: line.sha256,
        })
    }

    /// Reads a head file. None if it does not exist or is damaged. Errors: it cannot be read.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        match std::fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            content => Ok(Self::parse(&content?)),
        }
    }

    /// Whether the chain's last line is in the file with this metadata.
    pub fn is_in(&self, log: &Metadata) -> bool {
        (self.device, self.inode) == (log.dev(), log.ino())
    }

    /// The chain's last line.
    pub fn line(&self) -> ChainLine {
        ChainLine {
            chained: self.chained,
            sha256: self.sha256.clone(),
        }
    }

    fn parse(content: &[u8]) -> Option<Self> {
        serde_json::from_slice(content).ok()
    }
}

/// The open head file of a process.
pub(crate) struct HeadFile(File);

/// The head file while no other process writes to the log.
pub(crate) struct Locked<'a>(&'a File);

impl HeadFile {
    /// Opens it, and creates it if it does not exist.
    pub(crate) fn open(path: &Path) -> Result<Self, Untrusted> {
        file_trust::open_own(path, 0o600).map(Self)
    }

    /// Waits until no other process writes to the log.
    pub(crate) fn lock(&self) -> io::Result<Locked<'_>> {
        lock(&self.0)?;
        Ok(Locked(&self.0))
    }
}

impl Locked<'_> {
    /// The head. Where there is none, or it is damaged, a chain begins: that is on disk before any line of it.
    pub(crate) fn head(&self) -> io::Result<Head> {
        let mut content = [0; SIZE];
        let read = self.0.read_at(&mut content, 0)?;
        if let Some(head) = Head::parse(&content[..read]) {
            return Ok(head);
        }
        let head = Head::of_new_chain()?;
        self.set(&head)?;
        Ok(head)
    }

    /// Replaces the head.
    pub(crate) fn set(&self, head: &Head) -> io::Result<()> {
        let mut content = serde_json::to_vec(head)?;
        content.resize(SIZE - 1, b' ');
        content.push(b'\n');
        self.0.write_all_at(&content, 0)
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // The kernel unlocks a file that is open.
        let _ = self.0.unlock();
    }
}
