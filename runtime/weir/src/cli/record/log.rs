//! Reading a log, line by line, in constant memory.
//!
//! A crash may cut a line short, and then the next record follows in the same line. The fragment is counted as broken. Where
//! the next record begins is unmistakable: inside a JSON string the quotes of [`STARTS`] would be escaped.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use jiff::Timestamp;

use super::Take;
use super::join::Joiner;

/// The beginnings of lines.
const STARTS: [&str; 3] = ["{\"time\":\"", "{\"answered\":", "{\"chained\":"];

/// weir writes no longer lines.
const LONGEST_LINE: usize = 64 << 20;

pub struct Log {
    reader: BufReader<File>,
    /// The beginning of a line whose end is not written yet.
    line: Vec<u8>,
    too_long: bool,
    broken: u64,
    joiner: Joiner,
}

/// Gives all records of a file to `take`. Returns the number of broken lines.
pub fn read(path: &Path, take: Take<'_>) -> io::Result<u64> {
    Log::open(path)?.read_whole(take)
}

impl Log {
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::of(File::open(path)?))
    }

    pub fn standard_input() -> io::Result<Self> {
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Self::of(input.into()))
    }

    fn of(file: File) -> Self {
        Self {
            reader: BufReader::with_capacity(1 << 16, file),
            line: Vec::new(),
            too_long: false,
            broken: 0,
            joiner: Joiner::default(),
        }
    }

    /// Gives the records of all complete lines to `take`, up to the present end.
    pub fn read(&mut self, take: Take<'_>) -> io::Result<()> {
        while self.read_line()? {
            self.end_line(take)?;
        }
        self.joiner.give_up(Some(Timestamp::now()), take)
    }

    /// Reads the last line even if its end is missing, and waits for no more answers.
    pub fn finish(&mut self, take: Take<'_>) -> io::Result<()> {
        self.end_line(take)?;
        self.joiner.give_up(None, take)
    }

    /// Gives all records to `take`, in the order of their times. Returns the number of broken lines.
    pub fn read_whole(mut self, take: Take<'_>) -> io::Result<u64> {
        self.joiner = self.joiner.in_order();
        self.read(take)?;
        self.finish(take)?;
        Ok(self.broken())
    }

    /// Returns how many lines are not records, or begin with something else, and how many records are missing by their
    /// numbers.
    pub fn broken(&self) -> u64 {
        self.broken + self.joiner.missing()
    }

    pub fn identity(&self) -> io::Result<(u64, u64)> {
        let file = self.reader.get_ref().metadata()?;
        Ok((file.dev(), file.ino()))
    }

    pub fn is_deleted(&self) -> io::Result<bool> {
        Ok(self.reader.get_ref().metadata()?.nlink() == 0)
    }

    /// Begins again if the file is shorter than what was read of it.
    pub fn notice_truncation(&mut self) -> io::Result<()> {
        let length = self.reader.get_ref().metadata()?.len();
        if length < self.reader.stream_position()? {
            self.broken += u64::from(!self.line.is_empty());
            self.line.clear();
            self.too_long = false;
            self.reader.seek(SeekFrom::Start(0))?;
        }
        Ok(())
    }

    /// Reads to the end of a line. Returns whether there was one.
    fn read_line(&mut self) -> io::Result<bool> {
        loop {
            let new = match self.reader.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                new => new?,
            };
            if new.is_empty() {
                return Ok(false);
            }
            let end = new.iter().position(|byte| *byte == b'\n');
            let part = &new[..end.unwrap_or(new.len())];
            self.too_long |= self.line.len() + part.len() > LONGEST_LINE;
            if self.too_long {
                self.line.clear();
            } else {
                self.line.extend_from_slice(part);
            }
            let read = end.map_or(new.len(), |end| end + 1);
            self.reader.consume(read);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    fn end_line(&mut self, take: Take<'_>) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let whole = !std::mem::take(&mut self.too_long) && records(&mut self.joiner, &line, take)?;
        self.broken += u64::from(!whole);
        // Its memory serves the next line.
        self.line = line;
        self.line.clear();
        Ok(())
    }
}

/// Gives the records that a line completes to `take`. Returns whether it has nothing else.
fn records(joiner: &mut Joiner, line: &[u8], take: Take<'_>) -> io::Result<bool> {
    if line.trim_ascii().is_empty() {
        return Ok(true);
    }
    let text = String::from_utf8_lossy(line);
    let valid = matches!(text, Cow::Borrowed(_));
    if valid && joiner.line(text.trim(), take)? {
        return Ok(true);
    }
    let mut whole = valid;
    for part in parts(&text) {
        whole &= joiner.line(part, take)?;
    }
    Ok(whole)
}

/// Returns the line, divided before each beginning of a record.
pub fn parts(line: &str) -> Vec<&str> {
    let of = |start: &'static str| line.match_indices(start).map(|(at, _)| at);
    let mut starts: Vec<usize> = STARTS.into_iter().flat_map(of).collect();
    starts.sort_unstable();
    if starts.first() != Some(&0) {
        starts.insert(0, 0);
    }
    let ends = starts.iter().skip(1).copied().chain([line.len()]);
    let ranges = starts.iter().zip(ends);
    ranges
        .map(|(start, end)| line[*start..end].trim())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tempfile::NamedTempFile;

    use super::*;
    use crate::cli::record::Record;

    fn record(plugin: &str) -> String {
        format!(
            r#"{{"time":"2026-03-01T10:00:00.000001Z","command":"ADD","network":"n","plugin":"{plugin}","digest":"d","capability":"link","operation":"link.create","arguments":{{"text":"{{\"time\":\"x"}},"verdict":"allowed","answer":"ok"}}"#
        )
    }

    /// A log has records of these plugins, and so many lines that are none.
    #[track_caller]
    fn assert_read(text: impl AsRef<[u8]>, expected: &[&str], broken: u64) {
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(text.as_ref()).unwrap();
        let mut log = Log::open(file.path()).unwrap();
        let mut plugins = Vec::new();
        let mut take = |record: &Record| {
            plugins.push(record.subject.plugin.clone());
            Ok(())
        };
        log.read(&mut take).unwrap();
        log.finish(&mut take).unwrap();
        assert_eq!(plugins, expected);
        assert_eq!(log.broken(), broken);
    }

    #[test]
    fn whole_lines_with_and_without_an_end() {
        let (a, b) = (record("a"), record("b"));
        assert_read(format!("{a}\n\n{b}"), &["a", "b"], 0);
        // Only the end of the first line was cut.
        assert_read(format!("{a}{b}\n"), &["a", "b"], 0);
    }

    #[test]
    fn a_record_follows_one_that_was_cut_short_in_the_same_line() {
        let whole = record("a");
        for cut in 1..whole.len() {
            let text = format!("{}{}\n{}\n", &whole[..cut], record("b"), record("c"));
            assert_read(text, &["b", "c"], 1);
        }
    }

    #[test]
    fn what_is_no_record_is_counted() {
        let mut text = b"[1]\n\xff\xfe\nhello\n{\"time\":\"now\"}\n".to_vec();
        text.extend_from_slice(record("a").as_bytes());
        assert_read(text, &["a"], 4);
    }
}
