//! `packaging/publish`, with programs in the place of those that sign and upload: each of its commands runs.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use weir_kit::{assert_contains, failure, house};

use super::release::files;
use super::run;

/// Writes what it was called with to `CALLS`, and the file that the real one writes.
const COSIGN: &str = r#"#!/bin/sh
echo "cosign $*" >>"$CALLS"
while [ $# -gt 0 ]; do [ "$1" != --bundle ] || echo bundle >"$2"; shift; done"#;

/// The same, and the files that the image is made of.
const DOCKER: &str = r#"#!/bin/sh
echo "docker $*" >>"$CALLS"
for context in "$@"; do :; done
[ "$2" = create ] || (cd "$context" && find amd64 arm64 -type f | sort >>"$CALLS")
while [ $# -gt 0 ]; do
    [ "$1" != --metadata-file ] || echo '{ "containerimage.digest": "sha256:c0ffee" }' >"$2"
    shift
done"#;

/// The same, and the notes.
const GH: &str = r#"#!/bin/sh
echo "gh $*" >>"$CALLS"
while [ $# -gt 0 ]; do [ "$1" != --notes-file ] || cat "$2" >>"$CALLS"; shift; done"#;

fn fill(directory: &Path) -> Result<()> {
    for (name, program) in [("cosign", COSIGN), ("docker", DOCKER), ("gh", GH)] {
        let file = directory.join("bin").join(name);
        fs::create_dir_all(directory.join("bin"))?;
        fs::write(&file, program)?;
        fs::set_permissions(&file, Permissions::from_mode(0o755))?;
    }
    for arch in ["x86_64", "aarch64"] {
        let name = format!("weir-1.2.3-{arch}-linux");
        fs::create_dir(directory.join(&name))?;
        fs::write(directory.join(&name).join("weir"), arch)?;
        let archive = directory.join("dist").join(format!("{name}.tar.gz"));
        fs::create_dir_all(directory.join("dist"))?;
        let mut tar = Command::new("tar");
        tar.arg("-czf")
            .arg(archive)
            .arg("-C")
            .arg(directory)
            .arg(name);
        run(&mut tar, "tar")?;
    }
    fs::write(directory.join("dist/SHA256SUMS"), "digests")?;
    fs::write(directory.join("dist/weir-1.2.3.tgz"), "a chart")?;
    let changes =
        "# Changelog\n\n## [Unreleased]\n\nlater\n\n## [1.2.3]\n\nnow\n\n## [1.2.2]\n\nbefore\n";
    Ok(fs::write(directory.join("CHANGELOG.md"), changes)?)
}

fn publish(directory: &Path, tag: &str) -> Result<String> {
    let path = std::env::var("PATH")?;
    let mut publish = Command::new(house().join("packaging/publish"));
    publish
        .arg(tag)
        .arg(directory.join("dist"))
        .arg("ghcr.io/Acme/Weir");
    publish.arg(directory.join("CHANGELOG.md"));
    publish.env(
        "PATH",
        format!("{}:{path}", directory.join("bin").display()),
    );
    publish.env("CALLS", directory.join("calls"));
    run(&mut publish, "python3")
}

#[test]
fn everything_is_signed_and_published() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let directory = directory.path();
    fill(directory)?;
    publish(directory, "v1.2.3")?;
    let calls = fs::read_to_string(directory.join("calls"))?;
    let published = files(&directory.join("dist"))?;
    for file in [
        "SHA256SUMS",
        "weir-1.2.3.tgz",
        "weir-1.2.3-x86_64-linux.tar.gz",
        "weir-1.2.3-aarch64-linux.tar.gz",
    ] {
        assert!(
            published.contains(&format!("{file}.sigstore.json")),
            "{published:?}"
        );
    }
    assert_eq!(published.len(), 9, "{published:?}");
    let image = "ghcr.io/acme/weir@sha256:c0ffee";
    assert_contains(
        &calls,
        &[
            "amd64/weir\narm64/weir\n",
            &format!("cosign sign --yes {image}\n"),
        ],
    );
    assert_contains(
        &calls,
        &[
            "gh release create v1.2.3 --verify-tag --draft",
            "\n\nnow\n\n",
            "--draft=false",
        ],
    );
    for other in ["later", "before"] {
        assert!(!calls.contains(other), "{calls}");
    }
    // What is published is all there before it is seen.
    let last = calls.lines().last().unwrap_or_default();
    assert_eq!(last, "gh release edit v1.2.3 --draft=false");
    Ok(())
}

#[test]
fn nothing_is_signed_without_notes_of_the_version() -> Result<()> {
    let directory = tempfile::tempdir()?;
    fill(directory.path())?;
    let failed = failure(publish(directory.path(), "v1.2.4"))?;
    assert_contains(&failed, &["has no section [1.2.4]"]);
    assert!(!directory.path().join("calls").exists());
    Ok(())
}
