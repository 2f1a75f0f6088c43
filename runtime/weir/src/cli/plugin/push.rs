//! `weir plugin push`: uploads a component to a registry.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde::Serialize;
use weir_distribution::{Artifact, Interface, Metadata, OWN_ANNOTATIONS, Reference};
use weir_sandbox::{Catalogue, Inspection, Sandbox};
use weir_signature::{Bundle, Subject};

use super::arrival::signatures;
use super::artifact::{Described, compare};
use super::registry::RegistryArguments;
use crate::cli::component::{inspect, name_of, read};
use crate::cli::creation_time::creation_time;
use crate::cli::output::{Answer, Format, say, show};

/// The prefix of the annotations that have an option or a value of the component's own.
const IMAGE: &str = "org.opencontainers.image";

#[derive(Args)]
pub struct Arguments {
    /// The component's file.
    file: PathBuf,
    /// Where to push it: REGISTRY/NAME:TAG.
    reference: Reference,
    /// The URL of the plugin's source.
    #[arg(long, value_name = "URL")]
    source: Option<String>,
    /// The plugin's licences, as an SPDX expression.
    #[arg(long, value_name = "SPDX")]
    licenses: Option<String>,
    /// The plugin's version [default: what it says itself].
    #[arg(long)]
    version: Option<String>,
    /// A further annotation. Can be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = annotation)]
    annotation: Vec<(String, String)>,
    /// A file with the grant that you propose to the plugin's users. It is in force only if they install it.
    #[arg(long, value_name = "FILE")]
    grant: Option<PathBuf>,
    /// A signature to push with it [default: FILE.sigstore.json if there is one], such as one of `weir plugin sign`, or of `cosign sign-blob`. Can be given several times.
    #[arg(long, value_name = "FILE")]
    bundle: Vec<PathBuf>,
    #[command(flatten)]
    registry: RegistryArguments,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Pushed {
    reference: String,
    /// How many were pushed with it.
    signatures: usize,
    #[serde(flatten)]
    described: Described,
}

pub fn run(sandbox: &Sandbox, arguments: &Arguments) -> Result<Answer> {
    let component = read(&arguments.file)?;
    let inspection = inspect(sandbox, &arguments.file, &component)?;
    let shown = arguments.file.display();
    inspection
        .check()
        .map_err(|e| show(e.with_prefix(format_args!("`{shown}`"))))?;
    let metadata = metadata(&inspection, arguments)?;
    Catalogue::check_name(&metadata.name).map_err(show)?;
    let names = &inspection.names;
    let interface = Interface {
        exports: names.exports.clone(),
        imports: names.imports.clone(),
        target: None,
    };
    let artifact = Artifact::new(component, interface, &metadata)?;
    let granted = compare(&artifact, &inspection, arguments.grant.as_deref())?;
    if let (Some(file), Some(named)) = (&arguments.grant, granted) {
        ensure!(
            named == metadata.name,
            "`{}` is a grant of plugin `{named}`, and `{shown}` is plugin `{}`",
            file.display(),
            metadata.name
        );
    }
    let signatures = signatures(&arguments.file, &arguments.bundle)?;
    let manifest = artifact.description.manifest_bytes();
    for signature in &signatures {
        let subjects = [&artifact.component[..], manifest].map(|bytes| Subject::new("", bytes));
        let checked = Bundle::read(signature).and_then(|bundle| bundle.check_subject(&subjects));
        checked.with_context(|| format!("push a signature of `{shown}`"))?;
    }
    let reference = &arguments.reference;
    let registry = arguments.registry.open(reference)?;
    registry
        .push(&artifact)
        .with_context(|| format!("push `{shown}` to `{reference}`"))?;
    for signature in &signatures {
        registry
            .attach(&artifact.description, signature)
            .with_context(|| format!("push a signature of `{shown}` to `{reference}`"))?;
    }
    let pushed = Pushed {
        reference: reference.to_string(),
        signatures: signatures.len(),
        described: Described::of(&artifact.description),
    };
    arguments.format.print(&pushed, |pushed| {
        say!("pushed {shown} to {}", pushed.reference);
        pushed.described.print();
    })?;
    Ok(Answer::Yes)
}

fn metadata(inspection: &Inspection, arguments: &Arguments) -> Result<Metadata> {
    let shown = arguments.file.display();
    let name = name_of(inspection, &arguments.file)
        .with_context(|| format!("`{shown}` has no name: let the plugin report one"))?;
    let about = inspection.about.as_ref().ok();
    let own_version = about
        .map(|about| about.version.as_str())
        .unwrap_or_default();
    let version = arguments.version.as_deref().unwrap_or(own_version);
    ensure!(
        own_version.is_empty() || version == own_version,
        "--version is `{version}`, and `{shown}` reports version `{own_version}`, by which nodes tell an older one: leave --version out, \
         or build the plugin with that version"
    );
    let mut annotations: BTreeMap<String, String> = arguments.annotation.iter().cloned().collect();
    let mut set = |key: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            annotations.insert(format!("{IMAGE}.{key}"), value);
        }
    };
    set("source", arguments.source.clone());
    set("licenses", arguments.licenses.clone());
    set("version", Some(version.to_owned()));
    set("description", about.map(|about| about.description.clone()));
    let grant = match &arguments.grant {
        Some(file) => {
            let text = fs::read_to_string(file);
            Some(text.with_context(|| format!("read `{}`", file.display()))?)
        }
        None => None,
    };
    Ok(Metadata {
        name,
        created: creation_time()?,
        annotations,
        grant,
    })
}

fn annotation(text: &str) -> Result<(String, String)> {
    let Some((key, value)) = text.split_once('=').filter(|(key, _)| !key.is_empty()) else {
        bail!("expected KEY=VALUE");
    };
    ensure!(
        !OWN_ANNOTATIONS.contains(&key),
        "weir sets this annotation itself"
    );
    let own = key
        .strip_prefix(IMAGE)
        .and_then(|rest| rest.strip_prefix('.'));
    ensure!(
        !matches!(own, Some("version" | "description")),
        "weir sets this annotation to what the plugin reports"
    );
    if let Some(option @ ("source" | "licenses")) = own {
        bail!("--{option} sets this annotation");
    }
    Ok((key.to_owned(), value.to_owned()))
}
