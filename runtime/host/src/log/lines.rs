//! The lines that plugins and the host write into weir's log.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::SystemTime;

use serde::Serialize;
use serde_json::{Map, Value};
use weir_files::file_trust;
use weir_gate::misleads;

/// Writes JSON Lines, one append each, until the grant's bound is used up.
pub struct Log {
    path: PathBuf,
    file: Option<File>,
    subject: Value,
    bytes_left: u64,
    dropped: u64,
}

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    level: &'static str,
    #[serde(flatten)]
    subject: &'a Value,
    message: &'a str,
    #[serde(skip_serializing_if = "Map::is_empty")]
    fields: Map<String, Value>,
}

impl Log {
    /// A log that is opened with its first line. `subject` is an object whose members stand in
    /// every line; `bytes` bounds the plugin's lines, with all that stands in them.
    pub fn new(path: PathBuf, subject: Value, bytes: u64) -> Self {
        Self {
            path,
            file: None,
            subject,
            bytes_left: bytes,
            dropped: 0,
        }
    }

    /// Writes a line of the plugin's, or counts it when the bound is used up.
    pub fn write(&mut self, level: &'static str, message: &str, fields: &[(String, String)]) {
        let line = self.line(level, message, fields);
        match self.bytes_left.checked_sub(line.len() as u64) {
            Some(left) => {
                self.bytes_left = left;
                self.append(&line);
            }
            None => self.dropped += 1,
        }
    }

    /// Writes a line of the host's own, which no plugin's flood can keep out.
    pub fn note(&mut self, level: &'static str, message: &str) {
        let line = self.line(level, message, &[]);
        self.append(&line);
    }

    /// Says how many lines were dropped, where any were.
    pub fn close(&mut self) {
        if self.dropped > 0 {
            let dropped = format!(
                "{} lines did not fit the grant's limit for the log",
                self.dropped
            );
            self.note("warn", &dropped);
            self.dropped = 0;
        }
    }

    fn line(&self, level: &'static str, message: &str, fields: &[(String, String)]) -> Vec<u8> {
        let line = Line {
            time: humantime::format_rfc3339_micros(SystemTime::now()).to_string(),
            level,
            subject: &self.subject,
            message: &printable(message),
            fields: fields
                .iter()
                .map(|(key, value)| (printable(key), printable(value).into()))
                .collect(),
        };
        let mut bytes = serde_json::to_vec(&line).expect("texts are JSON");
        bytes.push(b'\n');
        bytes
    }

    fn append(&mut self, line: &[u8]) {
        // A log that cannot be written must not keep a container from its network.
        if self.file.is_none() {
            self.file = file_trust::open_log(&self.path, 0o640).ok();
        }
        if let Some(file) = &mut self.file {
            let _ = file.write_all(line);
        }
    }
}

/// Text without characters that drive the terminal in which it is read, or turn its direction.
pub fn printable(text: &str) -> String {
    let escape = |c: char| match c {
        c if misleads(c) => c.escape_default().collect::<String>(),
        c => c.to_string(),
    };
    if text.chars().any(misleads) {
        text.chars().map(escape).collect()
    } else {
        text.to_owned()
    }
}
