//! How each grant of the node stands, in force or why not; and which one applies.
//!
//! The sandbox asks [`Grants::covering`](weir_sandbox::Grants::covering), which knows only of what is
//! in force. People ask here, and a test holds the two answers together.

use anyhow::{Result, bail};
use serde::Serialize;
use weir_files::Paths;
use weir_grant::Document;
use weir_grant::diagnostic::nearest;
use weir_grant::pattern::network_covers;
use weir_sandbox::{Catalogue, Fit, Found, Origin, Sandbox, not_read, survey_grants};

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
    /// It is about a plugin that this node does not have.
    NoPlugin,
    /// Its plugin is damaged, or is not what was installed on this node.
    Damaged,
    /// It is for another component than the one that is installed.
    OtherDigest,
    /// It names no digest, which a plugin that is not built in needs.
    NoDigest,
    /// It cannot be read: no plugin runs.
    Invalid,
    /// It would be in force, but for one that cannot be read.
    Stopped,
}

impl State {
    /// The state in a column of a list.
    pub fn word(self) -> &'static str {
        match self {
            Self::InForce => "in force",
            Self::Replaced => "replaced",
            Self::Shadowed => "shadowed",
            Self::NoNetwork => "no network",
            Self::NoPlugin => "no plugin",
            Self::Damaged => "damaged",
            Self::OtherDigest => "other digest",
            Self::NoDigest => "no digest",
            Self::Invalid => "invalid",
            Self::Stopped => "stopped",
        }
    }

    /// Whether somebody should look at it: a shipped document is replaced on purpose.
    pub fn needs_mending(self) -> bool {
        !matches!(
            self,
            Self::InForce | Self::Replaced | Self::NoNetwork | Self::Stopped
        )
    }

    /// Whether it is what an invocation asks on some network, be it to be told that it does not run.
    pub fn is_asked(self) -> bool {
        !matches!(self, Self::Replaced | Self::Shadowed | Self::NoNetwork)
    }
}

/// A document, valid or not, and how it stands.
pub struct SurveyedGrant {
    pub origin: Origin,
    pub document: Result<Document, weir_cni::Error>,
    pub state: State,
    /// Why it is not in force.
    pub because: Option<String>,
    /// The origins of what it keeps from being in force.
    pub shadows: Vec<String>,
    pub built_in: bool,
}

impl SurveyedGrant {
    /// The plugin that it is about, where it can be read.
    pub fn plugin(&self) -> Option<&str> {
        let document = self.document.as_ref().ok()?;
        Some(&document.spec.plugin.name)
    }
}

/// A valid grant, and how it stands.
pub struct Grant {
    pub document: Document,
    pub origin: Origin,
    pub state: State,
    /// Why it is not in force.
    pub because: Option<String>,
}

impl Grant {
    /// Whether it is about a plugin.
    pub fn is_of(&self, plugin: &str) -> bool {
        self.document.spec.plugin.name == plugin
    }

    /// Whether plugins run under it.
    pub fn is_in_force(&self) -> bool {
        self.state == State::InForce
    }
}

/// The globs of the networks that a document covers.
pub fn networks(document: &Document) -> Vec<String> {
    let networks = document.spec.networks.iter().cloned();
    networks.map(String::from).collect()
}

/// Every grant of the node, where all are valid.
///
/// Errors: one is not, and so no plugin runs.
pub fn grants(paths: &Paths) -> Result<Vec<Grant>> {
    let mut grants = Vec::new();
    for one in survey(paths)? {
        match one.document {
            Ok(document) => grants.push(Grant {
                document,
                origin: one.origin,
                state: one.state,
                because: one.because,
            }),
            Err(error) => bail!(invalid(&error)),
        }
    }
    Ok(grants)
}

/// What is wrong with a document, a line for each mistake, in its own words.
fn invalid(error: &weir_cni::Error) -> String {
    let lines = [error.msg.as_str()]
        .into_iter()
        .chain(error.details.lines());
    lines.collect::<Vec<_>>().join("\n  ")
}

/// That a plugin has no grant, and what to do; one of the plugins that have may be meant.
pub fn no_grant<'a>(plugin: &str, granted: impl Iterator<Item = &'a str>) -> String {
    let granted: Vec<&str> = granted.collect();
    let advice = format!("`weir grants new {plugin}` prints one to review");
    match nearest(plugin, &granted) {
        Some(meant) => {
            format!("plugin `{plugin}` has no grant; did you mean `{meant}`? If not, {advice}")
        }
        None => format!("plugin `{plugin}` has no grant: {advice}"),
    }
}

