//! What a release is made of: what the binary says of itself, its manual pages and completions, the archive, the Debian
//! package, the Helm chart, the bill of materials, and the workflow that publishes them.

mod bill;
mod chart;
mod completions;
mod debian;
mod manual;
mod publish;
mod publish_sdk;
mod release;
mod version;
mod workflow;

use std::process::Command;

use anyhow::{Context, Result, ensure};
use weir_kit::binary;

/// Runs a program and returns what it prints. Errors: it is missing, with its Debian package; it fails, with what it says.
fn run(command: &mut Command, package: &str) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("run {name}; is the Debian package {package} installed?"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8(output.stdout)?;
    ensure!(output.status.success(), "{name}: {text}{errors}");
    Ok(text)
}

fn weir(arguments: &[&str]) -> Result<String> {
    run(Command::new(binary()).args(arguments), "weir")
}
