//! Compiles a component in a process that can do nothing else.
//!
//! The compiler is a program inside this one (`runtime/compiler`): it is put into a memory file and
//! run from there, with the component as its standard input and the code as its standard output.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

use nix::errno::Errno;
use nix::libc::MFD_EXEC;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::Signal;

static COMPILER: &[u8] = include_bytes!(env!("WEIR_COMPILER"));

/// Why there is no code.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What there is instead of a component.
    #[error("{0}")]
    Form(&'static str),
    /// What the compiler said: the bytes are no component, and where.
    #[error("{0}")]
    Refused(String),
    /// What the kernel ended it for.
    #[error(
        "the compiler was ended by {0}: the component makes it do more than compile, or too much"
    )]
    Ended(Signal),
    #[error("run the compiler: {0}")]
    Io(#[from] io::Error),
}

/// The code of a component, for the engine of this build.
///
/// Errors: when it is no valid component; when the compiler used more than its minute of processor
/// time, more than its memory, or did anything but compile; when it cannot be run.
pub fn compile(component: &[u8]) -> Result<Vec<u8>, Error> {
    if let Some(form) = other_form(component) {
        return Err(Error::Form(form));
    }
    let program = program()?;
    let mut code = memory_file(c"code", MFdFlags::empty())?;
    let ended = Command::new(path(&program))
        .arg0("weir-compiler")
        .env_clear()
        .stdin(input(component)?)
        .stdout(code.try_clone()?)
        .output()?;
    said(ended.status, &ended.stderr)?;
    let mut bytes = Vec::new();
    code.rewind()?;
    code.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What everything in WebAssembly begins with.
const MAGIC: &[u8] = b"\0asm";
/// What follows in a core module, which component model and version 1 came after.
const MODULE: &[u8] = b"\x01\0\0\0";

/// What the bytes are at first sight, where that is no component.
fn other_form(bytes: &[u8]) -> Option<&'static str> {
    match bytes.strip_prefix(MAGIC) {
        Some(rest) if rest.starts_with(MODULE) => Some(
            "it is a core module of WebAssembly, which is not a component yet; build it for the \
             target wasm32-wasip2",
        ),
        Some(_) => None,
        None if bytes.is_empty() => Some("it is empty"),
        None if bytes.trim_ascii_start().starts_with(b"(") => {
            Some("it may be WebAssembly text; make it binary, as `wasm-tools parse` does")
        }
        None => Some(
            "it does not begin as WebAssembly does; expected what a build for the target \
             wasm32-wasip2 makes",
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

/// The compiler's program file. The kernel runs no file that somebody can still write to, so it is
/// opened again for reading.
fn program() -> io::Result<File> {
    let executable = MFdFlags::from_bits_retain(MFD_EXEC);
    let mut file = match memory_file(c"weir-compiler", executable) {
        // Before Linux 6.3 every memory file can be run.
        Err(error) if error.raw_os_error() == Some(Errno::EINVAL as i32) => {
            memory_file(c"weir-compiler", MFdFlags::empty())?
        }
        file => file?,
    };
    file.write_all(COMPILER)?;
    File::open(path(&file))
}

fn input(component: &[u8]) -> io::Result<File> {
    let mut file = memory_file(c"component", MFdFlags::empty())?;
    file.write_all(component)?;
    file.rewind()?;
    Ok(file)
}

fn memory_file(name: &CStr, flags: MFdFlags) -> io::Result<File> {
    let file: OwnedFd = memfd_create(name, flags | MFdFlags::MFD_CLOEXEC)?;
    Ok(file.into())
}

fn path(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_compiled() {
        let component = include_bytes!(env!("WEIR_HOSTILE"));
        let code = compile(component).expect("it is a component");
        assert!(code.starts_with(b"\x7fELF"));
    }

    #[test]
    fn what_is_none_at_first_sight_is_told() {
        for (bytes, expected) in [
            (&b""[..], "is empty"),
            (b"root:x:0:0:", "does not begin as WebAssembly does"),
            (b"\0as", "does not begin as WebAssembly does"),
            (b"\n(component)", "text"),
            (b"\0asm\x01\0\0\0", "core module"),
        ] {
            let error = compile(bytes).expect_err("it is none");
            assert!(matches!(error, Error::Form(_)), "{error:?}");
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn what_is_none_is_refused_with_the_position() {
        let error = compile(b"\0asm\x0d\0\x01\0\xff").expect_err("no section has this number");
        assert!(
            matches!(&error, Error::Refused(why) if why.contains("offset")),
            "{error}"
        );
    }
}
