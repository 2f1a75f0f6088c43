//! `weir plugin save`: downloads an artifact as an OCI image layout.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use weir_distribution::{Reference, save};
use weir_sandbox::Sandbox;

use super::artifact::{Described, check};
use super::registry::RegistryArguments;
use crate::cli::output::{Answer, Format, say};

#[derive(Args)]
pub struct Arguments {
    /// The artifact: REGISTRY/NAME:TAG or REGISTRY/NAME@DIGEST. Without either, the tag is `latest`.
    reference: Reference,
    /// Where to save it: a tar archive if the name ends in .tar, otherwise a directory.
    layout: PathBuf,
    #[command(flatten)]
    registry: RegistryArguments,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Saved {
    reference: String,
    layout: PathBuf,
    #[serde(flatten)]
    described: Described,
}

pub fn run(sandbox: &Sandbox, arguments: &Arguments) -> Result<Answer> {
    let reference = &arguments.reference;
    let context = || format!("save `{reference}`");
    let registry = arguments.registry.open(reference)?;
    let mut artifact = registry.pull().with_context(context)?;
    check(sandbox, &artifact).with_context(context)?;
    let signatures = registry.signatures(&artifact.digest());
    artifact.signatures = signatures.with_context(context)?;
    save(&artifact, reference, &arguments.layout).with_context(context)?;
    let saved = Saved {
        reference: reference.to_string(),
        layout: arguments.layout.clone(),
        described: Described::of(&artifact.description),
    };
    arguments.format.print(&saved, |saved| {
        let layout = saved.layout.display();
        say!("{:<11} {}", "reference", saved.reference);
        saved.described.print();
        say!("saved to {layout}: `weir plugin load {layout}` takes the component out");
    })?;
    Ok(Answer::Yes)
}
