//! `weir plugin inspect`: shows a component before it is trusted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use weir_cni::Error;
use weir_grant::Capability;
use weir_grant::phrase::joined;
use weir_grant::size::Exact;
use weir_sandbox::{About, Inspection, Refused, Sandbox, codes, read_grant};

use super::coverage::Coverage;
use crate::cli::component::{self, ComponentArgument, name_of};
use crate::cli::output::{Answer, Format, print_line, print_list, say, show};
use crate::cli::outside::refuse;

#[derive(Args)]
pub struct Arguments {
    /// A component's file, or the name of a plugin of this node.
    plugin: PathBuf,
    /// The plugin's name, by which its grant is found [default: the name that it gives itself].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Check against this grant instead of those of this node.
    #[arg(long, value_name = "FILE")]
    grant: Option<PathBuf>,
    /// Exit with 3 also if no grant allows all that it asks for.
    #[arg(long)]
    granted: bool,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Shown {
    name: String,
    about: Option<About>,
    digest: String,
    /// The version of `weir:cni` that it is built for; null if it is not built for weir.
    contract: Option<String>,
    size: Size,
    /// The limits under which it was run, without a grant, to describe itself; null if it was not run.
    ran: Option<Ran>,
    capabilities: BTreeMap<Capability, Vec<String>>,
    wasi: Vec<String>,
    refused: Vec<Refused>,
    /// Why it cannot run as a plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    unusable: Option<String>,
    /// Why it does not describe itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    silent: Option<String>,
    granted: bool,
    #[serde(flatten)]
    coverage: Coverage,
}

#[derive(Serialize)]
struct Ran {
    memory: String,
    time: String,
}

/// In bytes.
#[derive(Serialize)]
struct Size {
    component: usize,
    code: usize,
}

/// No if it cannot be a plugin, and with `--granted` if no grant covers it.
pub fn run(sandbox: &Sandbox, arguments: &Arguments) -> Result<Answer> {
    let Inspected {
        inspection,
        known_as,
        damage,
    } = inspect(sandbox, &arguments.plugin)?;
    let name = (arguments.name.clone())
        .or(known_as)
        .or_else(|| name_of(&inspection, &arguments.plugin))
        .unwrap_or_default();
    let coverage = match &arguments.grant {
        Some(file) => Coverage::by(sandbox, read_grant(file)?, &name, &inspection)?,
        None => Coverage::of(sandbox, &name, &inspection),
    };
    let shown = shown(name, inspection, damage, coverage);
    arguments.format.print(&shown, print)?;
    let is_granted = shown.granted || !arguments.granted;
    Ok((shown.unusable.is_none() && is_granted).into())
}

/// A component, and for an installed plugin how it is known and why it does not run as it is installed.
struct Inspected {
    inspection: Inspection,
    known_as: Option<String>,
    damage: Option<Error>,
}

fn inspect(sandbox: &Sandbox, plugin: &Path) -> Result<Inspected> {
    match ComponentArgument::by(plugin) {
        ComponentArgument::Plugin(name) => {
            refuse(sandbox.paths(), name)?;
            let plugin = sandbox.catalogue().find(name).map_err(show)?;
            let damage = if plugin.is_built_in() {
                None
            } else {
                sandbox.check(&plugin).err()
            };
            Ok(Inspected {
                inspection: sandbox.inspect_plugin(&plugin).map_err(show)?,
                known_as: Some(plugin.name),
                damage,
            })
        }
        ComponentArgument::File(file) => Ok(Inspected {
            inspection: component::inspect(sandbox, file, &component::read(file)?)?,
            known_as: None,
            damage: None,
        }),
    }
}

fn shown(name: String, inspection: Inspection, damage: Option<Error>, coverage: Coverage) -> Shown {
    let unusable = inspection.check().err().or(damage);
    let silent = inspection.about.as_ref().err();
    let silent = silent.map(|error| error.msg.clone());
    Shown {
        name,
        digest: inspection.digest.to_string(),
        contract: inspection.contract,
        size: Size {
            component: inspection.compiled.component().len(),
            code: inspection.compiled.code().len(),
        },
        ran: inspection.ran.map(|limits| Ran {
            memory: Exact::from(limits.memory).to_string(),
            time: humantime::format_duration(limits.time).to_string(),
        }),
        capabilities: inspection.imports.functions,
        wasi: inspection.imports.wasi,
        refused: inspection.imports.refused,
        silent: silent.filter(|_| unusable.is_none()),
        about: inspection.about.ok(),
        granted: unusable.is_none() && coverage.is_granted(),
        unusable: unusable.map(in_full),
        coverage,
    }
}

/// What is wrong, and what to do. The refused imports are listed separately.
fn in_full(error: Error) -> String {
    if error.details.is_empty() || error.code == codes::REFUSED_IMPORT {
        error.msg
    } else {
        format!("{}; {}", error.msg, error.details)
    }
}

fn print(shown: &Shown) {
    match (&shown.about, &shown.silent) {
        (Some(about), _) => say!("{} {}: {}", about.name, about.version, about.description),
        (None, Some(why)) => say!("{}: it does not describe itself: {why}", shown.name),
        (None, None) => say!("{}: not a plugin", shown.name),
    }
    say!("digest      {}", shown.digest);
    if let Some(version) = &shown.contract {
        say!("contract    weir:cni@{version}");
    }
    let Size { component, code } = shown.size;
    say!("size        {component} bytes; {code} bytes of code for this machine");
    if let Some(Ran { memory, time }) = &shown.ran {
        say!(
            "ran         to describe itself: granted nothing, at most {memory} of memory and {time}"
        );
    }
    print_requests(shown);
    for (names, reason) in Refused::by_reason(&shown.refused) {
        say!("refused     {}: {reason}", joined(names, "and"));
    }
    match &shown.unusable {
        None => shown.coverage.print(&shown.name),
        Some(why) => say!("unusable    {why}"),
    }
}

fn print_requests(shown: &Shown) {
    let functions = shown.capabilities.iter();
    let line = |(c, f): (&Capability, &Vec<String>)| format!("{:<11} {}", c.word(), f.join(", "));
    print_list("asks for", functions.map(line));
    if shown.capabilities.is_empty() {
        print_line!("asks for    nothing");
    }
    if !shown.wasi.is_empty() {
        let count = shown.wasi.len();
        say!("            and {count} interfaces of WASI without effect, which need no grant");
    }
}