/// The grant that is asked for a plugin on a network: the first one that covers it. Where nobody said
/// on which, the first one in force, or else the first. Whether the plugin runs under it is its state.
pub fn applying<'a>(grants: &'a [Grant], plugin: &str, network: Option<&str>) -> Option<&'a Grant> {
    let asked = |grant: &&Grant| grant.is_of(plugin) && grant.state.is_asked();
    let mut of_plugin = grants.iter().filter(asked);
    match network {
        Some(network) => of_plugin.find(|grant| grant.document.covers_network(network)),
        None => {
            let first = of_plugin.clone().next();
            of_plugin.find(|grant| grant.is_in_force()).or(first)
        }
    }
}

/// Every document of the node.
pub fn survey(paths: &Paths) -> Result<Vec<SurveyedGrant>> {
    let found = survey_grants(paths).map_err(show_error)?;
    let sandbox = Sandbox::new(paths.clone(), false).map_err(show_error)?;
    let catalogue = sandbox.catalogue();
    let mut all: Vec<SurveyedGrant> = Vec::new();
    for (index, one) in found.iter().enumerate() {
        let verdict = judge(one, &found[..index], &sandbox);
        for by in verdict.by {
            all[by].shadows.push(one.origin.to_string());
        }
        let plugin = one.document.as_ref().ok().map(|d| &d.spec.plugin.name);
        let built_in = plugin.is_some_and(|name| is_built_in(catalogue, name));
        all.push(SurveyedGrant {
            origin: one.origin.clone(),
            document: one.document.clone(),
            state: verdict.state,
            because: verdict.because,
            shadows: Vec::new(),
            built_in,
        });
    }
    stop(&mut all);
    Ok(all)
}

/// Where one document is not valid, none is in force.
fn stop(all: &mut [SurveyedGrant]) {
    let Some(broken) = all.iter().find(|one| one.state == State::Invalid) else {
        return;
    };
    let because = format!("`{}` is not valid, so no plugin runs", broken.origin);
    for one in all.iter_mut().filter(|one| one.state == State::InForce) {
        one.state = State::Stopped;
        one.because = Some(because.clone());
    }
}

/// Tells of what stands among the documents and is none.
pub fn tell_not_read(paths: &Paths) -> Result<()> {
    for path in not_read(paths).map_err(show_error)? {
        complain(&format!("`{}`: {NOT_READ}", path.display()));
    }
    Ok(())
}

/// Why a file among the documents is not read.
pub const NOT_READ: &str =
    "weir does not read it: the name of a document ends in `.yaml`, `.yml` or `.json`";

/// Whether a plugin is inside the binary.
pub fn is_built_in(catalogue: &Catalogue, plugin: &str) -> bool {
    catalogue.find(plugin).is_ok_and(|p| p.is_built_in())
}

/// How a grant stands, why, and the indices of those that stand before it.
struct Verdict {
    state: State,
    because: Option<String>,
    by: Vec<usize>,
}

impl Verdict {
    fn new(state: State, because: impl Into<Option<String>>) -> Self {
        Self {
            state,
            because: because.into(),
            by: Vec::new(),
        }
    }
}

fn judge(one: &Found, earlier: &[Found], sandbox: &Sandbox) -> Verdict {
    let document = match &one.document {
        Ok(document) => document,
        Err(error) => return Verdict::new(State::Invalid, error.msg.clone()),
    };
    if let Some(by) = earlier.iter().position(|e| replaces(e, one, document)) {
        let because = format!("`{}` has the same name", earlier[by].origin);
        let by = vec![by];
        return Verdict {
            by,
            ..Verdict::new(State::Replaced, because)
        };
    }
    if document.spec.networks.is_empty() {
        let because = "`networks` is empty, so no network may use the plugin";
        return Verdict::new(State::NoNetwork, because.to_owned());
    }
    if let Some(by) = shadowing(document, earlier) {
        let origins = by.iter().map(|by| format!("`{}`", earlier[*by].origin));
        let origins = origins.collect::<Vec<_>>().join(" and ");
        let because = match by.len() {
            1 => {
                format!("{origins} covers the same plugin and all of its networks, and comes first")
            }
            _ => format!(
                "{origins} together cover the same plugin and all of its networks, and come first"
            ),
        };
        return Verdict {
            by,
            ..Verdict::new(State::Shadowed, because)
        };
    }
    against_plugin(document, sandbox)
}

