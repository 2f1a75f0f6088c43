//! `weir plugin list`.

use anyhow::Result;
use serde::Serialize;
use serde_with::skip_serializing_none;
use weir_sandbox::{Listed, Loaded, Plugin, Provenance, Sandbox, survey_grants};

use crate::cli::output::{Answer, Format, say};

#[skip_serializing_none]
#[derive(Serialize)]
struct Line {
    name: String,
    built_in: bool,
    digest: Option<String>,
    /// Where it is from, who signed it, and its version; none for a built-in one.
    #[serde(flatten)]
    provenance: Option<Provenance>,
    /// The grants for it: `shipped`, or the administrator's files.
    grants: Vec<String>,
    /// Why it cannot be run, and what to do.
    error: Option<String>,
}

/// No if a plugin cannot be run.
pub fn run(sandbox: &Sandbox, format: Format) -> Result<Answer> {
    let listed = sandbox.catalogue().list()?;
    let grants = granted(sandbox);
    let lines: Vec<Line> = (listed.into_iter())
        .map(|one| line(sandbox, one, &grants))
        .collect();
    format.print(&lines, |lines| lines.iter().for_each(print))?;
    Ok(lines.iter().all(|line| line.error.is_none()).into())
}

/// The administrator's grants: plugins' names and files. Other commands report one that cannot be read.
fn granted(sandbox: &Sandbox) -> Vec<(String, String)> {
    let grants = survey_grants(sandbox.paths())
        .into_iter()
        .flatten()
        .flatten();
    let named = |loaded: Loaded| {
        let plugin = loaded.document.spec.plugin.name.clone();
        (plugin, loaded.origin.to_string())
    };
    grants.map(named).collect()
}

fn line(sandbox: &Sandbox, listed: Listed, grants: &[(String, String)]) -> Line {
    let grants = grants.iter().filter(|(plugin, _)| *plugin == listed.name);
    let whole = listed.plugin.and_then(|plugin| {
        if !plugin.is_built_in() {
            sandbox.check(&plugin)?;
        }
        Ok(plugin)
    });
    Line {
        provenance: whole.as_ref().ok().and_then(Plugin::provenance).cloned(),
        grants: grants.map(|(_, file)| file.clone()).collect(),
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
    if let Some(provenance) = &line.provenance {
        print_provenance(provenance);
        print_under("grant", &line.grants.join(", "));
    }
}

/// What is known of an installed plugin, below its line.
fn print_provenance(provenance: &Provenance) {
    print_under("version", provenance.version.as_deref().unwrap_or_default());
    let origin = provenance.origin.as_ref().or(provenance.uri.as_ref());
    print_under("origin", origin.map_or("", String::as_str));
    if let Some(uri) = &provenance.uri {
        print_under("uri", uri);
    }
    print_under("trusted", &provenance.trusted.to_string());
}

fn print_under(title: &str, text: &str) {
    let text = if text.is_empty() { "none" } else { text };
    say!("  {title:<10} {text}");
}
