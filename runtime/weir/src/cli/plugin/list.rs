//! `weir plugin list`.

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use weir_sandbox::{Listed, Plugin, Sandbox};

use crate::cli::output::{Answer, Format, say};

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    format: Format,
}

/// A line of the list.
#[derive(Serialize)]
struct Line {
    name: String,
    built_in: bool,
    /// Of a plugin that is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// What is wrong with one that is not, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// No where a plugin cannot be run.
pub fn run(sandbox: &Sandbox, arguments: &Arguments) -> Result<Answer> {
    let listed = sandbox.catalogue().list()?;
    let lines: Vec<Line> = listed.into_iter().map(|one| line(sandbox, one)).collect();
    arguments
        .format
        .print(&lines, |lines| lines.iter().for_each(print))?;
    Ok(if lines.iter().all(|line| line.error.is_none()) {
        Answer::Yes
    } else {
        Answer::No
    })
}

fn line(sandbox: &Sandbox, listed: Listed) -> Line {
    let whole = listed.plugin.and_then(|plugin| {
        // A part of this program.
        if plugin.is_built_in() {
            return Ok(plugin);
        }
        sandbox.check(&plugin).map(|()| plugin)
    });
    Line {
        name: listed.name,
        built_in: whole.as_ref().is_ok_and(Plugin::is_built_in),
        digest: whole.as_ref().ok().map(|plugin| plugin.digest.to_string()),
        error: whole
            .err()
            .map(|error| format!("{}; {}", error.msg, error.details)),
    }
}

fn print(line: &Line) {
    let name = &line.name;
    let place = match (line.built_in, &line.error) {
        (true, _) => "built in",
        (false, None) => "installed",
        (false, Some(_)) => "unusable",
    };
    let rest = line.digest.as_ref().or(line.error.as_ref());
    say!("{name:<16} {place:<10} {}", rest.map_or("", String::as_str));
}
