//! `packaging/publish-sdk`, with a program in cargo's place.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use weir_kit::{assert_contains, failure, house};

use super::run;

/// Writes what it was called with to `CALLS`. The registry has the packages in `PUBLISHED`.
const CARGO: &str = r#"#!/bin/sh
echo "cargo $*" >>"$CALLS"
case $1 in
info) case $PUBLISHED in *"$5"*) ;; *) exit 101 ;; esac ;;
esac"#;

fn publish(directory: &Path, tag: &str, published: &str) -> Result<String> {
    let bin = directory.join("bin");
    fs::create_dir_all(&bin)?;
    fs::write(bin.join("cargo"), CARGO)?;
    fs::set_permissions(bin.join("cargo"), Permissions::from_mode(0o755))?;
    let path = std::env::var("PATH")?;
    let mut publish = Command::new(house().join("packaging/publish-sdk"));
    publish
        .arg(tag)
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("PUBLISHED", published)
        .env("CALLS", directory.join("calls"));
    run(&mut publish, "sh")
}

/// The packages that it uploads, if the registry has some.
fn uploaded(published: &str) -> Result<Vec<String>> {
    let directory = tempfile::tempdir()?;
    let tag = format!("v{}", env!("CARGO_PKG_VERSION"));
    publish(directory.path(), &tag, published)?;
    let calls = fs::read_to_string(directory.path().join("calls"))?;
    let uploads = calls.lines();
    let uploads =
        uploads.filter_map(|call| call.strip_prefix("cargo publish --locked --no-verify -p "));
    Ok(uploads.map(str::to_owned).collect())
}

/// They are those that `make sdk` builds alone, in the same order.
#[test]
fn the_packages_that_were_tried_are_published() -> Result<()> {
    let makefile = fs::read_to_string(house().join("Makefile"))?;
    let mut lines = makefile.lines();
    let tried = lines.find_map(|line| line.strip_prefix("SDK := "));
    let tried: Vec<&str> = tried.context("a list")?.split(' ').collect();
    assert_eq!(uploaded("")?, tried);
    Ok(())
}

/// The workflow is run again after it failed in the middle.
#[test]
fn what_is_published_is_left_out() -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let there = format!("weir-cni@{version} weir-sdk-macros@{version}");
    assert_eq!(uploaded(&there)?, ["weir-sdk"]);
    Ok(())
}

#[test]
fn another_version_than_the_tags_is_not_published() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let failed = failure(publish(directory.path(), "v99.0.0", ""))?;
    assert_contains(&failed, &["tag v99.0.0", env!("CARGO_PKG_VERSION")]);
    assert!(!directory.path().join("calls").exists());
    Ok(())
}
