//! Appending to the log, so that every write is chained to the one before it, whichever process and file that was in.
//!
//! The log is written first, the head file afterwards. A process that was killed in between, or in the middle of a
//! write, leaves bytes that the head does not know; the next write takes them up. So a kill breaks no chain, and what
//! was written before it cannot be taken out any more once something follows. What a kill cannot have left is not taken
//! up: no chain line ever covers it.

use std::fs::{File, Metadata};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::FileExt as _;
use std::sync::{Mutex, PoisonError};

use crate::chain::{ChainLine, Step, Uncovered, Walk};
use crate::head::{Head, HeadFile};

/// The most bytes that are taken up. A killed process leaves one write, which is smaller.
const MOST_TAKEN_UP: u64 = 64 << 20;

/// The log and its chain, for the writes of this process.
pub(super) struct Chain {
    log: File,
    /// As it was opened: which file it is does not change.
    opened: Metadata,
    head: Mutex<HeadFile>,
}

/// Where the chain continues.
struct Tail {
    /// What is written before the lines: what ends a line that was cut short, and the last chain line of another file.
    before: Vec<u8>,
    walk: Walk,
}

impl Chain {
    /// Continues the chain of `head` in a log that is open for reading and appending.
    pub(super) fn new(log: File, head: HeadFile) -> io::Result<Self> {
        Ok(Self {
            opened: log.metadata()?,
            log,
            head: Mutex::new(head),
        })
    }

    /// The log.
    pub(super) fn log(&self) -> &File {
        &self.log
    }

    /// Appends whole lines to the log, and the chain line that ends them. Returns what was written.
    ///
    /// Errors: the log or the head file cannot be written. Nothing of the lines is in the log then, if the file system
    /// can take them back.
    pub(super) fn append(&self, lines: &[u8]) -> io::Result<Vec<u8>> {
        let mut head = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        let mut head = head.lock()?;
        let size = (&self.log).seek(SeekFrom::End(0))?;
        let Tail { before, walk } = self.tail(size, head.head()?)?;
        let mut written = before;
        let carried = written.len();
        written.reserve_exact(lines.len() + ChainLine::MOST_BYTES);
        written.extend_from_slice(lines);
        let line = walk.end(&written[carried..]);
        let line = line.ok_or_else(|| io::Error::other("the chain has too many lines"))?;
        written.extend_from_slice(line.text().as_bytes());
        write(&self.log, size, &written)?;
        let end = size + written.len() as u64;
        // The lines are in the log. A head that could not be written is made up for by the next write.
        let _ = head.set(Head::of(&self.opened, end, line));
        Ok(written)
    }

    /// Whether the head is about this log, which has its chain line. The number of a device can change with a reboot, and
    /// that of a file when it is copied back.
    fn is_of(&self, head: &Head) -> io::Result<bool> {
        Ok(head.is_in(&self.opened) || has_line(&self.log, &head.line(), head.end)?)
    }

    /// Where the chain continues in the log, which has this size.
    fn tail(&self, size: u64, head: &Head) -> io::Result<Tail> {
        let is_of = size >= head.end && self.is_of(head)?;
        match size.checked_sub(head.end).filter(|_| is_of) {
            Some(0) => Ok(Tail {
                before: Vec::new(),
                walk: Walk::after(head.line()),
            }),
            Some(unknown) if unknown <= MOST_TAKEN_UP => take_up(&self.log, size, head.end, head),
            _ => match begun(&self.log, size, &head.line())? {
                Some(end) => take_up(&self.log, size, end, head),
                None => carry(&self.log, size, head.line()),
            },
        }
    }
}

/// Whether a file has a chain line that ends at an offset.
fn has_line(log: &File, line: &ChainLine, end: u64) -> io::Result<bool> {
    let text = line.text();
    let Some(start) = end.checked_sub(text.len() as u64) else {
        return Ok(false);
    };
    let mut there = vec![0; text.len()];
    log.read_exact_at(&mut there, start)?;
    Ok(there == text.as_bytes())
}

