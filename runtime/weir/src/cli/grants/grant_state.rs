//! The state of each grant of the node: in force, or why not.

use anyhow::{Result, anyhow};
use serde::Serialize;
use weir_files::Paths;
use weir_grant::Document;
use weir_grant::diagnostic::nearest;
use weir_grant::document::PluginReference;
use weir_grant::pattern::network_covers;
use weir_sandbox::{
    Broken, Fit, Loaded, Origin, Sandbox, Undecided, deciding, not_read, replaces, survey_grants,
};

use super::show_error;
use crate::cli::output::complain;
use crate::cli::outside::Outside;

/// Whether a grant has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    InForce,
    /// A shipped document; one of the administrator's has its name.
    Replaced,
    /// Earlier documents of the same plugin cover all of its networks.
    Shadowed,
    /// It covers no network.
    NoNetwork,
    /// This node does not have its plugin.
    NoPlugin,
    /// Its plugin is damaged, or is not what was installed on this node.
    Damaged,
    /// Another component is installed.
    OtherDigest,
    /// The same, and its own is kept for attachments that it made, which it checks and removes.
    ForKeptVersion,
    /// It has no digest, which only a built-in plugin does not need.
    NoDigest,
    /// It cannot be read: no plugin runs.
    Invalid,
    /// It would be in force if no other document were invalid.
    Stopped,
}

impl State {
    /// Returns the state in a column of a list.
    pub fn word(self) -> &'static str {
        match self {
            Self::InForce => "in force",
            Self::Replaced => "replaced",
            Self::Shadowed => "shadowed",
            Self::NoNetwork => "no network",
            Self::NoPlugin => "no plugin",
            Self::Damaged => "damaged",
            Self::OtherDigest => "other digest",
            Self::ForKeptVersion => "kept version",
            Self::NoDigest => "no digest",
            Self::Invalid => "invalid",
            Self::Stopped => "stopped",
        }
    }

    /// Whether a person should look at it. A shipped document is replaced on purpose.
    pub fn needs_fixing(self) -> bool {
        !matches!(
            self,
            Self::InForce | Self::ForKeptVersion | Self::Replaced | Self::NoNetwork | Self::Stopped
        )
    }

    /// Whether it decides on some network, even if it does not let the plugin run.
    pub fn decides(self) -> bool {
        !matches!(self, Self::Replaced | Self::Shadowed | Self::NoNetwork)
    }
}

/// A valid grant, and its state.
pub struct Grant {
    pub loaded: Loaded,
    pub state: State,
    /// Why it is not in force.
    pub because: Option<String>,
    /// The grants that replace or shadow it.
    pub by: Vec<Origin>,
}

impl Grant {
    pub fn plugin(&self) -> &str {
        &self.loaded.document.spec.plugin.name
    }

    /// Whether plugins run under it.
    pub fn is_in_force(&self) -> bool {
        self.state == State::InForce
    }
}

impl AsRef<Loaded> for Grant {
    fn as_ref(&self) -> &Loaded {
        &self.loaded
    }
}

/// Every grant of the node. Errors: one of the documents is not valid, and so no plugin runs.
pub fn grants(paths: &Paths) -> Result<Vec<Grant>> {
    let all = survey(paths)?.into_iter();
    all.map(|one| one.map_err(|broken| anyhow!(in_lines(&broken.error))))
        .collect()
}

/// What is wrong with a document, a line for each mistake.
fn in_lines(error: &weir_cni::Error) -> String {
    let lines = [error.msg.as_str()]
        .into_iter()
        .chain(error.details.lines());
    lines.collect::<Vec<_>>().join("\n  ")
}

/// Says that a plugin has no grant, and what to do; suggests a similar name that has one.
pub fn no_grant(plugin: &str, grants: &[Grant]) -> String {
    let granted: Vec<&str> = grants.iter().map(Grant::plugin).collect();
    let advice = format!("`weir grants new {plugin}` prints one to review");
    match nearest(plugin, &granted) {
        Some(meant) => {
            format!("plugin `{plugin}` has no grant; did you mean `{meant}`? If not, {advice}")
        }
        None => format!("plugin `{plugin}` has no grant: {advice}"),
    }
}

