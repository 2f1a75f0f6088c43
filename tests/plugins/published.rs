//! The SDK as cargo's registry gets it: packages that are whole, and a new project that is built from nothing else of weir.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use weir_kit::{Node, assert_contains, binary, house, target};

use crate::{path, said, share_features};

/// What is published, in the order in which it must be.
const PACKAGES: [&str; 3] = ["weir-cni", "weir-sdk-macros", "weir-sdk"];

/// Their version: weir's own.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The target of components.
const TARGET: &str = "wasm32-wasip2";

/// Runs a program, which must succeed, and returns its standard output.
fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command
        .output()
        .with_context(|| format!("run {command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", said(&output));
    Ok(output.stdout)
}

/// A command of cargo that asks no server.
fn cargo(words: &[&str], directory: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.args(words).arg("--offline").current_dir(directory);
    command
}

/// A command of cargo for a project outside the repository. What it needs of others is built already, with the
/// repository's profile `dev`.
fn cargo_outside(words: &[&str], directory: &Path) -> Command {
    let mut command = cargo(words, directory);
    command
        .arg("--config")
        .arg(house().join("Cargo.toml"))
        .arg("--target-dir")
        .arg(house().join("target"))
        .env("CARGO_INCREMENTAL", "0");
    command
}

/// What cargo says of a workspace's packages.
fn packages(directory: &Path, options: &[&str]) -> Result<Vec<Value>> {
    let words = [&["metadata", "--format-version", "1"], options].concat();
    let mut command = cargo(&words, directory);
    // Of other targets, not everything need be there.
    let filters = [&target(), TARGET].map(|target| format!("--filter-platform={target}"));
    let metadata: Value = serde_json::from_slice(&output(command.args(filters))?)?;
    let packages = metadata["packages"].as_array();
    packages.cloned().context("a list of packages")
}

/// The packages of the SDK in the place of those in cargo's registry.
struct Registry {
    directory: TempDir,
}

