//! The SDK as cargo's registry gets it: packages that are whole, and a new project that is built from nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use weir_kit::{Node, assert_contains, binary, house};

use crate::{path, said};

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
    command
        .args(words)
        .arg("--offline")
        .current_dir(directory)
        .env_remove("CARGO_TARGET_DIR")
        // The cheapest build that there is.
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_INCREMENTAL", "0");
    command
}

/// What cargo says of this repository's packages, and of those that they depend on here and in a component.
fn packages() -> Result<Vec<Value>> {
    // The target that is built here, of which all is there.
    let own = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let filters = [&own, TARGET].map(|target| format!("--filter-platform={target}"));
    let mut command = cargo(&["metadata", "--locked", "--format-version", "1"], &house());
    let metadata: Value = serde_json::from_slice(&output(command.args(filters))?)?;
    let packages = metadata["packages"].as_array();
    packages.cloned().context("a list of packages")
}

/// A directory that cargo takes for its registry, without a network.
struct Registry {
    directory: TempDir,
}

impl Registry {
    /// Packages the SDK as for the registry, and puts it beside what this repository depends on.
    fn of(packages: &[Value]) -> Result<Self> {
        let directory = TempDir::with_prefix("weir-registry-")?;
        let registry = Self { directory };
        let made = registry.path("made");
        let mut package = cargo(&["package", "--no-verify", "--allow-dirty"], &house());
        package.arg("--target-dir").arg(&made);
        output(package.args(PACKAGES.iter().flat_map(|name| ["-p", name])))?;
        fs::create_dir(registry.path("crates"))?;
        for name in PACKAGES {
            let file = made.join(format!("package/{name}-{VERSION}.crate"));
            let mut unpack = Command::new("tar");
            unpack.arg("-xzf").arg(&file);
            output(unpack.arg("-C").arg(registry.path("crates")))?;
            check_sums(&registry.package(name))?;
        }
        for package in packages {
            if package["source"].is_string() {
                registry.link(package)?;
            }
        }
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
        let mut check = cargo(&["check"], &project);
        check.arg("--target-dir").arg(self.path("mtu-clamp/target"));
        output(&mut check).map(drop)
    }

    /// Where a package of the SDK is unpacked.
    fn package(&self, name: &str) -> PathBuf {
        self.path("crates").join(format!("{name}-{VERSION}"))
    }

    /// Puts a crate that cargo has unpacked already into the registry.
    fn link(&self, package: &Value) -> Result<()> {
        let manifest = package["manifest_path"].as_str().context("a path")?;
        let source = Path::new(manifest).parent().context("a directory")?;
        let name = source.file_name().context("a name")?;
        let target = self.path("crates").join(name);
        fs::create_dir(&target)?;
        for entry in fs::read_dir(source)? {
            let entry = entry?;
            symlink(entry.path(), target.join(entry.file_name()))?;
        }
        check_sums(&target)
    }

    /// Has cargo take this registry for its own, in the packages and in a project beside them.
    fn be_used(&self) -> Result<()> {
        let (directory, crates) = (self.directory.path(), self.path("crates"));
        let settings = format!(
            "[source.crates-io]\nreplace-with = \"packages\"\n[source.packages]\ndirectory = {}\n",
            json!(path(&crates)?)
        );
        fs::create_dir(directory.join(".cargo"))?;
        Ok(fs::write(directory.join(".cargo/config.toml"), settings)?)
    }
}

/// The list of a crate's files and their digests, of which none need be in it.
fn check_sums(package: &Path) -> Result<()> {
    let list = json!({ "files": {} }).to_string();
    Ok(fs::write(package.join(".cargo-checksum.json"), list)?)
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
    let packages = packages()?;
    let registry = Registry::of(&packages)?;
    for package in &packages {
        if PACKAGES.contains(&package["name"].as_str().unwrap_or_default()) {
            is_whole(&registry, package)?;
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
    registry.be_used()?;
    output(&mut cargo(&["build", "--target", TARGET], &project))?;
    // The packages are what was built, and of the registry.
    let lock = fs::read_to_string(project.join("Cargo.lock"))?;
    for name in PACKAGES {
        let source = "source = \"registry+";
        let entry = format!("name = \"{name}\"\nversion = \"{VERSION}\"\n{source}");
        assert_contains(&lock, &[&entry]);
    }

    let component = project.join("target/wasm32-wasip2/debug/mtu_clamp.wasm");
    let mut test = Command::new(binary());
    test.args(["plugin", "test"]).arg(component);
    let tested = output(test.arg(project.join("network.conflist")))?;
    assert_contains(&String::from_utf8_lossy(&tested), &["passed"]);

    for name in PACKAGES {
        registry.stands_alone(name)?;
    }
    let words = PACKAGES.iter().flat_map(|name| ["-p", name]);
    let mut document = cargo(&["doc", "--no-deps"], &project);
    output(document.args(words).env("RUSTDOCFLAGS", "--cfg docsrs"))?;
    assert!(
        project
            .join("target/doc/weir_sdk/trait.Plugin.html")
            .is_file()
    );
    Ok(())
}
