//! The outcome of a URI, for people and programs.

use serde::{Serialize, Serializer};
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
    /// Of all networks that name the URI, those which no grant in force covers; or why the grants are unknown.
    #[serde(skip_serializing_if = "is_nothing", serialize_with = "networks")]
    pub not_covered: Result<Vec<String>, String>,
}

fn is_nothing(networks: &Result<Vec<String>, String>) -> bool {
    networks.as_ref().map_or(true, Vec::is_empty)
}

fn networks<S: Serializer>(
    networks: &Result<Vec<String>, String>,
    to: S,
) -> Result<S::Ok, S::Error> {
    networks.as_deref().unwrap_or_default().serialize(to)
}

impl Fetched {
    /// One that stays as it is.
    pub fn kept(
        plugin: &Plugin,
        wanted: &Wanted,
        not_covered: Result<Vec<String>, String>,
    ) -> Self {
        Self {
            state: State::Kept,
            networks: wanted.networks.clone(),
            name: plugin.name.clone(),
            digest: plugin.digest.to_string(),
            provenance: plugin.provenance().cloned().unwrap_or_default(),
            coverage: None,
            not_covered,
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
        let known = self.coverage.as_ref();
        match &self.not_covered {
            // The grants that cannot be read are named above.
            Err(_) if known.is_some_and(|coverage| coverage.error.is_some()) => {}
            Err(error) => print_list("grant", error.lines()),
            Ok(_) if known.is_some_and(|coverage| !coverage.has_grant()) => {
                say!(
                    "it needs a grant for this digest: `weir grants new {name}` prints one to review"
                );
            }
            Ok(networks) if !networks.is_empty() => {
                let networks = networks.join("`, `");
                say!(
                    "no grant in force for this component covers network `{networks}`: ADD fails there"
                );
            }
            Ok(_) => {}
        }
    }
}