/// Returns the grant that decides for a plugin on a network; without a network the first one in force, or otherwise the
/// first that decides on any. Its state says whether the plugin runs under it.
pub fn applying<'a>(
    grants: &'a [Grant],
    plugin: &str,
    network: Option<&str>,
) -> Result<&'a Grant, Undecided<&'a Grant>> {
    let in_force = grants
        .iter()
        .find(|grant| grant.plugin() == plugin && grant.is_in_force());
    // What is in force names the digest of the component that is installed, if it names one.
    let component = in_force.and_then(|grant| grant.loaded.document.spec.plugin.digest.as_ref());
    if let Some(network) = network {
        return deciding(grants, plugin, component, |document| {
            document.covers_network(network)
        });
    }
    match in_force {
        Some(grant) => Ok(grant),
        None => deciding(grants, plugin, None, |document| {
            !document.spec.networks.is_empty()
        }),
    }
}

/// Every document of the node. Where one is not valid, none is in force.
pub fn survey(paths: &Paths) -> Result<Vec<Result<Grant, Broken>>> {
    let found = survey_grants(paths).map_err(show_error)?;
    let sandbox = Sandbox::new(paths.clone(), false).map_err(show_error)?;
    let valid: Vec<&Loaded> = found.iter().flatten().collect();
    let mut broken = found.iter().filter_map(|one| one.as_ref().err());
    let stopped =
        (broken.next()).map(|b| format!("`{}` is not valid, so no plugin runs", b.file.display()));
    let grant = |loaded: &Loaded| {
        let grant = judge(loaded, &valid, &sandbox);
        match &stopped {
            Some(because) if grant.is_in_force() => Grant {
                state: State::Stopped,
                because: Some(because.clone()),
                ..grant
            },
            _ => grant,
        }
    };
    let all = found
        .iter()
        .map(|one| one.as_ref().map(grant).map_err(Broken::clone));
    Ok(all.collect())
}

/// Says of a document that it is not valid, and what that means.
pub fn not_valid(broken: &Broken) -> String {
    let file = broken.file.display();
    format!("`{file}` is not valid: no plugin runs until it is fixed or removed")
}

/// Warns of files among the documents that are not read.
pub fn tell_not_read(paths: &Paths) -> Result<()> {
    for path in not_read(paths).map_err(show_error)? {
        complain(&format!("`{}`: {NOT_READ}", path.display()));
    }
    Ok(())
}

/// Why a file among the documents is not read.
pub const NOT_READ: &str =
    "weir does not read it: the name of a document ends in `.yaml`, `.yml` or `.json`";

fn judge(loaded: &Loaded, all: &[&Loaded], sandbox: &Sandbox) -> Grant {
    let grant = |state, because: Option<String>, by| Grant {
        loaded: loaded.clone(),
        state,
        because,
        by,
    };
    if let Some(by) = all.iter().find(|by| replaces(by, loaded)) {
        let because = format!("`{}` has the same name", by.origin);
        return grant(State::Replaced, Some(because), vec![by.origin.clone()]);
    }
    if loaded.document.spec.networks.is_empty() {
        let because = "`networks` is empty, so no network may use the plugin";
        return grant(State::NoNetwork, Some(because.to_owned()), Vec::new());
    }
    let by = deciding_instead(loaded, all, sandbox);
    if by.is_empty() {
        let (state, because) = against_plugin(&loaded.document, sandbox);
        return grant(state, because, by);
    }
    let origins: Vec<String> = by.iter().map(|by| format!("`{by}`")).collect();
    let (cover, come) = match by.len() {
        1 => ("covers", "comes"),
        _ => ("together cover", "come"),
    };
    let because = format!(
        "{} {cover} the same plugin and all of its networks, and {come} first",
        origins.join(" and ")
    );
    grant(State::Shadowed, Some(because), by)
}

/// The origins of the grants that decide on all of a grant's networks instead of it; empty if it decides on one.
fn deciding_instead(loaded: &Loaded, all: &[&Loaded], sandbox: &Sandbox) -> Vec<Origin> {
    let PluginReference {
        name: plugin,
        digest,
    } = &loaded.document.spec.plugin;
    // One that names a digest decides for that component, installed or kept.
    let installed = || {
        sandbox
            .catalogue()
            .find(plugin)
            .ok()
            .map(|plugin| plugin.digest)
    };
    let component = digest.clone().or_else(installed);
    let mut instead = Vec::new();
    for narrow in loaded.document.networks() {
        let covers = |document: &Document| {
            let mut globs = document.networks();
            globs.any(|wide| network_covers(&wide, &narrow))
        };
        match deciding(all.iter().copied(), plugin, component.as_ref(), covers) {
            Ok(first) if first.origin != loaded.origin => instead.push(first.origin.clone()),
            _ => return Vec::new(),
        }
    }
    let in_order = all.iter().map(|one| &one.origin);
    in_order
        .filter(|origin| instead.contains(origin))
        .cloned()
        .collect()
}

