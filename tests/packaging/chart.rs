//! The Helm chart of a release, as an archive: `manifests` has what Helm renders of it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use weir_kit::house;

use super::release::{Release, TIME, files};
use super::run;

pub fn name() -> String {
    format!("weir-{}.tgz", env!("CARGO_PKG_VERSION"))
}

/// Each file is what the sources have, or what a link there leads to; and nothing depends on where and when it was packed.
pub fn check(release: &Release) -> Result<()> {
    let archive = release.file(&name());
    let unpacked = tempfile::tempdir()?;
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(&archive).arg("-C").arg(unpacked.path());
    run(&mut tar, "tar")?;
    let (chart, sources) = (unpacked.path().join("weir"), house().join("packaging/helm"));
    let packed = files(&chart)?;
    assert_eq!(packed, files(&sources)?);
    for file in packed {
        let path = chart.join(&file);
        assert!(path.symlink_metadata()?.is_file(), "{file} is a link");
        assert_eq!(fs::read(&path)?, fs::read(sources.join(&file))?, "{file}");
    }
    let list = list(&archive)?;
    for line in list.lines() {
        let is_of_all = line.starts_with("-rw-r--r-- 0/0") || line.starts_with("drwxr-xr-x 0/0");
        assert!(is_of_all && line.contains(" 2026-01-01 00:00"), "{line}");
    }
    let again = pack_elsewhere(unpacked.path())?;
    assert_eq!(again, fs::read(&archive)?, "the same sources, other bytes");
    Ok(())
}

fn list(archive: &Path) -> Result<String> {
    let mut tar = Command::new("tar");
    run(tar.env("TZ", "UTC").arg("-tvzf").arg(archive), "tar")
}

/// From a copy of the sources with other times, and by a user whose files others may not read.
fn pack_elsewhere(directory: &Path) -> Result<Vec<u8>> {
    let script = "umask 077; mkdir copy out; cp -r \"$1/LICENSE\" \"$1/packaging\" \"$1/examples\" copy; copy/packaging/chart out";
    let mut shell = Command::new("sh");
    shell
        .args(["-ec", script, "sh"])
        .arg(house().canonicalize()?);
    shell.env("SOURCE_DATE_EPOCH", TIME.0).env("LEVEL", "1");
    run(shell.current_dir(directory), "coreutils")?;
    fs::read(directory.join("out").join(name())).context("a chart")
}
