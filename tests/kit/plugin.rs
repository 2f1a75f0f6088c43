//! A plugin called as a container runtime calls it: environment, standard input, standard output.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use super::assert_contains;
use super::grants_used;
use super::memory;
use super::node::{Container, Node};
use super::trace;

/// Where Debian puts the reference plugins.
pub const REFERENCE: &str = "/usr/lib/cni";

/// Names a directory of reference plugins of another version.
pub const ANOTHER_REFERENCE: &str = "WEIR_REFERENCE";

/// Whether the reference plugins are of another version than Debian's.
pub fn is_another_reference() -> bool {
    std::env::var_os(ANOTHER_REFERENCE).is_some()
}

/// Returns where the reference plugins are.
pub fn reference_directory() -> String {
    std::env::var(ANOTHER_REFERENCE).unwrap_or_else(|_| REFERENCE.to_owned())
}

/// One call of a plugin.
#[derive(Clone, Debug)]
pub struct Call {
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
    input: Vec<u8>,
}

/// The outcome of a call.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The exit status; none when a signal ended it.
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// A call of weir under a plugin's name, on a node.
pub fn weir(
    node: &Node,
    plugin: &str,
    command: &str,
    container: &Container,
    config: &Value,
) -> Call {
    let mut call = Call::new(&node.bin_dir().join(plugin), command, container, config);
    call.set("WEIR_ROOT", node.root());
    if grants_used::is_recorded() {
        call.set("WEIR_AUDIT_READS", "1");
    }
    call
}

/// A call of a reference plugin.
pub fn reference(plugin: &str, command: &str, container: &Container, config: &Value) -> Call {
    Call::new(
        &Path::new(&reference_directory()).join(plugin),
        command,
        container,
        config,
    )
}

/// A call of the floor of the figures, which knows several plugins.
pub fn floor(command: &str, container: &Container, config: &Value) -> Call {
    Call::new(&super::program("weir-floor"), command, container, config)
}

impl Call {
    fn new(program: &Path, command: &str, container: &Container, config: &Value) -> Self {
        let mut call = Self {
            program: program.to_owned(),
            environment: Vec::new(),
            input: config.to_string().into_bytes(),
        };
        call.set("PATH", std::env::var_os("PATH").unwrap_or_default());
        call.set("CNI_COMMAND", command);
        call.set("CNI_CONTAINERID", &container.id);
        call.set("CNI_NETNS", container.netns());
        call.set("CNI_IFNAME", "eth0");
        call.set("CNI_PATH", program.parent().unwrap_or(Path::new("/")));
        call
    }

    /// Sets an environment variable.
    pub fn set(&mut self, name: &str, value: impl Into<OsString>) -> &mut Self {
        self.unset(name);
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Removes an environment variable.
    pub fn unset(&mut self, name: &str) -> &mut Self {
        self.environment.retain(|(n, _)| n != name);
        self
    }

    /// Replaces standard input, for what is not JSON.
    pub fn input(&mut self, input: impl Into<Vec<u8>>) -> &mut Self {
        self.input = input.into();
        self
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        let variables = self.environment.iter().map(|(name, value)| (name, value));
        command.env_clear().envs(variables);
        command
    }

    /// Runs it and kills it at a point, see [`trace`].
    pub fn run_until(&self, point: Option<usize>) -> Result<trace::End> {
        trace::run(&mut self.command(), &self.input, point)
    }

    /// Starts it; standard input is written already. For tests that kill it.
    pub fn start(&self) -> Result<Child> {
        start(&mut self.command(), &self.input)
    }

    /// Runs it to its end, and tells the most memory that it had, see [`memory`].
    pub fn measure(&self) -> Result<memory::Measured> {
        memory::measure(&mut self.command(), &self.input)
    }

    /// Runs it to its end, in the calling thread's namespace.
    pub fn run(&self) -> Result<Outcome> {
        let output = self
            .start()?
            .wait_with_output()
            .context("wait for the plugin")?;
        Ok(Outcome {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

/// Starts a program with this on its standard input. One that ends before it reads has a status that says so.
pub fn start(program: &mut Command, input: &[u8]) -> Result<Child> {
    let mut child = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("run {program:?}"))?;
    let mut stdin = child.stdin.take().context("its standard input")?;
    let _ = stdin.write_all(input);
    Ok(child)
}

impl Outcome {
    /// Whether it ended with status 0.
    pub fn succeeded(&self) -> bool {
        self.status == Some(0)
    }

    /// The one JSON document on standard output; `Null` when there is none.
    pub fn document(&self) -> Value {
        match self.stdout.trim() {
            "" => Value::Null,
            text => serde_json::from_str(text)
                .unwrap_or_else(|e| panic!("standard output is not one document: {e}\n{self:?}")),
        }
    }

    /// The result of a call that must have succeeded.
    #[track_caller]
    pub fn result(&self) -> Value {
        assert!(self.succeeded(), "the plugin failed: {self:?}");
        self.document()
    }

    /// The error of a call that must have failed as CNI says: status 1, one error document.
    #[track_caller]
    pub fn error(&self) -> Value {
        assert_eq!(self.status, Some(1), "expected a CNI error: {self:?}");
        let error = self.document();
        assert!(
            error["code"].is_u64() && error["msg"].is_string(),
            "no CNI error: {self:?}"
        );
        error
    }

    /// The error's message.
    #[track_caller]
    pub fn message(&self) -> String {
        self.error()["msg"].as_str().unwrap_or_default().to_owned()
    }

    /// The error's message and details.
    #[track_caller]
    pub fn said(&self) -> String {
        let details = &self.error()["details"];
        format!(
            "{} {}",
            self.message(),
            details.as_str().unwrap_or_default()
        )
    }

    /// Checks that the call failed with this code, and with these words in the error's message or details. Returns the
    /// error.
    #[track_caller]
    pub fn refused(&self, code: u64, words: &[&str]) -> Value {
        assert_eq!(self.code(), code, "{:#}", self.error());
        assert_contains(&self.said(), words);
        self.error()
    }

    /// Checks that the call failed with this code, and with these words in the error's message. Returns the error.
    #[track_caller]
    pub fn told(&self, code: u64, words: &[&str]) -> Value {
        assert_contains(&self.message(), words);
        self.refused(code, &[])
    }

    /// The code of that error.
    #[track_caller]
    pub fn code(&self) -> u64 {
        self.error()["code"].as_u64().unwrap_or_default()
    }
}