/// The state of a document that decides on a network, by its plugin, and why it is not in force.
fn against_plugin(document: &Document, sandbox: &Sandbox) -> (State, Option<String>) {
    let (name, paths) = (&document.spec.plugin.name, sandbox.paths());
    let plugin = match sandbox.catalogue().find(name) {
        Ok(plugin) => plugin,
        Err(error) if sandbox.catalogue().is_installed(name) => {
            return (State::Damaged, Some(in_full(error)));
        }
        Err(error) => {
            // If weir's own configuration cannot be read, another command reports it.
            let outside = Outside::of(paths, name).ok().flatten();
            let because = outside.map_or(error.msg, |outside| outside.to_string());
            return (State::NoPlugin, Some(because));
        }
    };
    match Fit::of(document, &plugin.digest, plugin.is_built_in()) {
        Fit::Fits | Fit::NotNeeded if plugin.is_built_in() => (State::InForce, None),
        // As its next invocation does.
        Fit::Fits | Fit::NotNeeded => match sandbox.check(&plugin) {
            Ok(()) => (State::InForce, None),
            Err(error) => (State::Damaged, Some(in_full(error))),
        },
        Fit::Other(granted) if sandbox.catalogue().keeps(name, &granted) => {
            let because =
                format!("it is for {granted}, which is kept for attachments that it made");
            (State::ForKeptVersion, Some(because))
        }
        Fit::Other(granted) => {
            let because = format!("it is for {granted}, but the plugin is {}", plugin.digest);
            (State::OtherDigest, Some(because))
        }
        Fit::Missing => {
            let because = format!("put `digest: {}` below `spec.plugin`", plugin.digest);
            (State::NoDigest, Some(because))
        }
    }
}

/// The error, and what to do.
fn in_full(error: weir_cni::Error) -> String {
    format!("{}; {}", error.msg, error.details)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cli::static_inside::put_static_inside;
    use tempfile::TempDir;

    /// A root with these grants, gone at the end.
    fn root_with(documents: &[String]) -> (TempDir, Paths) {
        put_static_inside();
        let root = TempDir::new().expect("a directory");
        let paths = Paths::below(root.path());
        fs::create_dir_all(paths.grants()).expect("a directory");
        for (index, document) in documents.iter().enumerate() {
            let file = paths.grants().join(format!("{index}.yaml"));
            fs::write(file, document).expect("a document");
        }
        (root, paths)
    }

    fn document(name: &str, plugin: &str, networks: &str, digest: Option<&str>) -> String {
        let digest = digest.map_or(String::new(), |digest| format!(", digest: {digest}"));
        format!(
            "{{ apiVersion: weir.dev/v1alpha1, kind: PluginGrant, metadata: {{ name: {name} }}, \
             spec: {{ plugin: {{ name: {plugin}{digest} }}, networks: {networks} }} }}"
        )
    }

    fn states(documents: &[String]) -> Vec<State> {
        let (_root, paths) = root_with(documents);
        let grants = grants(&paths).expect("valid");
        let own = grants.into_iter().take(documents.len());
        own.map(|grant| grant.state).collect()
    }

    #[test]
    fn documents_stand_in_each_others_way_only_where_they_cover_a_network() {
        let of = |networks: &str| document("mine", "static", networks, None);
        use State::{InForce, NoNetwork, Shadowed};
        for (documents, expected) in [
            (vec![of("['*']"), of("[blue]")], [InForce, Shadowed]),
            (vec![of("['*']"), of("[]")], [InForce, NoNetwork]),
            (vec![of("[]"), of("['*']")], [NoNetwork, InForce]),
            (vec![of("[blue]"), of("['*']")], [InForce, InForce]),
            (vec![of("[blue]"), of("[blue, green]")], [InForce, InForce]),
        ] {
            assert_eq!(states(&documents), expected, "{documents:?}");
        }
        // Each for its own version of a component.
        let version = |digit: &str| {
            let digest = format!("sha256:{}", digit.repeat(64));
            document("mine", "other", "['*']", Some(&digest))
        };
        let versions = [version("1"), version("2"), version("1")];
        assert_eq!(
            states(&versions),
            [State::NoPlugin, State::NoPlugin, Shadowed]
        );
        let three = [of("[blue]"), of("[green]"), of("[green, blue]")];
        assert_eq!(states(&three), [InForce, InForce, Shadowed]);
    }
}