impl Registry {
    /// Packages the SDK as for the registry. Projects below the directory use these packages.
    fn create() -> Result<Self> {
        let directory = TempDir::with_prefix("weir-registry-")?;
        let registry = Self { directory };
        let made = registry.path("made");
        let mut package = cargo(&["package", "--no-verify", "--allow-dirty"], &house());
        package.arg("--target-dir").arg(&made);
        output(package.args(PACKAGES.iter().flat_map(|name| ["-p", name])))?;
        fs::create_dir(registry.path("crates"))?;
        let mut settings = "[patch.crates-io]\n".to_owned();
        for name in PACKAGES {
            let file = made.join(format!("package/{name}-{VERSION}.crate"));
            let mut unpack = Command::new("tar");
            unpack.arg("-xzf").arg(&file);
            output(unpack.arg("-C").arg(registry.path("crates")))?;
            let unpacked = json!(path(&registry.package(name))?);
            settings += &format!("{name} = {{ path = {unpacked} }}\n");
        }
        fs::create_dir(registry.path(".cargo"))?;
        fs::write(registry.path(".cargo/config.toml"), settings)?;
        Ok(registry)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Compiles a package for a project that has no other, so that it names each feature of a dependency that it needs. In a build of
    /// several, one package gets what another asked for.
    fn stands_alone(&self, name: &str) -> Result<()> {
        let project = self.path(&format!("only-{name}"));
        fs::create_dir_all(project.join("src"))?;
        fs::write(project.join("src/lib.rs"), "")?;
        let manifest = format!(
            "[package]\nname = \"only\"\nedition = \"2024\"\n[dependencies]\n{name} = \"{VERSION}\"\n"
        );
        fs::write(project.join("Cargo.toml"), manifest)?;
        share_features(&project)?;
        lock(&project)?;
        output(&mut cargo_outside(
            &["check", "--target", &target()],
            &project,
        ))
        .map(drop)
    }

    /// Where a package of the SDK is unpacked.
    fn package(&self, name: &str) -> PathBuf {
        self.path("crates").join(format!("{name}-{VERSION}"))
    }

    /// Whether a project is built from these packages.
    fn is_used(&self, project: &Path) -> Result<()> {
        let packages = packages(project, &[])?;
        for name in PACKAGES {
            let package = packages.iter().find(|package| package["name"] == name);
            let manifest = package.map(|package| &package["manifest_path"]);
            assert_eq!(
                manifest,
                Some(&json!(path(&self.package(name).join("Cargo.toml"))?))
            );
        }
        Ok(())
    }
}

/// Gives a project the versions of what weir depends on, which are on this machine.
fn lock(project: &Path) -> Result<()> {
    fs::copy(house().join("Cargo.lock"), project.join("Cargo.lock"))?;
    Ok(())
}

/// The files of a directory without those in directories of its own.
fn files(directory: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.path().is_file() {
            names.insert(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(names)
}

/// A package says what it is, and has its licence, its page, and all that it is built from.
fn is_whole(registry: &Registry, package: &Value) -> Result<()> {
    let name = package["name"].as_str().context("a name")?;
    for key in ["description", "license", "repository", "readme"] {
        let is_said = package[key].as_str().is_some_and(|text| !text.is_empty());
        assert!(is_said, "{name} has no `{key}`");
    }
    for (key, most) in [("keywords", 5), ("categories", 5)] {
        let words = package[key].as_array().map_or(0, Vec::len);
        assert!((1..=most).contains(&words), "{name} has {words} {key}");
    }
    assert!(package["metadata"]["docs"]["rs"].is_object(), "{name}");
    let packaged = registry.package(name);
    let licence = fs::read(packaged.join("LICENSE"))?;
    assert_eq!(licence, fs::read(house().join("LICENSE"))?, "{name}");
    assert!(packaged.join("README.md").is_file(), "{name}");
    Ok(())
}

/// The contract of the package is the repository's.
fn has_the_contract(registry: &Registry) -> Result<()> {
    let (own, packaged) = (
        house().join("wit"),
        registry.package("weir-sdk").join("wit"),
    );
    let names = files(&own)?;
    assert!(names.contains("world.wit"), "{names:?}");
    assert_eq!(files(&packaged)?, names);
    for name in names {
        assert_eq!(
            fs::read(packaged.join(&name))?,
            fs::read(own.join(&name))?,
            "{name}"
        );
    }
    Ok(())
}

#[test]
fn a_project_is_built_from_the_packages_alone() -> Result<()> {
    let registry = Registry::create()?;
    for package in packages(&house(), &["--locked"])? {
        if PACKAGES.contains(&package["name"].as_str().unwrap_or_default()) {
            is_whole(&registry, &package)?;
        }
    }
    has_the_contract(&registry)?;

    let node = Node::create()?;
    let project = registry.path("mtu-clamp");
    let (compatible, _) = VERSION.rsplit_once('.').context("three numbers")?;
    let words = ["plugin", "new", "mtu-clamp", path(&project)?];
    node.weir(&[&words[..], &["--sdk", compatible]].concat())?;
    let manifest = fs::read_to_string(project.join("Cargo.toml"))?;
    assert_contains(&manifest, &[&format!("\nweir-sdk = \"{compatible}\"\n")]);
    share_features(&project)?;
    lock(&project)?;
    registry.is_used(&project)?;
    output(&mut cargo_outside(&["build", "--target", TARGET], &project))?;

    let component = house().join("target/wasm32-wasip2/debug/mtu_clamp.wasm");
    let mut test = Command::new(binary());
    test.args(["plugin", "test"]).arg(component);
    let tested = output(test.arg(project.join("network.conflist")))?;
    assert_contains(&String::from_utf8_lossy(&tested), &["passed"]);

    for name in PACKAGES {
        registry.stands_alone(name)?;
    }
    let words = PACKAGES.iter().flat_map(|name| ["-p", name]);
    let mut document = cargo_outside(&["doc", "--no-deps"], &project);
    output(document.args(words).env("RUSTDOCFLAGS", "--cfg docsrs"))?;
    let page = house().join("target/doc/weir_sdk/trait.Plugin.html");
    assert!(page.is_file());
    Ok(())
}
