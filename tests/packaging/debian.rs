//! The Debian package: what it puts on a machine, and that it takes it away again.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use weir_kit::{assert_contains, binary};

use super::release::{Release, files};
use super::{manual, run};

/// Debian's name of this architecture.
const DEBIAN: &str = if cfg!(target_arch = "aarch64") {
    "arm64"
} else {
    "amd64"
};

pub fn check(release: &Release) -> Result<()> {
    let package = release.file(&format!(
        "weir_{}-1_{DEBIAN}.deb",
        env!("CARGO_PKG_VERSION")
    ));
    check_control(&package)?;
    let machine = release.directory.path().join("machine");
    install(&package, &machine)?;
    let weir = machine.join("usr/bin/weir");
    assert_eq!(fs::read(&weir)?, fs::read(binary())?);
    let version = run(Command::new(&weir).arg("version"), "weir")?;
    assert_eq!(version, format!("weir {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(files(&machine.join("usr"))?, expected());
    let installed: BTreeSet<String> = directories(&machine)?;
    assert_eq!(
        installed,
        BTreeSet::from(["usr".to_owned(), "var".to_owned()])
    );
    purge(&machine)
}

/// Who owns the files, and what runs when it is installed: nothing does.
fn check_control(package: &Path) -> Result<()> {
    let deb = |option: &str| run(Command::new("dpkg-deb").arg(option).arg(package), "dpkg");
    for line in deb("--contents")?.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[1], "root/root", "{line}");
        assert!(
            !words[0][1..].contains(['s', 't']) && !words[0][4..].contains('w'),
            "{line}"
        );
    }
    let about = deb("--info")?;
    assert_contains(
        &about,
        &[
            "Package: weir\n",
            &format!("Architecture: {DEBIAN}\n"),
            "control",
            "md5sums",
        ],
    );
    for script in [
        "preinst",
        "postinst",
        "prerm",
        "postrm",
        "conffiles",
        "triggers",
        "Depends:",
    ] {
        assert!(!about.contains(script), "{about}");
    }
    Ok(())
}

/// The command of a machine that is a directory, without a system in it.
fn dpkg(machine: &Path) -> Command {
    let mut dpkg = Command::new("dpkg");
    dpkg.arg(format!("--root={}", machine.display()));
    dpkg.args(["--force-not-root", "--force-bad-path", "--log=/dev/null"]);
    dpkg
}

fn install(package: &Path, machine: &Path) -> Result<()> {
    let state = machine.join("var/lib/dpkg");
    for directory in ["info", "updates", "triggers"] {
        fs::create_dir_all(state.join(directory))?;
    }
    fs::write(state.join("status"), "")?;
    run(dpkg(machine).arg("--install").arg(package), "dpkg")?;
    let verified = run(dpkg(machine).args(["--verify", "weir"]), "dpkg")?;
    assert_eq!(verified, "", "what is installed is what the package says");
    Ok(())
}

/// What it puts below `/usr`.
fn expected() -> BTreeSet<String> {
    let pages = manual::names().map(|page| format!("share/man/man1/{page}.gz"));
    let others = [
        "bin/weir",
        "share/bash-completion/completions/weir",
        "share/doc/weir/COPYRIGHT-rust-library.html.gz",
        "share/doc/weir/THIRD-PARTY-LICENSES.gz",
        "share/doc/weir/changelog.Debian.gz",
        "share/doc/weir/changelog.gz",
        "share/doc/weir/copyright",
        "share/doc/weir/weir.cdx.json.gz",
        "share/fish/vendor_completions.d/weir.fish",
        "share/lintian/overrides/weir",
        "share/zsh/vendor-completions/_weir",
    ];
    others.into_iter().map(str::to_owned).chain(pages).collect()
}

fn directories(machine: &Path) -> Result<BTreeSet<String>> {
    let entries = fs::read_dir(machine)?;
    entries
        .map(|entry| entry?.file_name().into_string().ok().context("a name"))
        .collect()
}

fn purge(machine: &Path) -> Result<()> {
    run(dpkg(machine).args(["--purge", "weir"]), "dpkg")?;
    assert!(!machine.join("usr").exists());
    let left = files(&machine.join("var"))?;
    assert!(
        left.iter()
            .all(|file| file.starts_with("lib/dpkg/") && !file.contains("weir")),
        "{left:?}"
    );
    Ok(())
}
