//! The records of a test: the audit log, and weir's own log.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use weir_files::Paths;

use crate::cli::record::{Joiner, Record, arguments};

#[derive(Serialize, Deserialize)]
pub struct Line {
    #[serde(default)]
    plugin: String,
    level: String,
    message: String,
    #[serde(default)]
    fields: Map<String, Value>,
    /// How often the line before came again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repeated: Option<u64>,
}

/// Returns a record in one line, with the plugin's name if it is not `plugin`'s.
pub fn sentence(record: &Record, plugin: &str) -> String {
    let mut sentence = format!("{:<7} ", record.verdict.word());
    if record.subject.plugin != plugin {
        sentence += &format!("{}: ", record.subject.plugin);
    }
    sentence += &format!("{} {}", record.operation, arguments(&record.arguments));
    if !record.rules.is_empty() {
        sentence += &format!("  [{}]", record.rules.join(", "));
    }
    if let Some(remark) = record.remark() {
        sentence += &format!(" - {remark}");
    }
    sentence
}

impl Line {
    pub fn is_of(&self, plugin: &str) -> bool {
        self.plugin == plugin
    }

    /// Returns the text of the message and the fields, with a space for each end of a line, which the log has escaped.
    pub fn in_one_line(&self) -> String {
        let fields = self.fields.values().filter_map(Value::as_str);
        let texts = [self.message.as_str()].into_iter().chain(fields);
        let lines = texts.flat_map(unescaped_lines);
        let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
        words.join(" ")
    }

    /// Returns a sentence for each line of the message; the last has the fields.
    pub fn sentences(&self) -> Vec<String> {
        if let Some(times) = self.repeated.filter(|times| *times > 1) {
            return vec![format!("log     {}: … {times} more", self.level)];
        }
        let lines = unescaped_lines(&self.message);
        let mut sentences: Vec<String> = lines
            .map(|line| format!("log     {}: {line}", self.level))
            .collect();
        if let Some(last) = sentences.last_mut().filter(|_| !self.fields.is_empty()) {
            *last += &format!(" ({})", arguments(&Value::Object(self.fields.clone())));
        }
        sentences
    }
}

/// The lines of a text in which weir has escaped their ends.
pub fn unescaped_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split("\\n")
}

/// The two logs of a node, read as they grow.
pub struct Logs {
    audit: Tail,
    joiner: Joiner,
    own: Tail,
}

impl Logs {
    /// Skips what the logs contain already.
    pub fn at_the_end(paths: &Paths) -> Result<Self> {
        let mut logs = Self {
            audit: Tail::of(paths.audit_log()),
            joiner: Joiner::default(),
            own: Tail::of(paths.log()),
        };
        logs.new_records()?;
        Ok(logs)
    }

    /// Returns the records and lines since the last call. Events are left out: the step says whether the plugin was
    /// run.
    pub fn new_records(&mut self) -> Result<(Vec<Record>, Vec<Line>)> {
        let mut records = Vec::new();
        let mut take = |record: &Record| {
            records.extend((!record.is_event()).then(|| record.clone()));
            Ok(())
        };
        for line in self.audit.read()?.lines() {
            self.joiner.line(line, &mut take)?;
        }
        let own = self.own.read()?;
        let lines = own.lines().map(serde_json::from_str);
        let lines = lines.collect::<serde_json::Result<_>>();
        let lines =
            lines.with_context(|| format!("read a line of `{}`", self.own.path.display()))?;
        Ok((records, lines))
    }
}

/// A log, which does not exist before its first line.
struct Tail {
    path: PathBuf,
    seen: usize,
}

impl Tail {
    fn of(path: PathBuf) -> Self {
        Self { path, seen: 0 }
    }

    /// The text since the last call.
    fn read(&mut self) -> Result<String> {
        let mut text = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(String::new()),
            text => text.with_context(|| format!("read `{}`", self.path.display()))?,
        };
        let new = text.split_off(self.seen.min(text.len()));
        self.seen += new.len();
        Ok(new)
    }
}
