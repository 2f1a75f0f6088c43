//! `weir plugin inspect`: a component looked at before anybody trusts it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use weir_grant::Capability;
use weir_grant::size::Exact;
use weir_sandbox::{Inspection, Sandbox, codes};

use super::coverage::{Candidate, Coverage};
use crate::cli::component::{self, Named, name_of};
use crate::cli::output::show;
use crate::cli::output::{Answer, Format, print_line, say};
use crate::cli::outside::refuse;

#[derive(Args)]
pub struct Arguments {
    /// A component's file, or the name of a plugin of this node.
    plugin: PathBuf,
    /// The plugin's name, by which its grant is found [default: what it says itself].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Answer no (exit code 3) also where no grant lets it run with all that it asks for.
    #[arg(long)]
    granted: bool,
    #[command(flatten)]
    format: Format,
}

/// What there is to tell.
#[derive(Serialize)]
struct Shown {
    name: String,
    about: Option<About>,
    digest: String,
    /// The version of `weir:cni` that it is built for; null where it has nothing of that.
    contract: Option<String>,
    size: Size,
    /// The limits under which it was run, granted nothing, to say what it is; null where it was not run.
    ran: Option<Ran>,
    /// Functions by capability.
    capabilities: BTreeMap<Capability, Vec<String>>,
    wasi: Vec<String>,
    refused: Vec<Refused>,
    /// Why it cannot run as a plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    unusable: Option<String>,
    /// Why it does not say what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    silent: Option<String>,
    granted: bool,
    #[serde(flatten)]
    coverage: Coverage,
}

#[derive(Serialize)]
struct About {
    name: String,
    version: String,
    description: String,
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

#[derive(Serialize)]
struct Refused {
    import: String,
    reason: &'static str,
}

/// No where it cannot be a plugin, and with `--granted` where no grant covers it.
pub fn run(sandbox: &Sandbox, arguments: &Arguments) -> Result<Answer> {
    let (inspection, known_as) = inspect(sandbox, &arguments.plugin)?;
    let name = (arguments.name.clone())
        .or(known_as)
        .or_else(|| name_of(&inspection, &arguments.plugin))
        .unwrap_or_default();
    let coverage = Coverage::of(
        sandbox,
        &Candidate {
            name: &name,
            inspection: &inspection,
        },
    );
    let shown = shown(name, inspection, coverage);
    arguments.format.print(&shown, print)?;
    let is_wanting = arguments.granted && !shown.granted;
    Ok(if shown.unusable.is_some() || is_wanting {
        Answer::No
    } else {
        Answer::Yes
    })
}

/// A component, and the name of the plugin that it is of; none for a file's.
fn inspect(sandbox: &Sandbox, plugin: &Path) -> Result<(Inspection, Option<String>)> {
    match Named::by(plugin) {
        Named::Plugin(name) => {
            refuse(sandbox.paths(), name)?;
            let plugin = sandbox.catalogue().find(name).map_err(show)?;
            let component = plugin.component().map_err(show)?;
            let inspection = sandbox.inspect(&component).map_err(show)?;
            Ok((inspection, Some(plugin.name)))
        }
        Named::File(file) => {
            let inspection = component::inspect(sandbox, file, &component::read(file)?)?;
            Ok((inspection, None))
        }
    }
}

fn shown(name: String, inspection: Inspection, coverage: Coverage) -> Shown {
    let unusable = inspection.check().err();
    let silent = inspection
        .about
        .as_ref()
        .err()
        .map(|error| error.msg.clone());
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
        refused: inspection
            .imports
            .refused
            .into_iter()
            .map(|refused| Refused {
                import: refused.name,
                reason: refused.reason,
            })
            .collect(),
        silent: silent.filter(|_| unusable.is_none()),
        about: inspection.about.ok().map(|about| About {
            name: about.name,
            version: about.version,
            description: about.description,
        }),
        granted: unusable.is_none() && coverage.is_granted(),
        unusable: unusable.map(in_full),
        coverage,
    }
}

/// What is wrong, and what to do. The imports that are refused are listed anyway.
fn in_full(error: weir_cni::Error) -> String {
    if error.details.is_empty() || error.code == codes::REFUSED_IMPORT {
        error.msg
    } else {
        format!("{}; {}", error.msg, error.details)
    }
}

fn print(shown: &Shown) {
    match (&shown.about, &shown.silent) {
        (Some(about), _) => say!("{} {}: {}", about.name, about.version, about.description),
        (None, Some(why)) => say!("{}: it does not say what it is: {why}", shown.name),
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
            "ran         to say what it is: granted nothing, at most {memory} of memory and {time}"
        );
    }
    print_requests(shown);
    for Refused { import, reason } in &shown.refused {
        say!("refused     {import}: {reason}");
    }
    match &shown.unusable {
        None => shown.coverage.print("grant       ", &shown.name),
        Some(why) => say!("unusable    {why}"),
    }
}

fn print_requests(shown: &Shown) {
    let mut title = "asks for";
    for (capability, functions) in &shown.capabilities {
        let word = capability.word();
        say!("{title:<11} {word:<11} {}", functions.join(", "));
        title = "";
    }
    if shown.capabilities.is_empty() {
        print_line!("asks for    nothing");
    }
    if !shown.wasi.is_empty() {
        let count = shown.wasi.len();
        say!("            and {count} interfaces of WASI that lead nowhere and need no grant");
    }
}
