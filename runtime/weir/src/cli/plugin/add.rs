//! `weir plugin add`: compiles a component and installs it atomically.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use weir_grant::document::Digest;
use weir_sandbox::{Catalogue, Provenance, Sandbox};
use weir_signature::Policy;

use super::arrival::Arrival;
use super::coverage::Coverage;
use super::difference::Difference;
use super::installation::{check_not_older, install, installed, version};
use super::proposal::Proposal;
use crate::cli::component::{inspect, name_of, read};
use crate::cli::output::{Answer, Format, complain, say, show};

#[derive(Args)]
pub struct Arguments {
    /// The component's file.
    file: PathBuf,
    /// The plugin's name [default: what it says itself].
    #[arg(long)]
    name: Option<String>,
    /// Replace an installed plugin of that name.
    #[arg(long)]
    replace: bool,
    /// A signature [default: FILE.sigstore.json]. Can be given several times.
    #[arg(long, value_name = "FILE")]
    bundle: Vec<PathBuf>,
    /// The digest of the component that you have checked and want, whoever signed it.
    #[arg(long)]
    digest: Option<Digest>,
    /// Let an older version replace a newer one.
    #[arg(long, requires = "replace")]
    allow_downgrade: bool,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Added {
    name: String,
    digest: String,
    /// False if another is installed and is not to be replaced.
    installed: bool,
    /// The difference to the installed one, if that could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<Difference>,
    granted: bool,
    #[serde(flatten)]
    provenance: Provenance,
    /// The grant that its author proposes, which is not in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    proposal: Option<Proposal>,
    #[serde(flatten)]
    coverage: Coverage,
}

/// No if a plugin of that name is installed and is not to be replaced.
pub fn run(sandbox: &Sandbox, arguments: &Arguments) -> Result<Answer> {
    let shown = arguments.file.display();
    // Compiling takes a second.
    if let Some(name) = &arguments.name {
        Catalogue::check_name(name).map_err(show)?;
    }
    let component = read(&arguments.file)?;
    let arrival =
        arrival(sandbox, arguments, &component).with_context(|| match &arguments.name {
            Some(name) => format!("plugin `{name}` is not installed"),
            None => format!("`{shown}` is not installed"),
        })?;
    let inspection = inspect(sandbox, &arguments.file, &component)?;
    inspection
        .check()
        .map_err(|e| show(e.with_prefix(format_args!("`{shown}`"))))?;
    let name = (arguments.name.clone())
        .or_else(|| name_of(&inspection, &arguments.file))
        .with_context(|| format!("`{shown}` has no name; give one with --name"))?;
    Catalogue::check_name(&name).map_err(show)?;

    let admitted = arrival.admit(sandbox.paths(), Some(&name), &component);
    let admitted = admitted.with_context(|| format!("plugin `{name}` is not installed"))?;
    let provenance = arrival.provenance(admitted, version(&inspection).map(str::to_owned));
    let proposal = Proposal::beside(sandbox.paths(), &arguments.file, &name)
        .with_context(|| format!("plugin `{name}` is not installed: its author's proposal"))?;

    let is_taken = sandbox.catalogue().is_installed(&name);
    let before = installed(sandbox, &name).filter(|_| is_taken);
    let installed = !is_taken || arguments.replace;
    if installed {
        if is_taken && !arguments.allow_downgrade {
            check_not_older(sandbox, &name, &inspection)?;
        }
        install(sandbox, &name, &inspection, &provenance, arguments.replace)?;
    }
    let difference = before.map(|before| Difference::between(&before, &inspection));
    let coverage = Coverage::of(sandbox, &name, &inspection);
    let added = Added {
        digest: inspection.digest.to_string(),
        granted: coverage.is_granted(),
        provenance,
        proposal,
        name,
        installed,
        difference,
        coverage,
    };
    arguments.format.print(&added, print)?;
    if !installed {
        complain(&format!(
            "plugin `{}` is installed already: give --replace to replace it",
            added.name
        ));
    }
    Ok(installed.into())
}

/// What arrived with the component, if it is the one that is wanted and the node's policy may let it in.
fn arrival(sandbox: &Sandbox, arguments: &Arguments, component: &[u8]) -> Result<Arrival> {
    let mut arrival = Arrival::beside(&arguments.file, &arguments.bundle, component)?;
    arrival.pin(arguments.digest.as_ref(), Some("--digest"));
    let (paths, name) = (sandbox.paths(), arguments.name.as_deref());
    arrival.check_first(&Policy::load(paths)?, paths, name, component)?;
    Ok(arrival)
}

fn print(added: &Added) {
    if let Some(difference) = &added.difference {
        difference.print();
    }
    if !added.installed {
        return;
    }
    let Added {
        name,
        digest,
        provenance,
        ..
    } = added;
    say!("installed plugin {name}, {digest}, {}", provenance.trusted);
    if added.coverage.grants.is_empty() && added.coverage.error.is_none() {
        say!("it needs a grant: `weir grants new {name}` prints one to review");
    } else {
        added.coverage.print(name);
    }
    if let Some(proposal) = &added.proposal {
        proposal.print();
    }
}
