//! The grant that an author proposes, beside a component: shown, compared with the one in force, and never put in force.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use weir_files::Paths;
use weir_grant::Document;
use weir_sandbox::parse_grant;

use super::artifact::grant_beside;
use crate::cli::component::read;
use crate::cli::grants::{diff, grant_state, show};
use crate::cli::output::say;
use crate::cli::policy::compare::{Difference, compare};

#[derive(Serialize)]
pub struct Proposal {
    file: PathBuf,
    document: Document,
    /// From the only grant in force for the plugin; none if there is no such grant, or if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<Difference>,
}

impl Proposal {
    /// The proposal beside a component, if there is one. Errors: it is not a grant.
    pub fn beside(paths: &Paths, component: &Path, plugin: &str) -> Result<Option<Self>> {
        let file = grant_beside(component);
        if !file.exists() {
            return Ok(None);
        }
        let shown = file.display();
        let text = String::from_utf8(read(&file)?);
        let text = text.with_context(|| format!("`{shown}` is not text"))?;
        let document = parse_grant(&file, &text)
            .context("the grant is not valid")?
            .document;
        let difference = in_force(paths, plugin).map(|own| compare(&own, &document));
        Ok(Some(Self {
            file,
            document,
            difference,
        }))
    }

    pub fn print(&self) {
        let file = self.file.display();
        say!(
            "its author proposes the grant in {file}, which is not in force. By it, the plugin may do"
        );
        show::print_rules(&self.document);
        match &self.difference {
            Some(difference) => {
                say!("");
                say!("From the grant in force (the first) to the proposed one (the second):");
                diff::print(difference);
            }
            None => {
                say!("");
                say!("There is no single grant in force to compare it with.");
            }
        }
    }
}

/// The only grant in force for a plugin. Other commands report one that cannot be read.
fn in_force(paths: &Paths, plugin: &str) -> Option<Document> {
    let grants = grant_state::survey(paths).ok()?.into_iter().flatten();
    let mut own = grants.filter(|grant| grant.plugin() == plugin && grant.is_in_force());
    let first = own.next()?;
    let is_only = own.next().is_none();
    is_only.then_some(first.loaded.document)
}
