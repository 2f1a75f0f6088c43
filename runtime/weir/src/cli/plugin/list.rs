//! `weir plugin list`.

use anyhow::Result;
use serde::Serialize;
use serde_with::skip_serializing_none;
use weir_cni::Error;
use weir_grant::document::Digest;
use weir_sandbox::{KeptVersion, Listed, Plugin, Provenance, Sandbox};

use crate::cli::grants::grant_state::{self, Grant, State};
use crate::cli::number::counted;
use crate::cli::output::{Answer, Format, complain, say};

#[skip_serializing_none]
#[derive(Serialize)]
struct Line {
    name: String,
    built_in: bool,
    digest: Option<String>,
    /// Where it is from, who signed it, and its version; none for a built-in one.
    #[serde(flatten)]
    provenance: Option<Provenance>,
    /// The grants for it, whatever component they name, except those of the kept versions.
    grants: Vec<GrantLine>,
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
    /// Those that name its digest.
    grants: Vec<GrantLine>,
    error: Option<String>,
}

/// A grant, and whether it applies.
#[skip_serializing_none]
#[derive(Serialize)]
struct GrantLine {
    /// `shipped`, or the administrator's file.
    from: String,
    state: State,
    because: Option<String>,
}

/// The node's documents.
struct Grants {
    valid: Vec<Grant>,
    /// Whether one is not valid: then no plugin runs.
    are_stopped: bool,
}

/// No if a plugin cannot be run, or a grant cannot be read.
pub fn run(sandbox: &Sandbox, format: Format) -> Result<Answer> {
    let listed = sandbox.catalogue().list()?;
    let grants = grants(sandbox);
    let lines: Vec<Line> = (listed.into_iter())
        .map(|one| line(sandbox, one, &grants))
        .collect();
    format.print(&lines, |lines| lines.iter().for_each(print))?;
    let is_usable = lines.iter().all(Line::is_usable);
    Ok((is_usable && !grants.are_stopped).into())
}

/// The grants; says on standard error which cannot be read.
fn grants(sandbox: &Sandbox) -> Grants {
    let all = match grant_state::survey(sandbox.paths()) {
        Ok(all) => all,
        Err(error) => {
            complain(&format!("no grant can be read, so no plugin runs: {error}"));
            return Grants {
                valid: Vec::new(),
                are_stopped: true,
            };
        }
    };
    let are_stopped = all.iter().any(Result::is_err);
    for broken in all.iter().filter_map(|one| one.as_ref().err()) {
        complain(&grant_state::not_valid(broken));
    }
    Grants {
        valid: all.into_iter().flatten().collect(),
        are_stopped,
    }
}

fn line(sandbox: &Sandbox, mut listed: Listed, grants: &Grants) -> Line {
    // Who went back to a version that is kept has it twice.
    if let Ok(plugin) = &listed.plugin {
        listed
            .kept_versions
            .retain(|kept| kept.digest != plugin.digest);
    }
    let kept = &listed.kept_versions;
    let is_of_kept = |grant: &&Grant| kept.iter().any(|kept| names(grant, &kept.digest));
    let own = grants.of(&listed.name).filter(|grant| !is_of_kept(grant));
    let own = own.map(|grant| grant_line(grant, grant.state)).collect();
    let plugin = &listed.plugin;
    Line {
        provenance: plugin.as_ref().ok().and_then(Plugin::provenance).cloned(),
        grants: own,
        built_in: plugin.as_ref().is_ok_and(Plugin::is_built_in),
        digest: plugin.as_ref().ok().map(|plugin| plugin.digest.to_string()),
        error: why_unusable(sandbox, plugin),
        kept: (listed.kept_versions.into_iter())
            .map(|kept| kept_line(sandbox, &listed.name, kept, grants))
            .collect(),
        name: listed.name,
    }
}

fn kept_line(sandbox: &Sandbox, name: &str, kept: KeptVersion, grants: &Grants) -> KeptLine {
    let plugin = &kept.plugin;
    let own = grants
        .of(name)
        .filter(|grant| names(grant, &kept.digest))
        .map(|grant| grant_line(grant, grants.for_kept(grant)));
    KeptLine {
        provenance: plugin.as_ref().ok().and_then(Plugin::provenance).cloned(),
        attachments: kept.attachments,
        grants: own.collect(),
        error: why_unusable(sandbox, plugin),
        digest: kept.digest,
    }
}

impl Line {
    fn is_usable(&self) -> bool {
        self.error.is_none() && self.kept.iter().all(|kept| kept.error.is_none())
    }
}

impl Grants {
    fn of(&self, plugin: &str) -> impl Iterator<Item = &Grant> {
        self.valid.iter().filter(move |one| one.plugin() == plugin)
    }

    /// The state of a grant for the kept version whose digest it names; its own is that for the installed one.
    fn for_kept(&self, grant: &Grant) -> State {
        match grant.state {
            state if !state.decides() => state,
            _ if self.are_stopped => State::Stopped,
            _ => State::InForce,
        }
    }
}

fn names(grant: &Grant, component: &Digest) -> bool {
    grant.loaded.document.spec.plugin.digest.as_ref() == Some(component)
}

fn grant_line(grant: &Grant, state: State) -> GrantLine {
    GrantLine {
        from: grant.loaded.origin.to_string(),
        state,
        because: grant.because.clone().filter(|_| state != State::InForce),
    }
}

/// Why a plugin cannot be run: what is recorded of it cannot be read, or its files are not as they were installed.
fn why_unusable(sandbox: &Sandbox, plugin: &Result<Plugin, Error>) -> Option<String> {
    let error = match plugin {
        Ok(plugin) if plugin.is_built_in() => return None,
        Ok(plugin) => sandbox.check(plugin).err()?,
        Err(error) => error.clone(),
    };
    Some(format!("{}; {}", error.msg, error.details))
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
    }
    print_under("grant", &in_words(&line.grants));
    if let Some(error) = line.error.as_ref().filter(|_| line.digest.is_some()) {
        print_under("error", error);
    }
    line.kept.iter().for_each(print_kept);
}

fn print_kept(kept: &KeptLine) {
    let attachments = counted(kept.attachments as u64, "attachment");
    print_under("kept", &format!("{} for {attachments}", kept.digest));
    let version = kept.provenance.as_ref().and_then(|p| p.version.as_deref());
    let lines = [
        ("version", version.unwrap_or_default()),
        ("grant", &in_words(&kept.grants)),
    ];
    for (title, text) in lines {
        print_under(&format!("  {title}"), text);
    }
    if let Some(error) = &kept.error {
        print_under("  error", error);
    }
}

/// `shipped (replaced), /etc/weir/grants/bridge.yaml`
fn in_words(grants: &[GrantLine]) -> String {
    let word = |grant: &GrantLine| match grant.state {
        State::InForce => grant.from.clone(),
        state => format!("{} ({})", grant.from, state.word()),
    };
    grants.iter().map(word).collect::<Vec<_>>().join(", ")
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
