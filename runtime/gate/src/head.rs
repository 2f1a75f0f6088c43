//! The head file: the last chain line of the audit log that weir wrote. Its lock is the one under which the log is written.
//!
//! The log itself is not locked: anyone who may read a file can lock it, and could block every ADD on the node.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use weir_files::file_trust::{self, Untrusted};
use weir_files::lock;

use crate::chain::ChainLine;

/// The digits of a number in the file, which has leading zeros.
const DIGITS: usize = 20;

/// Its size in bytes: the same whatever it says, so that it is written in one step into space that it already has.
const SIZE: usize = 4 * (DIGITS + 1) + 64 + 1;

/// The bytes of the file: one line with the values of a [`Head`] in their order, separated by spaces.
type Record = [u8; SIZE];

/// The content of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
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

    /// Runs something while no process writes to the log of a head file. Errors: the file cannot be opened or locked.
    pub fn while_nothing_is_written<T>(path: &Path, run: impl FnOnce() -> T) -> io::Result<T> {
        let file = File::open(path)?;
        lock(&file)?;
        Ok(run())
    }

    /// Whether the chain's last line is in the file with this metadata.
    pub fn is_in(&self, log: &Metadata) -> bool {
        (self.device, self.inode) == (log.dev(), log.ino())
    }

    /// Returns the chain's last line.
    pub fn line(&self) -> ChainLine {
        ChainLine {
            chained: self.chained,
            sha256: self.sha256.clone(),
        }
    }

    /// Reads the bytes of the file. None if they are not what weir writes.
    fn parse(content: &[u8]) -> Option<Self> {
        let mut values = str::from_utf8(content).ok()?.split_ascii_whitespace();
        let mut number = || values.next()?.parse().ok();
        let head = Self {
            device: number()?,
            inode: number()?,
            end: number()?,
            chained: number()?,
            sha256: values.next()?.to_owned(),
        };
        let is_digest = head.sha256.len() == 64 && head.sha256.bytes().all(is_hexadecimal);
        (is_digest && head.record() == content).then_some(head)
    }

    /// The bytes of the file.
    fn record(&self) -> Record {
        let mut record = [b' '; SIZE];
        let numbers = [self.device, self.inode, self.end, self.chained];
        for (place, number) in record.chunks_exact_mut(DIGITS + 1).zip(numbers) {
            write_number(number, &mut place[..DIGITS]);
        }
        record[SIZE - 65..SIZE - 1].copy_from_slice(self.sha256.as_bytes());
        record[SIZE - 1] = b'\n';
        record
    }
}

fn is_hexadecimal(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// Fills a place with a number and leading zeros.
fn write_number(mut number: u64, place: &mut [u8]) {
    place.fill(b'0');
    for digit in place.iter_mut().rev() {
        if number == 0 {
            break;
        }
        *digit += (number % 10) as u8;
        number /= 10;
    }
}

/// The open head file of a process.
pub(crate) struct HeadFile {
    file: File,
    /// Its bytes when they were last read or written, and what they say. They stay the same while no other process writes.
    record: Record,
    head: Option<Head>,
}

/// The head file while no other process writes to the log.
pub(crate) struct Locked<'a>(&'a mut HeadFile);

impl HeadFile {
    /// Opens it, and creates it if it does not exist.
    pub(crate) fn open(path: &Path) -> Result<Self, Untrusted> {
        Ok(Self {
            file: file_trust::open_own(path, 0o600)?,
            record: [0; SIZE],
            head: None,
        })
    }

    /// Waits until no other process writes to the log.
    pub(crate) fn lock(&mut self) -> io::Result<Locked<'_>> {
        lock(&self.file)?;
        Ok(Locked(self))
    }
}

impl Locked<'_> {
    /// The head. Where there is none, or it is damaged, a chain begins: that is on disk before any line of it.
    pub(crate) fn head(&mut self) -> io::Result<&Head> {
        // One byte more, to notice a file that is longer.
        let mut content = [0; SIZE + 1];
        let read = self.0.file.read_at(&mut content, 0)?;
        let content = &content[..read];
        let known = self.0.head.take().filter(|_| self.0.record == content);
        let head = match known.or_else(|| Head::parse(content)) {
            Some(head) => {
                self.0.record.copy_from_slice(content);
                head
            }
            None => {
                let head = Head::of_new_chain()?;
                self.write(&head)?;
                // A damaged file may be longer.
                self.0.file.set_len(SIZE as u64)?;
                head
            }
        };
        Ok(self.0.head.insert(head))
    }

    /// Replaces the head.
    pub(crate) fn set(&mut self, head: Head) -> io::Result<()> {
        self.write(&head)?;
        self.0.head = Some(head);
        Ok(())
    }

    fn write(&mut self, head: &Head) -> io::Result<()> {
        // Whatever is in the file if it cannot be written, it is read again.
        self.0.head = None;
        self.0.record = head.record();
        self.0.file.write_all_at(&self.0.record, 0)
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // The kernel unlocks a file that is open.
        let _ = self.0.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn head() -> Head {
        Head {
            device: u64::MAX,
            inode: 10_249_519,
            end: 0,
            chained: 28,
            sha256: "0123456789abcdef".repeat(4),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let record = head().record();
        assert_eq!(Head::parse(&record), Some(head()));
        let text = str::from_utf8(&record).expect("a text");
        assert_eq!(
            text,
            "18446744073709551615 00000000000010249519 00000000000000000000 00000000000000000028 \
             0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"
        );
    }

    #[test]
    fn a_damaged_head_is_none() {
        let text = String::from_utf8(head().record().to_vec()).expect("a text");
        for damaged in [
            String::new(),
            "\0".repeat(SIZE),
            text.trim_end().to_owned(),
            format!("{text} "),
            format!("{text}{text}"),
            text.replacen('0', "+", 1),
            text.replacen("18446744073709551615", "18446744073709551616", 1),
            text.replace('f', "F"),
            text.replace('f', "\u{e4}"),
            text.replace(' ', "\t"),
        ] {
            assert_eq!(Head::parse(damaged.as_bytes()), None, "{damaged:?}");
        }
    }

    /// As another process does, or an administrator.
    #[test]
    fn what_others_write_is_noticed() {
        let directory = TempDir::new().expect("a directory");
        let path = directory.path().join("head");
        let mut file = HeadFile::open(&path).expect("a head");
        let mut locked = file.lock().expect("a lock");
        let first = locked.head().expect("a head").clone();
        assert_eq!(locked.head().expect("a head"), &first);
        fs::write(&path, head().record()).expect("a head");
        assert_eq!(locked.head().expect("a head"), &head());
        for damaged in [vec![], vec![0; SIZE], vec![b'\n'; SIZE + 1]] {
            fs::write(&path, damaged).expect("a head");
            let begun = locked.head().expect("a head").clone();
            assert_ne!(begun.sha256, head().sha256);
            assert_eq!(begun.chained, 0);
            assert_eq!(Head::read(&path).expect("a head"), Some(begun));
            fs::write(&path, head().record()).expect("a head");
        }
    }
}
