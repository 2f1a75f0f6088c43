//! The programs of a cluster's operator, as far as they need no cluster. `tests/setup` installs them.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::house;

/// What `kubectl apply -k` would apply from a directory, as YAML.
pub fn kustomize(directory: &Path) -> Result<String> {
    run("kubectl", ["kustomize".as_ref(), directory.as_os_str()])
}

/// What Helm prints. Errors: it fails, with what it says.
pub fn helm(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<String> {
    run("helm", arguments)
}

fn run(name: &str, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<String> {
    let mut program = Command::new(house().join("target/tools").join(name));
    let output = program
        .args(arguments)
        .output()
        .with_context(|| format!("run {name}, which `tests/setup test` installs"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name}: {errors}");
    Ok(String::from_utf8(output.stdout)?)
}
