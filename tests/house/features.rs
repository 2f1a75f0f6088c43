//! The features with which the builds of the plugins and that of the workspace have what procedural macros depend on.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use weir_kit::{house, target};

/// Packages with their versions and features, one each.
type Packages = BTreeSet<String>;

/// In the builds of the plugins, as the Makefile has them.
pub fn of_plugins() -> Result<Packages> {
    let target = "--target=wasm32-unknown-unknown";
    below_macros(&[
        target,
        "--edges=normal",
        "-p=weir-features",
        "-p=weir-plugin-*",
    ])
}

/// In the build of everything, with what only tests need.
pub fn of_workspace() -> Result<Packages> {
    let target = format!("--target={}", target());
    below_macros(&[&target, "--edges=normal,dev", "--workspace"])
}

/// What is below a procedural macro in the tree that cargo prints with these options.
fn below_macros(options: &[&str]) -> Result<Packages> {
    let output = Command::new("cargo")
        .args([
            "tree",
            "--locked",
            "--offline",
            "--prefix=depth",
            "--format={p} {f}",
        ])
        .args(options)
        .current_dir(house())
        .output()
        .context("run cargo")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{errors}");
    let tree = String::from_utf8(output.stdout)?;
    let mut found = Packages::new();
    let mut macro_depth = None;
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let package = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let depth: usize = line[..line.len() - package.len()].parse()?;
        macro_depth = macro_depth.filter(|above| depth > *above);
        if macro_depth.is_some() {
            // Cargo marks a package whose own dependencies stand elsewhere.
            found.insert(package.trim_end_matches(" (*)").to_owned());
        } else if package.contains("(proc-macro)") {
            macro_depth = Some(depth);
        }
    }
    Ok(found)
}
