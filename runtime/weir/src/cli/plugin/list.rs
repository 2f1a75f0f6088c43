//! `weir plugin list`.

use anyhow::Result;
use serde::Serialize;
use serde_with::skip_serializing_none;
use weir_cni::Error;
use weir_grant::document::Digest;
use weir_sandbox::{KeptVersion, Listed, Loaded, Plugin, Provenance, Sandbox, survey_grants};

use crate::cli::number::counted;
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
    /// Replaced versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kept: Vec<KeptLine>,
}

/// A replaced version, which DEL and CHECK of the attachments that it made run, if a grant names its digest.
#[skip_serializing_none]
#[derive(Serialize)]
struct KeptLine {
    digest: Digest,
    #[serde(flatten)]
    provenance: Option<Provenance>,
    attachments: usize,
    grants: Vec<String>,
    error: Option<String>,
}

/// A grant of the administrator's.
struct Grant {
    plugin: String,
    /// The component that it names.
    digest: Option<Digest>,
    file: String,
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

/// The administrator's grants. Other commands report one that cannot be read.
fn granted(sandbox: &Sandbox) -> Vec<Grant> {
    let grants = survey_grants(sandbox.paths())
        .into_iter()
        .flatten()
        .flatten();
    let grant = |loaded: Loaded| {
        let plugin = &loaded.document.spec.plugin;
        Grant {
            plugin: plugin.name.clone(),
            digest: plugin.digest.clone(),
            file: loaded.origin.to_string(),
        }
    };
    grants.map(grant).collect()
}

fn line(sandbox: &Sandbox, listed: Listed, grants: &[Grant]) -> Line {
    let own = grants.iter().filter(|grant| grant.plugin == listed.name);
    let (of_kept, own): (Vec<&Grant>, Vec<&Grant>) = own.partition(|grant| {
        let mut kept = listed.kept_versions.iter();
        kept.any(|kept| grant.digest.as_ref() == Some(&kept.digest))
    });
    let whole = listed.plugin.and_then(|plugin| whole(sandbox, plugin));
    Line {
        provenance: whole.as_ref().ok().and_then(Plugin::provenance).cloned(),
        grants: own.iter().map(|grant| grant.file.clone()).collect(),
        name: listed.name,
        built_in: whole.as_ref().is_ok_and(Plugin::is_built_in),
        digest: whole.as_ref().ok().map(|plugin| plugin.digest.to_string()),
        error: whole.err().map(|e| text_of(&e)),
        kept: (listed.kept_versions.into_iter())
            .map(|kept| kept_line(sandbox, kept, &of_kept))
            .collect(),
    }
}

fn kept_line(sandbox: &Sandbox, kept: KeptVersion, grants: &[&Grant]) -> KeptLine {
    let whole = kept.plugin.and_then(|plugin| whole(sandbox, plugin));
    let own = grants
        .iter()
        .filter(|grant| grant.digest.as_ref() == Some(&kept.digest));
    KeptLine {
        provenance: whole.as_ref().ok().and_then(Plugin::provenance).cloned(),
        attachments: kept.attachments,
        grants: own.map(|grant| grant.file.clone()).collect(),
        error: whole.err().map(|e| text_of(&e)),
        digest: kept.digest,
    }
}

/// A plugin whose code is as it was installed.
fn whole(sandbox: &Sandbox, plugin: Plugin) -> Result<Plugin, Error> {
    if !plugin.is_built_in() {
        sandbox.check(&plugin)?;
    }
    Ok(plugin)
}

fn text_of(error: &Error) -> String {
    format!("{}; {}", error.msg, error.details)
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
    line.kept.iter().for_each(print_kept);
}

fn print_kept(kept: &KeptLine) {
    let attachments = counted(kept.attachments as u64, "attachment");
    print_under("kept", &format!("{} for {attachments}", kept.digest));
    let version = kept.provenance.as_ref().and_then(|p| p.version.as_deref());
    let lines = [
        ("version", version.unwrap_or_default()),
        ("grant", &kept.grants.join(", ")),
    ];
    for (title, text) in lines {
        print_under(&format!("  {title}"), text);
    }
    if let Some(error) = &kept.error {
        print_under("  unusable", error);
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