/// Where a repeat of the head's line ends after which the chain goes on: a process was killed that had begun to write to this file, and
/// the head is of the file before, or of none.
fn begun(log: &File, size: u64, line: &ChainLine) -> io::Result<Option<u64>> {
    let text = line.text();
    let mut end = size.saturating_sub(MOST_TAKEN_UP);
    let mut reader = log;
    reader.seek(SeekFrom::Start(end))?;
    let mut reader = BufReader::new(reader.take(size - end));
    let mut repeat = None;
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes)? > 0 {
        end += bytes.len() as u64;
        if bytes == text.as_bytes() {
            repeat = Some((end, Walk::after(line.clone())));
        } else if let Some((found, walk)) = &mut repeat {
            match walk.line(&bytes) {
                Step::Other => {}
                Step::Next { intact: true, .. } => return Ok(Some(*found)),
                _ => repeat = None,
            }
        }
        bytes.clear();
    }
    Ok(None)
}

/// Takes up what is in the log after the head's line, which ends there, and the head does not know, if an interrupted write can have
/// left it. Chain lines among it must follow the head's.
fn take_up(log: &File, size: u64, after: u64, head: &Head) -> io::Result<Tail> {
    let mut reader = log;
    reader.seek(SeekFrom::Start(after))?;
    let mut reader = BufReader::new(reader.take(size - after));
    let (mut last, mut walk) = (head.line(), Walk::after(head.line()));
    let mut before = Vec::new();
    let mut bytes = Vec::new();
    let mut uncovered = Uncovered::default();
    while reader.read_until(b'\n', &mut bytes)? > 0 {
        uncovered.line(&bytes);
        if !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
            before.push(b'\n');
        }
        match walk.line(&bytes) {
            Step::Other => {}
            Step::Next { line, intact: true } => {
                last = line;
                uncovered = Uncovered::default();
            }
            // Not a write of weir's: the chain continues from what is known.
            _ => return carry(log, size, last),
        }
        bytes.clear();
    }
    if uncovered.is_added() {
        return carry(log, size, last);
    }
    Ok(Tail { before, walk })
}

/// Continues after a chain line that is not the last one in this file: it is repeated.
fn carry(log: &File, size: u64, line: ChainLine) -> io::Result<Tail> {
    let mut before = Vec::new();
    if let Some(last) = size.checked_sub(1) {
        let mut end = [0];
        log.read_exact_at(&mut end, last)?;
        if end != *b"\n" {
            before.push(b'\n');
        }
    }
    before.extend_from_slice(line.text().as_bytes());
    Ok(Tail {
        before,
        walk: Walk::after(line),
    })
}

