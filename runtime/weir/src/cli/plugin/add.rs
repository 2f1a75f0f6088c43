//! `weir plugin add`: compiles a component and installs it atomically.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use weir_gate::{Event, User};
use weir_sandbox::{Catalogue, Inspection, Sandbox};

use super::coverage::Coverage;
use super::difference::Difference;
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
    coverage: Coverage,
}

/// No if a plugin of that name is installed and is not to be replaced.
pub fn run(sandbox: &Sandbox, arguments: &Arguments) -> Result<Answer> {
    let shown = arguments.file.display();
    // Compiling takes a second.
    if let Some(name) = &arguments.name {
        Catalogue::check_name(name).map_err(show)?;
    }
    let inspection = inspect(sandbox, &arguments.file, &read(&arguments.file)?)?;
    inspection
        .check()
        .map_err(|e| show(e.with_prefix(format_args!("`{shown}`"))))?;
    let name = (arguments.name.clone())
        .or_else(|| name_of(&inspection, &arguments.file))
        .with_context(|| format!("`{shown}` has no name; give one with --name"))?;
    Catalogue::check_name(&name).map_err(show)?;

    let is_taken = sandbox.catalogue().is_installed(&name);
    let difference = installed(sandbox, &name)
        .filter(|_| is_taken)
        .map(|installed| Difference::between(&installed, &inspection));
    let installed = !is_taken || arguments.replace;
    if installed {
        install(sandbox, &name, &inspection, arguments.replace)?;
    }
    let coverage = Coverage::of(sandbox, &name, &inspection);
    let added = Added {
        digest: inspection.digest.to_string(),
        granted: coverage.is_granted(),
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

/// The plugin of that name; none if it is damaged.
fn installed(sandbox: &Sandbox, name: &str) -> Option<Inspection> {
    let plugin = sandbox.catalogue().find(name).ok()?;
    sandbox.inspect(&plugin.component().ok()?).ok()
}

/// Installs it, and records that. Nothing is installed if the audit log cannot be opened.
fn install(sandbox: &Sandbox, name: &str, inspection: &Inspection, replace: bool) -> Result<()> {
    let catalogue = sandbox.catalogue();
    if let Some(why) = sandbox.audit_log().failure() {
        bail!(
            "plugin `{name}` is not installed, because it cannot be recorded in the audit log: {why}"
        );
    }
    let before = catalogue.find(name).ok().map(|plugin| plugin.digest);
    let installed = if replace {
        catalogue.install_compiled(name, &inspection.compiled)
    } else {
        // One that is added meanwhile is not replaced either.
        catalogue.install_new(name, &inspection.compiled)
    };
    let event = Event::Added {
        replaced: before.as_ref(),
        user: User::of_process(),
    };
    let outcome = installed.as_ref().map(|_| ());
    let recorded = sandbox.record(name, Some(&inspection.digest), &event, outcome);
    installed.map_err(show)?;
    recorded.map_err(|e| show(e.with_prefix(format_args!("plugin `{name}` is installed"))))
}

fn print(added: &Added) {
    if let Some(difference) = &added.difference {
        difference.print();
    }
    if !added.installed {
        return;
    }
    let Added { name, digest, .. } = added;
    say!("installed plugin {name}, {digest}");
    if added.coverage.grants.is_empty() && added.coverage.error.is_none() {
        say!("it needs a grant: `weir grants new {name}` prints one to review");
    } else {
        added.coverage.print(name);
    }
}
