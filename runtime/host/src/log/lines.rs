//! The lines that plugins and weir write to weir's log.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::SystemTime;

use serde::Serialize;
use serde_json::{Map, Value};
use weir_files::file_trust;
use weir_grant::text::printable;

/// Writes JSON Lines, one append each, up to the grant's limit.
pub struct Log {
    path: PathBuf,
    file: Option<File>,
    subject: Value,
    bytes_left: u64,
    dropped: u64,
    panic: Option<String>,
    last: Option<Written>,
}

/// A line of the plugin that was written, and how often it came again since.
struct Written {
    level: &'static str,
    message: String,
    fields: Vec<(String, String)>,
    repeated: u64,
}

/// The most characters of a panic's message that are kept.
const MOST_PANIC: usize = 4096;

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    level: &'static str,
    #[serde(flatten)]
    subject: &'a Value,
    message: &'a str,
    #[serde(skip_serializing_if = "Map::is_empty")]
    fields: Map<String, Value>,
    /// How often the same line came again before the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeated: Option<u64>,
}

impl Log {
    /// Makes a log that is opened when the first line is written. `subject` is an object whose members are in every
    /// line; `bytes` limits the total size of the plugin's lines.
    pub fn new(path: PathBuf, subject: Value, bytes: u64) -> Self {
        Self {
            path,
            file: None,
            subject,
            bytes_left: bytes,
            dropped: 0,
            panic: None,
            last: None,
        }
    }

    /// Keeps the beginning of a panic's message, even if the line is dropped.
    pub(crate) fn note_panic(&mut self, text: &str) {
        self.panic = Some(text.chars().take(MOST_PANIC).collect());
    }

    /// Returns the message of the plugin's last panic, if it logged one.
    pub fn panic(&self) -> Option<&str> {
        self.panic.as_deref()
    }

    /// Writes a line of the plugin, or counts it if it exceeds the limit, or is the same as the one before.
    pub fn write(&mut self, level: &'static str, message: &str, fields: &[(String, String)]) {
        let is_same = |last: &&mut Written| {
            last.level == level && last.message == message && last.fields == fields
        };
        if let Some(last) = self.last.as_mut().filter(is_same) {
            last.repeated += 1;
            return;
        }
        self.write_repeated();
        let line = self.line(level, message, fields, None);
        if !self.append_within_limit(&line) {
            self.dropped += 1;
            return;
        }
        self.last = Some(Written {
            level,
            message: message.to_owned(),
            fields: fields.to_vec(),
            repeated: 0,
        });
    }

    /// Writes the last line again, with how often it came, if it did.
    fn write_repeated(&mut self) {
        let Some(last) = self.last.take().filter(|last| last.repeated > 0) else {
            return;
        };
        let line = self.line(last.level, &last.message, &last.fields, Some(last.repeated));
        if !self.append_within_limit(&line) {
            self.dropped += last.repeated;
        }
    }

    /// Writes what the plugin has printed, as one line. If that exceeds the limit, each printed line is one, and the first
    /// ones are written.
    pub fn write_printed(&mut self, text: &str) {
        const LEVEL: &str = "info";
        self.write_repeated();
        let whole = self.line(LEVEL, text, &[], None);
        if !self.append_within_limit(&whole) {
            text.lines().for_each(|line| self.write(LEVEL, line, &[]));
        }
    }

    /// Writes a line, unless it exceeds the limit. Returns whether it has.
    fn append_within_limit(&mut self, line: &[u8]) -> bool {
        let left = self.bytes_left.checked_sub(line.len() as u64);
        if let Some(left) = left {
            self.bytes_left = left;
            self.append(line);
        }
        left.is_some()
    }

    /// Writes a line of the host, whatever the plugin has written.
    pub fn note(&mut self, level: &'static str, message: &str) {
        self.write_repeated();
        let line = self.line(level, message, &[], None);
        self.append(&line);
    }

    /// Writes what is left to write: how often the last line came, and how many lines were dropped.
    pub fn close(&mut self) {
        self.write_repeated();
        if self.dropped > 0 {
            let dropped = format!("{} lines exceeded the grant's `limits.log`", self.dropped);
            self.note("warn", &dropped);
            self.dropped = 0;
        }
    }

    fn line(
        &self,
        level: &'static str,
        message: &str,
        fields: &[(String, String)],
        repeated: Option<u64>,
    ) -> Vec<u8> {
        let line = Line {
            time: humantime::format_rfc3339_micros(SystemTime::now()).to_string(),
            level,
            subject: &self.subject,
            message: &printable(message),
            fields: fields
                .iter()
                .map(|(key, value)| (printable(key), printable(value).into()))
                .collect(),
            repeated,
        };
        let mut bytes = serde_json::to_vec(&line).expect("texts are JSON");
        bytes.push(b'\n');
        bytes
    }

    fn append(&mut self, line: &[u8]) {
        // If the log cannot be written, the container still gets its network.
        if self.file.is_none() {
            self.file = file_trust::open_log(&self.path, 0o640).ok();
        }
        if let Some(file) = &mut self.file {
            let _ = file.write_all(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_line_that_comes_again_is_counted() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("weir.log");
        let mut log = Log::new(path.clone(), serde_json::json!({}), 1024);
        for _ in 0..1000 {
            log.write("info", "the same", &[]);
        }
        log.write("warn", "the same", &[]);
        log.write("info", "another", &[("key".to_owned(), "value".to_owned())]);
        log.close();
        let written = fs::read_to_string(path).expect("a log");
        let lines: Vec<Value> = written
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        let shown: Vec<(&str, &str, Option<u64>)> = lines
            .iter()
            .map(|line| {
                let text = |key: &str| line[key].as_str().expect("text");
                (text("level"), text("message"), line["repeated"].as_u64())
            })
            .collect();
        let expected = [
            ("info", "the same", None),
            ("info", "the same", Some(999)),
            ("warn", "the same", None),
            ("info", "another", None),
        ];
        assert_eq!(shown, expected);
    }
}
