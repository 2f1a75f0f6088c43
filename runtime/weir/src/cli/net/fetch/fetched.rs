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
    /// The networks for which no grant allows it all that it asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_covered: Vec<String>,
}

impl Fetched {
    /// One that stays as it is.
    pub fn kept(plugin: &Plugin, wanted: &Wanted) -> Self {
        Self {
            state: State::Kept,
            networks: wanted.networks.clone(),
            name: plugin.name.clone(),
            digest: plugin.digest.to_string(),
            provenance: plugin.provenance().cloned().unwrap_or_default(),
            coverage: None,
            not_covered: Vec::new(),
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
            if !coverage.is_granted() {
                say!(
                    "it needs a grant for this digest: `weir grants new {name}` prints one to review"
                );
            } else if !self.not_covered.is_empty() {
                let networks = self.not_covered.join("`, `");
                say!("no grant lets it run in network `{networks}`: ADD fails there");
            }
        }
    }
}
