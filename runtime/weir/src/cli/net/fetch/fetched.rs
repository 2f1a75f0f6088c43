//! The outcome of a URI, for people and programs.

use serde::Serialize;
use weir_sandbox::{Plugin, Provenance};

use super::wanted::Wanted;
use crate::cli::output::{print_list, say};
use crate::cli::plugin::coverage::Coverage;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// It is new on this node.
    Fetched,
    /// It is another component than before.
    Updated,
    /// It is the same component, installed again.
    Repaired,
    /// Nothing was to be done.
    Kept,
}

#[derive(Serialize)]
pub struct Fetched {
    pub state: State,
    pub networks: Vec<String>,
    /// The plugin's name on this node, by which grants know it.
    pub name: String,
    pub digest: String,
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Of what was installed.
    #[serde(flatten)]
    pub coverage: Option<Coverage>,
    /// Of all networks that name the URI, those which no grant in force covers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_covered: Vec<String>,
    /// Why the grants are unknown, of what was not installed now: they cannot be read, and then no plugin runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Fetched {
    /// One that stays as it is.
    pub fn kept(
        plugin: &Plugin,
        wanted: &Wanted,
        (not_covered, error): (Vec<String>, Option<String>),
    ) -> Self {
        Self {
            state: State::Kept,
            networks: wanted.networks.clone(),
            name: plugin.name.clone(),
            digest: plugin.digest.to_string(),
            provenance: plugin.provenance().cloned().unwrap_or_default(),
            coverage: None,
            not_covered,
            error,
        }
    }

    pub fn print(&self) {
        let Self {
            name,
            digest,
            provenance,
            ..
        } = self;
        let did = match self.state {
            State::Fetched => "fetched",
            State::Updated => "updated",
            State::Repaired => "repaired",
            State::Kept => "kept",
        };
        let uri = provenance.uri.as_deref().unwrap_or_default();
        let trusted = &provenance.trusted;
        say!("{did} plugin {name}, {digest}, {trusted}");
        print_list("uri", [uri]);
        print_list("networks", [self.networks.join(", ")]);
        if let Some(coverage) = &self.coverage {
            coverage.print(name);
        }
        if let Some(error) = &self.error {
            print_list("grant", error.lines());
        }
        if let Some(advice) = self.advice() {
            say!("{advice}");
        }
    }

    /// What the plugin needs before it runs in its networks; none if the grants are unknown.
    fn advice(&self) -> Option<String> {
        let Self { name, coverage, .. } = self;
        let has_error = coverage.as_ref().is_some_and(|c| c.error.is_some());
        if self.error.is_some() || has_error {
            return None;
        }
        if coverage.as_ref().is_some_and(|c| !c.has_grant()) {
            return Some(format!(
                "it needs a grant for this digest: `weir grants new {name}` prints one to review"
            ));
        }
        let networks = self.not_covered.join("`, `");
        (!networks.is_empty()).then(|| {
            format!(
                "no grant in force for this component covers network `{networks}`: ADD fails there"
            )
        })
    }
}
