//! `weir audit`: the audit log for people.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

use super::output::Answer;
use crate::host::printable;
use crate::paths::Paths;

#[derive(Args)]
pub struct Arguments {
    /// Only this plugin's operations.
    #[arg(long, value_name = "NAME")]
    plugin: Option<String>,
    /// Only what was denied.
    #[arg(long)]
    denied: bool,
    /// Only this container's operations.
    #[arg(long, value_name = "ID")]
    container_id: Option<String>,
    /// The records as they stand in the log, as JSON Lines.
    #[arg(long)]
    json: bool,
}

/// Prints the records that pass the filters.
pub fn run(arguments: &Arguments) -> Result<Answer> {
    let path = Paths::from_environment().audit_log();
    let log = match File::open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Answer::Yes),
        log => log.with_context(|| format!("open `{}`", path.display()))?,
    };
    for line in BufReader::new(log).lines() {
        let line = line.with_context(|| format!("read `{}`", path.display()))?;
        // A line that a crash cut short is no record.
        let Ok(record) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        if !passes(arguments, &record) {
            continue;
        }
        match arguments.json {
            true => println!("{line}"),
            false => println!("{}", sentence(&record)),
        }
    }
    Ok(Answer::Yes)
}

fn passes(arguments: &Arguments, record: &Value) -> bool {
    let is = |key: &str, wanted: &Option<String>| {
        wanted
            .as_deref()
            .is_none_or(|wanted| record[key].as_str() == Some(wanted))
    };
    is("plugin", &arguments.plugin)
        && is("container_id", &arguments.container_id)
        && (!arguments.denied || record["verdict"] == "denied")
}

/// A record in one line.
pub fn sentence(record: &Value) -> String {
    let text = |key: &str| printable(record[key].as_str().unwrap_or_default());
    let time = text("time");
    let time = time.get(..19).unwrap_or(&time);
    let answer = match text("answer") {
        answer if answer == "ok" => String::new(),
        answer => format!(" - {answer}"),
    };
    format!(
        "{time} {:<7} {:<12} {:<5} {:<20} {}{answer}",
        text("verdict"),
        text("plugin"),
        text("command"),
        text("operation"),
        printable(&record["arguments"].to_string()),
    )
}
