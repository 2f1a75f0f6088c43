//! A release, packed from the binary under test: as `make release` packs the optimised one, compressed in a hurry.

use std::collections::BTreeSet;
use std::env::consts::ARCH;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;
use weir_kit::{assert_contains, binary, failure, house, target};

use super::{bill, chart, debian, manual, run};

/// The time of the files in the packages, in seconds and in words.
pub const TIME: (&str, &str) = ("1767225600", "2026-01-01T00:00:00Z");

/// What `packaging/release` makes.
pub struct Release {
    pub directory: TempDir,
    /// The content of the archive.
    pub content: PathBuf,
}

impl Release {
    fn pack() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let mut release = Command::new(house().join("packaging/release"));
        release.arg(binary()).arg(target());
        release.arg(directory.path().join("out"));
        release
            .env("SOURCE_DATE_EPOCH", TIME.0)
            .env("LEVEL", "1")
            .env("COMPRESSOR", "gzip");
        run(&mut release, "dpkg")?;
        let archive = directory
            .path()
            .join("out")
            .join(format!("{}.tar.gz", name()));
        let mut tar = Command::new("tar");
        run(
            tar.arg("-xzf").arg(archive).arg("-C").arg(directory.path()),
            "tar",
        )?;
        let content = directory.path().join(name());
        Ok(Self { directory, content })
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join("out").join(name)
    }

    pub fn read(&self, name: &str) -> Result<String> {
        fs::read_to_string(self.content.join(name)).with_context(|| name.to_owned())
    }
}

pub fn name() -> String {
    format!("weir-{}-{ARCH}-linux", env!("CARGO_PKG_VERSION"))
}

/// All files below a directory, by their paths in it.
pub fn files(directory: &Path) -> Result<BTreeSet<String>> {
    let mut find = Command::new("find");
    let found = run(
        find.arg(directory)
            .args(["!", "-type", "d", "-printf", r"%P\n"]),
        "findutils",
    )?;
    Ok(found.lines().map(str::to_owned).collect())
}

/// One test: to pack it takes a few seconds.
#[test]
fn a_release_is_whole() -> Result<()> {
    let release = Release::pack()?;
    check_archive(&release)?;
    check_digests(&release)?;
    chart::check(&release)?;
    bill::check(&release)?;
    bill::check_licences(&release)?;
    debian::check(&release)
}

fn check_archive(release: &Release) -> Result<()> {
    let pages = manual::names().map(|page| format!("man/man1/{page}"));
    let others = "CHANGELOG.md COPYRIGHT-rust-library.html LICENSE THIRD-PARTY-LICENSES completions/_weir completions/weir.bash \
                  completions/weir.fish weir weir.cdx.json";
    let others = others.split_whitespace().map(str::to_owned);
    let expected: BTreeSet<String> = others.chain(pages).collect();
    assert_eq!(files(&release.content)?, expected);
    let weir = release.content.join("weir");
    assert_eq!(fs::read(&weir)?, fs::read(binary())?);
    assert_eq!(fs::metadata(&weir)?.permissions().mode() & 0o777, 0o755);
    Ok(())
}

/// Each file that is published is among the digests.
fn check_digests(release: &Release) -> Result<()> {
    let mut check = Command::new("sha256sum");
    check
        .args(["--strict", "-c", "SHA256SUMS"])
        .current_dir(release.file(""));
    let checked = run(&mut check, "coreutils")?;
    let mut published = files(&release.file(""))?;
    assert!(published.remove("SHA256SUMS"));
    assert!(published.contains(&chart::name()), "{published:?}");
    assert_eq!(checked.lines().count(), published.len(), "{checked}");
    for file in published {
        assert_contains(&checked, &[&format!("{file}: OK")]);
    }
    Ok(())
}

/// Releases of one version, each in a directory of its own, and what gathers them.
struct Made(TempDir);

impl Made {
    /// With a chart of this content, which all architectures have.
    fn add(&self, arch: &str, commit: &str, chart: &str) -> Result<PathBuf> {
        let made = self.0.path().join(arch);
        let stem = format!("weir-1.2.3-{arch}-linux");
        let fact = serde_json::json!([{ "name": "weir:commit", "value": commit }]);
        let bill = serde_json::json!({ "metadata": { "component": { "properties": fact } } });
        fs::create_dir(&made)?;
        fs::write(made.join(format!("{stem}.tar.gz")), arch)?;
        fs::write(made.join(format!("{stem}.cdx.json")), bill.to_string())?;
        fs::write(made.join("weir-1.2.3.tgz"), chart)?;
        let mut sums = Command::new("sh");
        let sums = sums.args(["-c", "sha256sum *"]).current_dir(&made);
        fs::write(made.join("SHA256SUMS"), run(sums, "coreutils")?)?;
        Ok(made)
    }

    fn out(&self) -> PathBuf {
        self.0.path().join("out")
    }

    fn gather(&self, tag: &str, commit: &str, releases: &[&Path]) -> Result<String> {
        let mut gather = Command::new(house().join("packaging/gather"));
        gather.arg(tag).arg(self.out()).args(releases);
        run(gather.env("COMMIT", commit), "python3")
    }
}

/// What is published must be what was made, of one version and one commit.
#[test]
fn what_was_changed_or_is_of_another_version_is_not_gathered() -> Result<()> {
    let made = Made(tempfile::tempdir()?);
    let release = made.add(ARCH, "c0ffee", "a chart")?;
    let gather = |tag: &str, commit: &str| made.gather(tag, commit, &[&release]);
    gather("v1.2.3", "c0ffee")?;
    assert_eq!(files(&made.out())?, files(&release)?);
    assert_contains(
        &failure(gather("v1.2.4", "c0ffee"))?,
        &["the tag is v1.2.4"],
    );
    assert_contains(
        &failure(gather("v1.2.3", "decaf"))?,
        &["commit c0ffee", "decaf"],
    );
    fs::write(
        release.join(format!("weir-1.2.3-{ARCH}-linux.tar.gz")),
        "another",
    )?;
    assert_contains(&failure(gather("v1.2.3", "c0ffee"))?, &["was changed"]);
    Ok(())
}

/// Both architectures have the chart: it is published once, and if it is the same.
#[test]
fn one_chart_is_gathered() -> Result<()> {
    let made = Made(tempfile::tempdir()?);
    let first = made.add("x86_64", "c0ffee", "a chart")?;
    let second = made.add("aarch64", "c0ffee", "a chart")?;
    made.gather("v1.2.3", "c0ffee", &[&first, &second])?;
    let sums = fs::read_to_string(made.out().join("SHA256SUMS"))?;
    assert_eq!(sums.matches("  weir-1.2.3.tgz\n").count(), 1, "{sums}");
    assert_eq!(sums.lines().count(), 5, "{sums}");
    assert_eq!(files(&made.out())?.len(), 6);
    fs::remove_dir_all(&second)?;
    let second = made.add("aarch64", "c0ffee", "another chart")?;
    let failed = failure(made.gather("v1.2.3", "c0ffee", &[&first, &second]))?;
    assert_contains(&failed, &["different files weir-1.2.3.tgz"]);
    Ok(())
}
