//! The program behind a test's API server: a line of JSON to it for each command, and one back.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::super::program;

/// It ends when this is dropped.
pub(super) struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Program {
    pub(super) fn start(name: &str, kubeconfig: Option<&OsString>) -> Result<Self> {
        let mut command = Command::new(program(name));
        if let Some(kubeconfig) = kubeconfig {
            command.arg(Path::new(kubeconfig));
        }
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.with_context(|| format!("run {name}"))?;
        let output = child.stdout.take().context("piped above")?;
        Ok(Self {
            input: child.stdin.take(),
            output: BufReader::new(output),
            child,
        })
    }

    pub(super) fn write(&mut self, command: &Value) -> Result<()> {
        let input = self.input.as_mut().context("it is running")?;
        writeln!(input, "{command}").context("write to the API server's program")
    }

    pub(super) fn read(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        ensure!(
            !line.is_empty(),
            "the API server's program ended, see above"
        );
        serde_json::from_str(&line).with_context(|| format!("it says {line:?}"))
    }
}

impl Drop for Program {
    /// Its standard input's end is its own: a real cluster has to be cleared up by then.
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
