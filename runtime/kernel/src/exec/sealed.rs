//! A program file, read once: looked at, hashed, and the same until it has run.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, ErrorKind, Read};

use sha2::{Digest as _, Sha256};
use weir_files::memory::Program;
use weir_grant::document::Digest;

/// The largest program in bytes; it stays in memory while it runs.
const MOST_BYTES: u64 = 512 << 20;

/// The magic number of programs.
const ELF: &[u8] = b"\x7fELF";

/// An immutable copy of a program, and its digest.
#[derive(Debug)]
pub struct Sealed {
    program: Program,
    digest: Digest,
}

impl Sealed {
    /// Copies a file and hashes the copy. `name` shows in `/proc`.
    ///
    /// Errors: also `InvalidInput` for a file that cannot be run.
    pub fn copy(name: &str, file: &File) -> io::Result<Self> {
        check_kind(file)?;
        let name = CString::new(name)?;
        let program = Program::copy(&name, &mut file.take(MOST_BYTES + 1))?;
        let content = program.content()?;
        if content.metadata()?.len() > MOST_BYTES {
            return Err(unfit(format!("it has more than {MOST_BYTES} bytes")));
        }
        check_beginning(content)?;
        let digest = hash(program.content()?)?;
        Ok(Self { program, digest })
    }

    /// Returns the SHA-256 of the copy.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    pub(super) fn path(&self) -> String {
        self.program.path()
    }
}

fn unfit(why: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, why.into())
}

fn check_kind(file: &File) -> io::Result<()> {
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        Ok(())
    } else if kind.is_dir() {
        Err(unfit("it is a directory, not a file"))
    } else {
        Err(unfit("it is a device or a pipe, not a file"))
    }
}

fn check_beginning(content: &File) -> io::Result<()> {
    let mut first = Vec::new();
    content.take(ELF.len() as u64).read_to_end(&mut first)?;
    match first.as_slice() {
        ELF => Ok(()),
        first if first.starts_with(b"#!") => Err(unfit(
            "it is a script; its interpreter would run, which no digest covers",
        )),
        _ => Err(unfit("it is not an ELF program")),
    }
}

fn hash(mut content: &File) -> io::Result<Digest> {
    let mut hash = Sha256::new();
    let mut piece = vec![0; 256 << 10];
    loop {
        match content.read(&mut piece) {
            Ok(0) => return Ok(Digest::new(hash.finalize().into())),
            Ok(length) => hash.update(&piece[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_files::memory;

    fn copy(content: &[u8]) -> io::Result<Sealed> {
        Sealed::copy("test", &memory::input(c"source", content).expect("a file"))
    }

    #[test]
    fn the_digest_is_that_of_the_bytes() {
        let content = [ELF, &[7; 1 << 20]].concat();
        let sealed = copy(&content).expect("it begins as a program");
        assert_eq!(
            *sealed.digest(),
            Digest::new(Sha256::digest(&content).into())
        );
    }

    #[test]
    fn what_is_no_program_is_an_error() {
        for (content, expected) in [
            (&b"#!/bin/sh\n"[..], "a script"),
            (b"", "not an ELF program"),
            (b"\x7fEL", "not an ELF program"),
            (b"\0asm", "not an ELF program"),
        ] {
            let why = copy(content).expect_err("no program").to_string();
            assert!(why.contains(expected), "{why}");
        }
        let directory = File::open("/").expect("a directory");
        let why = Sealed::copy("test", &directory).expect_err("no file");
        assert!(why.to_string().contains("a directory"), "{why}");
    }
}
