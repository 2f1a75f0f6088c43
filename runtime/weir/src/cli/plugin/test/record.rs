//! What plugins did, from the audit log, and what they said, from weir's log.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use weir_files::Paths;

use crate::cli::record::{Log, Record, arguments};

/// A line of weir's log.
#[derive(Serialize, Deserialize)]
pub struct Line {
    #[serde(default)]
    plugin: String,
    level: String,
    message: String,
    #[serde(default)]
    fields: Map<String, Value>,
}

/// A record in one line, with whose it is where it is not `plugin`'s.
pub fn sentence(record: &Record, plugin: &str) -> String {
    let by = if record.rules.is_empty() {
        String::new()
    } else {
        format!("  [{}]", record.rules.join(", "))
    };
    let answer = record.remark().map(|remark| format!(" - {remark}"));
    let answer = answer.unwrap_or_default();
    let whose = if record.plugin == plugin {
        String::new()
    } else {
        format!("{}: ", record.plugin)
    };
    format!(
        "{:<7} {whose}{} {}{by}{answer}",
        record.verdict.word(),
        record.operation,
        arguments(&record.arguments)
    )
}

impl Line {
    pub fn is_of(&self, plugin: &str) -> bool {
        self.plugin == plugin
    }

    pub fn sentence(&self) -> String {
        let fields = if self.fields.is_empty() {
            String::new()
        } else {
            format!(" ({})", arguments(&Value::Object(self.fields.clone())))
        };
        format!("log     {}: {}{fields}", self.level, self.message)
    }
}

/// The two logs of a node, read as they grow.
pub struct Logs {
    audit: AuditTail,
    own: Tail,
}

impl Logs {
    /// What stands in them already is passed over.
    pub fn at_the_end(paths: &Paths) -> Result<Self> {
        let mut audit = AuditTail {
            path: paths.audit_log(),
            log: None,
        };
        audit.read()?;
        Ok(Self {
            audit,
            own: Tail::at_the_end(paths.log())?,
        })
    }

    /// What has come since it was asked last.
    pub fn new_records(&mut self) -> Result<(Vec<Record>, Vec<Line>)> {
        Ok((self.audit.read()?, self.own.read()?))
    }
}

/// The audit log, which is there with its first record.
struct AuditTail {
    path: PathBuf,
    log: Option<Log>,
}

impl AuditTail {
    fn read(&mut self) -> Result<Vec<Record>> {
        let shown = || format!("read `{}`", self.path.display());
        if self.log.is_none() {
            self.log = match Log::open(&self.path) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
                log => Some(log.with_context(shown)?),
            };
        }
        let mut records = Vec::new();
        if let Some(log) = &mut self.log {
            log.read(&mut |record| {
                // Whether it was run, and under which grant, the step tells.
                records.extend((!record.is_event()).then(|| record.clone()));
                Ok(())
            })
            .with_context(shown)?;
        }
        Ok(records)
    }
}

/// weir's own log: JSON Lines as well.
struct Tail {
    path: PathBuf,
    seen: usize,
}

impl Tail {
    fn at_the_end(path: PathBuf) -> Result<Self> {
        let seen = text(&path)?.len();
        Ok(Self { path, seen })
    }

    fn read(&mut self) -> Result<Vec<Line>> {
        let text = text(&self.path)?;
        let new = text.get(self.seen..).unwrap_or_default();
        self.seen = text.len();
        let lines = new.lines().map(serde_json::from_str);
        lines
            .collect::<serde_json::Result<_>>()
            .with_context(|| format!("read a line of `{}`", self.path.display()))
    }
}

/// One that nothing was written to is not there.
fn text(path: &Path) -> Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        text => text.with_context(|| format!("read `{}`", path.display())),
    }
}
