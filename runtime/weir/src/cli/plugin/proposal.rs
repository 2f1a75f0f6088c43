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
    /// To each grant that is in force for the plugin.
    differences: Vec<ToGrant>,
}

/// What differs from a grant in force to the proposed one.
#[derive(Serialize)]
struct ToGrant {
    /// `shipped`, or the administrator's file.
    grant: String,
    #[serde(flatten)]
    difference: Difference,
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
        Ok(Some(Self {
            differences: differences(paths, plugin, &document),
            file,
            document,
        }))
    }

    pub fn print(&self) {
        let file = self.file.display();
        say!(
            "its author proposes the grant in {file}, which is not in force. By it, the plugin may do"
        );
        show::print_rules(&self.document);
        say!("");
        if self.differences.is_empty() {
            say!("No grant is in force to compare it with.");
        }
        for ToGrant { grant, difference } in &self.differences {
            say!("From the grant in force, {grant} (the first), to the proposed one (the second):");
            diff::print(difference);
        }
    }
}

/// What differs from each grant in force for a plugin. Other commands report one that cannot be read.
fn differences(paths: &Paths, plugin: &str, proposed: &Document) -> Vec<ToGrant> {
    let grants = grant_state::survey(paths).into_iter().flatten().flatten();
    let own = grants.filter(|grant| grant.plugin() == plugin && grant.is_in_force());
    own.map(|grant| ToGrant {
        grant: grant.loaded.origin.to_string(),
        difference: compare(&grant.loaded.document, proposed),
    })
    .collect()
}
