//! `weir plugin load`: takes a component out of an OCI image layout into a file.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use weir_distribution::load;
use weir_grant::document::Digest;
use weir_sandbox::{Inspection, Sandbox, Trusted};
use weir_signature::Policy;

use super::arrival::{Arrival, trusted};
use super::artifact::{Described, Files, check};
use crate::cli::component::name_of;
use crate::cli::output::{Answer, Format, print_list};

#[derive(Args)]
pub struct Arguments {
    /// A layout: a directory or a tar archive.
    layout: PathBuf,
    /// Where to write the component [default: the plugin's own name and .wasm, in the current directory]. A proposed grant is
    /// written beside it, as NAME.grant.yaml.
    file: Option<PathBuf>,
    /// Replace files of these names.
    #[arg(long)]
    replace: bool,
    /// The digest of the component that you want, whoever signed it.
    #[arg(long)]
    digest: Option<Digest>,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Loaded {
    #[serde(flatten)]
    described: Described,
    /// Why the policy lets it be installed.
    trusted: Trusted,
    files: Files,
}

pub fn run(sandbox: &Sandbox, arguments: &Arguments) -> Result<Answer> {
    let layout = &arguments.layout;
    let context = || format!("load `{}`", layout.display());
    let artifact = load(layout).with_context(context)?;
    let mut arrival = Arrival::of(&artifact, None)?;
    arrival.pin(arguments.digest.as_ref(), Some("--digest"));
    let (paths, component) = (sandbox.paths(), &artifact.component);
    let first = arrival.check_first(&Policy::load(paths)?, paths, None, component);
    first.with_context(context)?;
    let inspection = check(sandbox, &artifact).with_context(context)?;
    let file = match &arguments.file {
        Some(file) => file.clone(),
        None => own_file(&inspection, layout)?,
    };
    let name = name_of(&inspection, &file).unwrap_or_default();
    let admitted = arrival.admit(paths, Some(&name), component);
    let admitted = admitted.with_context(context)?;
    let files = Files::write(&artifact, &arrival, &admitted, &file, arguments.replace)?;
    let loaded = Loaded {
        described: Described::of(&artifact.description),
        trusted: trusted(admitted),
        files,
    };
    arguments.format.print(&loaded, |loaded| {
        loaded.described.print();
        print_list("trusted", [&loaded.trusted]);
        loaded.files.print();
    })?;
    Ok(Answer::Yes)
}

/// The file of the name that the plugin reports.
fn own_file(inspection: &Inspection, layout: &Path) -> Result<PathBuf> {
    let about = inspection.about.as_ref().ok();
    let name = about.map(|about| about.name.as_str());
    let name = name.filter(|name| weir_cni::validate_plugin_name(name).is_ok());
    let name = name.with_context(|| {
        let layout = layout.display();
        format!("the plugin of `{layout}` reports no name: name the file to write, `weir plugin load {layout} FILE`")
    })?;
    Ok(PathBuf::from(format!("{name}.wasm")))
}
