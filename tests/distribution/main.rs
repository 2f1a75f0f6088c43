//! Plugins as OCI artifacts, with a real registry on this machine: Debian's `docker-registry`. What a registry that lies is
//! answered is tested beside the code, in `runtime/distribution`.

mod credentials;
mod downgrades;
mod encryption;
mod forged;
mod layouts;
mod listed;
mod refused;
mod registry;
mod relay;
mod signatures;
mod transfers;
mod uri_names;
mod uris;
mod versions;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use weir_kit::node::POLICY;
use weir_kit::{binary, component};

/// A user of weir, with a home and a working directory.
struct User {
    home: TempDir,
}

impl User {
    fn new() -> Result<Self> {
        let home = TempDir::with_prefix("weir-test-")?;
        for directory in ["work", "root/etc/weir", "bin", ".docker"] {
            fs::create_dir_all(home.path().join(directory))?;
        }
        let policy = home.path().join("root/etc/weir/plugin-policy.yaml");
        fs::write(policy, POLICY)?;
        Ok(Self { home })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// A file of the working directory.
    fn file(&self, name: &str) -> PathBuf {
        self.path("work").join(name)
    }

    /// Puts a component into the working directory.
    fn put_component(&self, name: &str) -> Result<()> {
        let file = self.file(&format!("{name}.wasm"));
        fs::copy(component(name), file)?;
        Ok(())
    }

    /// Signs a file of the working directory with the key there, `release.pem`.
    fn sign(&self, file: &str) -> Result<()> {
        self.json(&["plugin", "sign", file, "--key", "release.pem"])?;
        Ok(())
    }

    /// The names of all files in the working directory.
    fn files(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.path("work"))? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    fn command(&self, words: &[&str]) -> Result<Command> {
        let path = std::env::var("PATH")?;
        let mut command = Command::new(binary());
        command
            .args(words)
            .current_dir(self.path("work"))
            .env_remove("DOCKER_CONFIG")
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("HOME", self.home.path())
            .env("WEIR_ROOT", self.path("root"))
            // The same component makes the same artifact.
            .env("SOURCE_DATE_EPOCH", "1767225600");
        Ok(command)
    }

    fn output(&self, words: &[&str]) -> Result<Output> {
        self.command(words)?.output().context("run weir")
    }

    /// Runs weir, which must succeed, and returns its output as JSON.
    fn json(&self, words: &[&str]) -> Result<Value> {
        let output = self.output(&[words, &["--output", "json"]].concat())?;
        ensure!(output.status.success(), "{words:?}: {output:?}");
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Runs weir, which must fail, and returns what it complains about.
    fn failure(&self, words: &[&str]) -> Result<String> {
        let output = self.output(words)?;
        ensure!(output.status.code() == Some(1), "{words:?}: {output:?}");
        Ok(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path of text")
}

/// A user, a registry, and a plugin of the examples to be pushed there.
struct Case {
    user: User,
    registry: registry::Registry,
    reference: String,
    file: PathBuf,
}

impl Case {
    fn of(registry: registry::Registry) -> Result<Self> {
        Ok(Self {
            user: User::new()?,
            reference: registry.reference("plugins/pinned-gateway:1.2.0"),
            registry,
            file: component("pinned-gateway"),
        })
    }

    /// The words that push the plugin.
    fn push(&self) -> Result<[&str; 4]> {
        Ok(["plugin", "push", text(&self.file)?, &self.reference])
    }

    /// The artifact by its digest, as `push` printed it.
    fn by_digest(&self, pushed: &Value) -> Result<String> {
        let artifact = pushed["artifact"].as_str().context("a digest")?;
        let name = format!("plugins/pinned-gateway@{artifact}");
        Ok(self.registry.reference(&name))
    }

    /// One whose plugin has been pushed, with what that printed.
    fn pushed() -> Result<(Self, Value)> {
        let case = Self::of(registry::Registry::start()?)?;
        let pushed = case.user.json(&case.push()?)?;
        Ok((case, pushed))
    }
}
