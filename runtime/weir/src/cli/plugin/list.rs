//! `weir plugin list`.

use anyhow::Result;
use serde::Serialize;
use serde_with::skip_serializing_none;
use weir_sandbox::{Listed, Plugin, Sandbox};

use crate::cli::output::{Answer, Format, say};

#[skip_serializing_none]
#[derive(Serialize)]
struct Line {
    name: String,
    built_in: bool,
    digest: Option<String>,
    /// Why it cannot be run, and what to do.
    error: Option<String>,
}

/// No if a plugin cannot be run.
pub fn run(sandbox: &Sandbox, format: Format) -> Result<Answer> {
    let listed = sandbox.catalogue().list()?;
    let lines: Vec<Line> = listed.into_iter().map(|one| line(sandbox, one)).collect();
    format.print(&lines, |lines| lines.iter().for_each(print))?;
    Ok(lines.iter().all(|line| line.error.is_none()).into())
}

fn line(sandbox: &Sandbox, listed: Listed) -> Line {
    let whole = listed.plugin.and_then(|plugin| {
        if !plugin.is_built_in() {
            sandbox.check(&plugin)?;
        }
        Ok(plugin)
    });
    Line {
        name: listed.name,
        built_in: whole.as_ref().is_ok_and(Plugin::is_built_in),
        digest: whole.as_ref().ok().map(|plugin| plugin.digest.to_string()),
        error: whole.err().map(|e| format!("{}; {}", e.msg, e.details)),
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
