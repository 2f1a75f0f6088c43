//! Compiles a component in a process that can do nothing else.
//!
//! The compiler is a program built into this one (`runtime/compiler`). It runs from a memory file, with the component as its
//! standard input and the code as its standard output.

use std::io::{self, Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

use nix::sys::signal::Signal;
use weir_files::memory;

use super::builtin;

/// Why there is no code.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes are something else.
    #[error("{0}")]
    Form(&'static str),
    /// The compiler's message: what is not valid, and where.
    #[error("{0}")]
    Refused(String),
    /// The signal with which the kernel killed the compiler.
    #[error(
        "the kernel killed the compiler with {0}: the component took too much time or memory, or made it do more than compile"
    )]
    Ended(Signal),
    #[error("run the compiler: {0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Missing(#[from] builtin::Missing),
}

/// A component with its code for the engine of this build.
#[derive(Clone, Debug)]
pub struct Compiled {
    component: Vec<u8>,
    code: Vec<u8>,
}

impl Compiled {
    /// Compiles a component. Errors: as of [`compile`].
    pub fn of(component: &[u8]) -> Result<Self, Error> {
        Ok(Self {
            component: component.to_vec(),
            code: compile(component)?,
        })
    }

    pub fn component(&self) -> &[u8] {
        &self.component
    }

    pub fn code(&self) -> &[u8] {
        &self.code
    }
}

/// The code of a component, for the engine of this build.
///
/// Errors: the component is not valid; the compiler exceeded its processor time or memory, or made another system call; it
/// cannot be run, or is not built in.
fn compile(component: &[u8]) -> Result<Vec<u8>, Error> {
    if let Some(form) = other_form(component) {
        return Err(Error::Form(form));
    }
    let program = memory::Program::copy(c"weir-compiler", &mut builtin::compiler()?)?;
    let mut code = memory::file(c"code")?;
    let ended = Command::new(program.path())
        .arg0("weir-compiler")
        .env_clear()
        .stdin(memory::input(c"component", component)?)
        .stdout(code.try_clone()?)
        .output()?;
    said(ended.status, &ended.stderr)?;
    let mut bytes = Vec::new();
    code.rewind()?;
    code.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The first bytes of all WebAssembly.
const MAGIC: &[u8] = b"\0asm";
/// The bytes after [`MAGIC`] in a core module.
const MODULE: &[u8] = b"\x01\0\0\0";

/// What the bytes seem to be, if not a component.
fn other_form(bytes: &[u8]) -> Option<&'static str> {
    match bytes.strip_prefix(MAGIC) {
        Some(rest) if rest.starts_with(MODULE) => Some(
            "it is a core module of WebAssembly, not a component; build it for the target \
             wasm32-wasip2",
        ),
        Some(_) => None,
        None if bytes.is_empty() => Some("it is empty"),
        None if bytes.trim_ascii_start().starts_with(b"(") => {
            Some("it may be WebAssembly text; convert it with `wasm-tools parse`")
        }
        None => Some(
            "it is not WebAssembly; expected the output of a build for the target wasm32-wasip2",
        ),
    }
}

fn said(status: ExitStatus, message: &[u8]) -> Result<(), Error> {
    if let Some(signal) = status.signal() {
        let signal = Signal::try_from(signal).map_err(io::Error::from)?;
        return Err(Error::Ended(signal));
    }
    if !status.success() {
        let message = String::from_utf8_lossy(message);
        return Err(Error::Refused(message.trim_end().to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_bytes_are_recognised() {
        for (bytes, expected) in [
            (&b""[..], "is empty"),
            (b"root:x:0:0:", "is not WebAssembly"),
            (b"\0as", "is not WebAssembly"),
            (b"\n(component)", "text"),
            (b"\0asm\x01\0\0\0", "core module"),
        ] {
            let error = compile(bytes).expect_err("not a component");
            assert!(matches!(error, Error::Form(_)), "{error:?}");
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
