//! Compiles a component in a process that can do nothing else.
//!
//! The compiler is a program built into this one (`runtime/compiler`). It runs from a memory file, with the component as its
//! standard input and the code as its standard output.

use std::io::{self, Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Output};

use nix::sys::signal::Signal;
use weir_files::memory;

use super::builtin;

/// A component with its code for the engine of this build.
#[derive(Clone, Debug)]
pub struct Compiled {
    component: Vec<u8>,
    code: Vec<u8>,
}

impl Compiled {
    /// Compiles a component for the engine of this build.
    ///
    /// Errors: the component is not valid; the compiler exceeded its processor time or memory, or made another system call; it
    /// cannot be run, or is not built in.
    pub fn of(component: &[u8]) -> Result<Self, String> {
        Ok(Self {
            component: component.to_vec(),
            code: compile(component)?,
        })
    }

    /// What [`of`](Self::of) returned before.
    ///
    /// # Safety
    ///
    /// A compiler must have made the code of this component: that of this build, or one whose code the engine of this build loads.
    pub unsafe fn of_cache(component: &[u8], code: Vec<u8>) -> Self {
        let component = component.to_vec();
        Self { component, code }
    }

    pub fn component(&self) -> &[u8] {
        &self.component
    }

    pub fn code(&self) -> &[u8] {
        &self.code
    }
}

fn compile(component: &[u8]) -> Result<Vec<u8>, String> {
    if let Some(form) = other_form(component) {
        return Err(form.to_owned());
    }
    let mut program = builtin::compiler().map_err(|missing| missing.to_string())?;
    let ran = run(&mut program, component);
    let (ended, code) = ran.map_err(|error| format!("run the compiler: {error}"))?;
    if let Some(signal) = ended.status.signal() {
        let signal = Signal::try_from(signal).map_or("an unknown signal", Signal::as_str);
        return Err(format!(
            "the kernel killed the compiler with {signal}: the component took too much time or memory, or made it do more \
             than compile"
        ));
    }
    if !ended.status.success() {
        return Err(String::from_utf8_lossy(&ended.stderr).trim_end().to_owned());
    }
    Ok(code)
}

/// Runs the compiler to its end. Also returns the code.
fn run(program: &mut &[u8], component: &[u8]) -> io::Result<(Output, Vec<u8>)> {
    let program = memory::Program::copy(c"weir-compiler", program)?;
    let mut code = memory::file(c"code")?;
    let ended = Command::new(program.path())
        .arg0("weir-compiler")
        .env_clear()
        .stdin(memory::input(c"component", component)?)
        .stdout(code.try_clone()?)
        .output()?;
    let mut bytes = Vec::new();
    code.rewind()?;
    code.read_to_end(&mut bytes)?;
    Ok((ended, bytes))
}

/// The first bytes of all WebAssembly.
const MAGIC: &[u8] = b"\0asm";
/// What the bytes seem to be, if not WebAssembly. What kind of WebAssembly it is, the compiler finds out.
fn other_form(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(MAGIC) {
        None
    } else if bytes.is_empty() {
        Some("it is empty")
    } else if bytes.trim_ascii_start().starts_with(b"(") {
        Some("it may be WebAssembly text; convert it with `wasm-tools parse`")
    } else {
        Some("it is not WebAssembly; expected a component, the output of a build of the plugin")
    }
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
        ] {
            let error = compile(bytes).expect_err("not a component");
            assert!(error.contains(expected), "{error}");
        }
    }
}