/// Appends all bytes to a log of this size, or takes back those that there was room for.
fn write(mut log: &File, size: u64, bytes: &[u8]) -> io::Result<()> {
    let mut left = bytes;
    while !left.is_empty() {
        let error = match log.write(left) {
            Ok(0) => io::ErrorKind::WriteZero.into(),
            Ok(written) => {
                left = &left[written..];
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => error,
        };
        let written = (bytes.len() - left.len()) as u64;
        // Only if nothing else has come meanwhile.
        if written > 0 && log.metadata()?.len() == size + written {
            let _ = log.set_len(size);
        }
        return Err(error);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::path::PathBuf;
    use std::thread;

    use tempfile::TempDir;

    use super::*;

    /// A log and its head.
    struct LogDirectory(TempDir);

    impl LogDirectory {
        fn new() -> Self {
            Self(TempDir::new().expect("a directory"))
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn open(&self, name: &str) -> File {
            let mut options = OpenOptions::new();
            let options = options.read(true).append(true).create(true);
            options.open(self.path(name)).expect("a log")
        }

        fn chain(&self, name: &str) -> Chain {
            let head = HeadFile::open(&self.path("head")).expect("a head");
            Chain::new(self.open(name), head).expect("a chain")
        }

        /// Appends as a new process does.
        fn append(&self, name: &str, lines: &str) {
            let appended = self.chain(name).append(lines.as_bytes());
            appended.expect("it is appended");
        }

        /// The chain lines that a file continues after, and the last one. All others must be intact.
        fn walk(&self, name: &str) -> (Vec<ChainLine>, ChainLine) {
            let text = fs::read_to_string(self.path(name)).expect("a log");
            let (mut walk, mut carried, mut last) = (Walk::default(), Vec::new(), None);
            for line in text.split_inclusive('\n') {
                match walk.line(line.as_bytes()) {
                    Step::Other => {}
                    Step::Next { line, intact } => {
                        assert!(intact, "{line:?} in {text}");
                        last = Some(line);
                    }
                    Step::Carried(line) => carried.push(line),
                }
            }
            (carried, last.expect("a chain line"))
        }
    }

    /// As after a reboot that numbers the devices anew: only the file's contents say that it is the same.
    #[test]
    fn a_copy_that_was_put_back_is_continued() {
        let directory = LogDirectory::new();
        directory.append("log", "{\"a\":1}\n");
        let log = directory.path("log");
        fs::copy(&log, directory.path("copy")).expect("a copy");
        fs::rename(directory.path("copy"), &log).expect("it is put back");
        directory.append("log", "{\"a\":2}\n");
        let (carried, last) = directory.walk("log");
        let carried: Vec<u64> = carried.iter().map(|line| line.chained).collect();
        assert_eq!((carried, last.chained), (vec![0], 2));
    }

    #[test]
    fn writes_of_many_processes_are_one_chain() {
        let directory = LogDirectory::new();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let chain = directory.chain("log");
                    for _ in 0..50 {
                        chain.append(b"a\nb\n").expect("it is appended");
                    }
                });
            }
        });
        let (carried, last) = directory.walk("log");
        assert_eq!((carried.len(), last.chained), (1, 400));
    }

    /// A line as weir's are.
    fn record(seq: u32) -> String {
        format!("{{\"time\":\"2026-11-22T02:54:55Z\",\"seq\":{seq}}}\n")
    }

    /// The head does not know the last write, and the log has any part of it. A write that ended just between two lines, or
    /// just before the end of one, may as well be somebody else's.
    #[test]
    fn a_process_that_is_killed_at_any_point_breaks_nothing() {
        let directory = LogDirectory::new();
        directory.append("log", &record(1));
        let (begun, head) = (
            directory.open("log").metadata(),
            fs::read(directory.path("head")),
        );
        let begun = begun.expect("metadata").len();
        directory.append("log", &(record(2) + &record(3)));
        let whole = fs::read(directory.path("log")).expect("a log");
        for length in begun..=whole.len() as u64 {
            fs::write(directory.path("log"), &whole[..length as usize]).expect("a log");
            fs::write(directory.path("head"), head.as_ref().expect("a head")).expect("a head");
            directory.append("log", &record(4));
            directory.append("log", &record(5));
            let (carried, last) = directory.walk("log");
            let is_taken_up = length + 1 >= whole.len() as u64;
            let expected = if is_taken_up { 4 } else { 3 };
            let end = length as usize;
            let is_whole_lines =
                length > begun && whole[end - 1..].iter().take(2).any(|byte| *byte == b'\n');
            let parts = if is_whole_lines && !is_taken_up { 2 } else { 1 };
            assert_eq!((carried.len(), last.chained), (parts, expected), "{length}");
        }
    }

    /// The head is still that of before: of no file, or of the one that was rotated.
    #[test]
    fn a_process_that_is_killed_in_a_files_first_write_breaks_nothing() {
        let directory = LogDirectory::new();
        let head = || fs::read(directory.path("head")).expect("a head");
        let mut locked = HeadFile::open(&directory.path("head")).expect("a head");
        locked.lock().expect("a lock").head().expect("a new chain");
        for (name, lines, expected) in [
            ("log", "", (vec![0], 2)),
            ("next", "of before\n", (vec![2], 4)),
        ] {
            let before = head();
            fs::write(directory.path(name), lines).expect("a log of before the chain");
            directory.append(name, &record(1));
            fs::write(directory.path("head"), before).expect("a head");
            directory.append(name, &record(2));
            let (carried, last) = directory.walk(name);
            let carried: Vec<u64> = carried.iter().map(|line| line.chained).collect();
            assert_eq!((carried, last.chained), expected, "{name}");
        }
    }

    /// The chain continues after them from the last line that is its own.
    #[test]
    fn lines_of_others_are_not_taken_up() {
        for added in ["foreign\n", "foreign", &record(9)] {
            let directory = LogDirectory::new();
            directory.append("log", &record(1));
            let (_, own) = directory.walk("log");
            let mut log = directory.open("log");
            log.write_all(added.as_bytes()).expect("lines of others");
            directory.append("log", &record(2));
            let (carried, last) = directory.walk("log");
            assert_eq!(carried.last(), Some(&own), "{added:?}");
            assert_eq!((carried.len(), last.chained), (2, 2), "{added:?}");
        }
    }

    #[test]
    fn the_chain_goes_through_rotations() {
        let directory = LogDirectory::new();
        directory.append("log", "one\n");
        // A call is under way.
        let chain = directory.chain("log");
        fs::rename(directory.path("log"), directory.path("log.1")).expect("a rotation");
        directory.append("log", "two\n");
        chain.append(b"three\n").expect("it is appended");
        directory.append("log", "four\n");
        let (old, last_of_old) = directory.walk("log.1");
        let (new, last) = directory.walk("log");
        let numbers =
            |lines: &[ChainLine]| -> Vec<u64> { lines.iter().map(|l| l.chained).collect() };
        assert_eq!((numbers(&old), last_of_old.chained), (vec![0, 2], 3));
        assert_eq!((numbers(&new), last.chained), (vec![1, 3], 4));
        assert_eq!(new[1], last_of_old);
    }

    #[test]
    fn the_chain_goes_through_a_truncation() {
        let directory = LogDirectory::new();
        directory.append("log", "one\n");
        let (_, last) = directory.walk("log");
        fs::write(directory.path("log"), "").expect("a truncation");
        directory.append("log", "two\n");
        let (carried, after) = directory.walk("log");
        assert_eq!((carried, after.chained), (vec![last], 2));
    }

    #[test]
    fn without_its_head_a_chain_begins_anew() {
        let damaged = [&b"\0\0\0"[..], b"{\"inode\":", &[b' '; 1000]];
        for head in [None].into_iter().chain(damaged.map(Some)) {
            let directory = LogDirectory::new();
            directory.append("log", "one\n");
            match head {
                None => fs::remove_file(directory.path("head")).expect("a head"),
                Some(damaged) => fs::write(directory.path("head"), damaged).expect("a head"),
            }
            directory.append("log", "two\n");
            directory.append("log", "three\n");
            let (carried, last) = directory.walk("log");
            assert_eq!((carried.len(), last.chained), (2, 2));
            assert_ne!(carried[0], carried[1]);
        }
    }

    /// An older head, and lines that do not belong to the chain.
    #[test]
    fn what_is_not_of_the_chain_is_not_taken_up() {
        let directory = LogDirectory::new();
        directory.append("log", "one\n");
        let (_, last) = directory.walk("log");
        let forged = ChainLine {
            chained: 9,
            ..last.clone()
        };
        let mut log = directory.open("log");
        log.write_all(forged.text().as_bytes()).expect("a forgery");
        directory.append("log", "two\n");
        let (carried, after) = directory.walk("log");
        assert_eq!(carried[1..], [forged, last]);
        assert_eq!(after.chained, 2);
    }
}