/// A document of the administrator's with a shipped one's name.
fn replaces(earlier: &Found, one: &Found, document: &Document) -> bool {
    let name = earlier.document.as_ref().map(|d| &d.metadata.name);
    one.origin == Origin::Shipped
        && earlier.origin != Origin::Shipped
        && name == Ok(&document.metadata.name)
}

/// The earlier documents of the plugin that cover all networks of a document: no network is left on which
/// it is the first.
fn shadowing(document: &Document, earlier: &[Found]) -> Option<Vec<usize>> {
    let covers = |index: &usize, narrow: &str| {
        let Ok(first) = &earlier[*index].document else {
            return false;
        };
        let is_replaced = earlier[..*index]
            .iter()
            .any(|e| replaces(e, &earlier[*index], first));
        first.spec.plugin.name == document.spec.plugin.name
            && !is_replaced
            && networks(first)
                .iter()
                .any(|wide| network_covers(wide, narrow))
    };
    let globs = networks(document);
    let of_glob = globs
        .iter()
        .map(|glob| (0..earlier.len()).find(|index| covers(index, glob)));
    let mut by = of_glob.collect::<Option<Vec<usize>>>()?;
    by.sort_unstable();
    by.dedup();
    Some(by)
}

fn against_plugin(document: &Document, sandbox: &Sandbox) -> Verdict {
    let (name, paths) = (&document.spec.plugin.name, sandbox.paths());
    let plugin = match sandbox.catalogue().find(name) {
        Ok(plugin) => plugin,
        Err(error) if sandbox.catalogue().is_installed(name) => {
            return Verdict::new(State::Damaged, in_full(error));
        }
        Err(error) => {
            // Where weir's own configuration cannot be read, another command tells of it.
            let outside = Outside::of(paths, name).ok().flatten();
            let because = outside.map_or(error.msg, |outside| outside.to_string());
            return Verdict::new(State::NoPlugin, because);
        }
    };
    match Fit::of(document, &plugin.digest, plugin.is_built_in()) {
        Fit::Fits | Fit::NotNeeded if plugin.is_built_in() => Verdict::new(State::InForce, None),
        // As its next invocation would find out.
        Fit::Fits | Fit::NotNeeded => match sandbox.check(&plugin) {
            Ok(()) => Verdict::new(State::InForce, None),
            Err(error) => Verdict::new(State::Damaged, in_full(error)),
        },
        Fit::Other(granted) => {
            let because = format!("it is for {granted}, but the plugin is {}", plugin.digest);
            Verdict::new(State::OtherDigest, because)
        }
        Fit::Missing => {
            let because = format!("put `digest: {}` below `spec.plugin`", plugin.digest);
            Verdict::new(State::NoDigest, because)
        }
    }
}

/// What is wrong, and what to do.
fn in_full(error: weir_cni::Error) -> String {
    format!("{}; {}", error.msg, error.details)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;
    use weir_sandbox::Grants;

    use super::*;
    use crate::cli::static_inside::put_static_inside;

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
        let three = [of("[blue]"), of("[green]"), of("[green, blue]")];
        assert_eq!(states(&three), [InForce, InForce, Shadowed]);
    }

    /// What people are told is what the sandbox does.
    #[test]
    fn the_grant_that_applies_is_the_sandboxs() {
        let other = format!("sha256:{}", "4".repeat(64));
        let candidates = [
            document("a", "static", "[blue]", None),
            document("b", "static", "['*']", Some(&other)),
            document("static", "static", "[]", None),
            document("static", "loopback", "['bl*']", None),
            document("c", "static", "[green, blue]", None),
        ];
        let mut denied = 0;
        for chosen in 0..1 << candidates.len() {
            let documents: Vec<String> = candidates
                .iter()
                .enumerate()
                .filter(|(index, _)| chosen & (1 << index) != 0)
                .map(|(_, document)| document.clone())
                .collect();
            let (_root, paths) = root_with(&documents);
            let all = grants(&paths).expect("valid");
            let loaded = Grants::load(&paths).expect("valid");
            let plugin = Catalogue::new(&paths).find("static").expect("built in");
            for network in ["blue", "green", "red"] {
                let told = applying(&all, "static", Some(network));
                let told = told.filter(|grant| grant.is_in_force());
                let done = loaded.covering(&plugin, network).ok();
                denied += u32::from(done.is_none());
                assert_eq!(
                    told.map(|grant| (&grant.origin, &grant.document)),
                    done.as_ref().map(|l| (&l.origin, &l.document)),
                    "{network}: {documents:#?}"
                );
            }
        }
        assert!(denied > 10, "{denied}");
    }
}
