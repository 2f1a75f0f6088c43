//! `weir plugin pull`: downloads a component from a registry into a file.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use weir_distribution::Reference;
use weir_sandbox::{Sandbox, Trusted};
use weir_signature::Policy;

use super::arrival::{Arrival, trusted};
use super::artifact::{Described, Files, check};
use super::registry::RegistryArguments;
use crate::cli::component::name_of;
use crate::cli::output::{Answer, Format, print_list, say};

#[derive(Args)]
pub struct Arguments {
    /// The artifact: REGISTRY/NAME:TAG or REGISTRY/NAME@DIGEST. Without either, the tag is `latest`.
    reference: Reference,
    /// Where to write the component [default: NAME.wasm in the current directory]. A proposed grant is written beside it, as
    /// NAME.grant.yaml.
    file: Option<PathBuf>,
    /// Replace files of these names.
    #[arg(long)]
    replace: bool,
    /// Print what the artifact says of itself, without downloading the component.
    #[arg(long, conflicts_with_all = ["file", "replace"])]
    describe: bool,
    #[command(flatten)]
    registry: RegistryArguments,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Pulled {
    reference: String,
    #[serde(flatten)]
    described: Described,
    /// Why the policy lets it be installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    trusted: Option<Trusted>,
    /// None if the component was not downloaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Files>,
}

pub fn run(sandbox: &Sandbox, arguments: &Arguments) -> Result<Answer> {
    let reference = &arguments.reference;
    let context = || format!("pull `{reference}`");
    let registry = arguments.registry.open(reference)?;
    let mut let_in = None;
    let (described, files) = if arguments.describe {
        let description = registry.describe().with_context(context)?;
        (Described::of(&description), None)
    } else {
        let file = (arguments.file.clone())
            .unwrap_or_else(|| PathBuf::from(format!("{}.wasm", reference.name())));
        Files::check_free(&file, arguments.replace)?;
        let artifact = registry.pull().with_context(context)?;
        let arrival = Arrival::pulled(&registry, &artifact, reference).with_context(context)?;
        let (paths, component) = (sandbox.paths(), &artifact.component);
        let first = arrival.check_first(&Policy::load(paths)?, paths, None, component);
        first.with_context(context)?;
        let inspection = check(sandbox, &artifact).with_context(context)?;
        let name = name_of(&inspection, &file).unwrap_or_default();
        let admitted = arrival.admit(paths, Some(&name), component);
        let admitted = admitted.with_context(context)?;
        let files = Files::write(&artifact, &arrival, &admitted, &file, arguments.replace)?;
        let_in = Some(trusted(admitted));
        (Described::of(&artifact.description), Some(files))
    };
    let pulled = Pulled {
        reference: reference.to_string(),
        described,
        trusted: let_in,
        files,
    };
    arguments.format.print(&pulled, |pulled| {
        say!("{:<11} {}", "reference", pulled.reference);
        pulled.described.print();
        print_list("trusted", &pulled.trusted);
        match &pulled.files {
            Some(files) => files.print(),
            None => pulled.described.print_grant(),
        }
    })?;
    Ok(Answer::Yes)
}
