//! One call of a plugin as a CNI runtime does it, with its time and its memory.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use nix::errno::Errno;
use nix::libc;
use serde_json::Value;

/// What a pipe holds without a reader.
const PIPE_CAPACITY: usize = 64 << 10;

/// How one call went.
pub struct Answer {
    /// From before the process is made until it is gone.
    pub elapsed: Duration,
    /// The largest resident set of the process or of one it has waited for, in bytes. Linux counts
    /// this program's own with it, from before the exec: less than that cannot be seen.
    pub peak_memory: u64,
    /// `null` where nothing was printed.
    pub output: Value,
}

/// Runs `program` with exactly this environment and standard input. What it writes to standard
/// error goes to `errors`.
///
/// An error is a program that cannot be run, that fails, or whose output is not JSON.
pub fn call(
    program: &Path,
    environment: &[(&str, &OsStr)],
    input: &Value,
    errors: &Path,
) -> Result<Answer> {
    let shown = program.display();
    let mut command = Command::new(program);
    command
        .env_clear()
        .envs(environment.iter().copied())
        .stdin(filled_pipe(&input.to_string())?)
        .stdout(Stdio::piped())
        .stderr(File::create(errors)?);

    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("run `{shown}`"))?;
    let mut output = Vec::with_capacity(4 << 10);
    child
        .stdout
        .take()
        .expect("piped above")
        .read_to_end(&mut output)?;
    let (status, usage) = wait(child.id())?;
    let elapsed = start.elapsed();

    if status != 0 {
        crate::interrupt::check()?;
        bail!(
            "`{shown}` failed: {} {}",
            String::from_utf8_lossy(&output),
            end_of(errors)
        );
    }
    Ok(Answer {
        elapsed,
        // Linux counts in KiB.
        peak_memory: usage.ru_maxrss as u64 * 1024,
        output: parse(&output).with_context(|| format!("output of `{shown}`"))?,
    })
}

/// A pipe with everything in it already: no plugin waits for this program to write.
fn filled_pipe(text: &str) -> Result<Stdio> {
    if text.len() > PIPE_CAPACITY {
        bail!(
            "a configuration of {} bytes does not fit into a pipe",
            text.len()
        );
    }
    let (reader, mut writer) = std::io::pipe()?;
    writer.write_all(text.as_bytes())?;
    Ok(reader.into())
}

/// Waits for the process. The standard library's `wait` does not tell what it used.
fn wait(process: u32) -> Result<(libc::c_int, libc::rusage)> {
    let mut status = 0;
    // SAFETY: `rusage` is plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live values; the process is our child and not yet waited for.
        let waited = unsafe { libc::wait4(process as i32, &mut status, 0, &mut usage) };
        match Errno::result(waited) {
            Ok(_) => return Ok((status, usage)),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(anyhow!(error).context("wait4")),
        }
    }
}

fn parse(output: &[u8]) -> Result<Value> {
    match output.trim_ascii() {
        [] => Ok(Value::Null),
        text => Ok(serde_json::from_slice(text)?),
    }
}

fn end_of(errors: &Path) -> String {
    std::fs::read_to_string(errors)
        .unwrap_or_default()
        .trim()
        .to_owned()
}
