//! Files in memory: programs that weir starts, their input and their output.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::libc::MFD_EXEC;
use nix::sys::memfd::{MFdFlags, memfd_create};

/// Returns an empty file, for the output of a program. The name only shows in `/proc`.
pub fn file(name: &CStr) -> io::Result<File> {
    create(name, MFdFlags::empty())
}

/// Returns a file with this content, for the input of a program.
pub fn input(name: &CStr, content: &[u8]) -> io::Result<File> {
    let mut file = file(name)?;
    file.write_all(content)?;
    file.rewind()?;
    Ok(file)
}

/// A sealed program: nothing can change it, not even weir.
#[derive(Debug)]
pub struct Program {
    file: File,
}

impl Program {
    /// Copies a program. The copy is what runs, whatever happens to the source.
    pub fn copy(name: &CStr, source: &mut impl Read) -> io::Result<Self> {
        let mut file = executable(name)?;
        io::copy(source, &mut file)?;
        let all = SealFlag::F_SEAL_WRITE
            | SealFlag::F_SEAL_GROW
            | SealFlag::F_SEAL_SHRINK
            | SealFlag::F_SEAL_SEAL;
        fcntl(&file, FcntlArg::F_ADD_SEALS(all))?;
        // The kernel does not run a file that is open for writing, so it is opened again.
        let file = File::open(path(&file))?;
        Ok(Self { file })
    }

    /// Returns the path of the file for this process and its children.
    pub fn path(&self) -> String {
        path(&self.file)
    }

    /// Returns its content from the beginning, for one reader at a time.
    pub fn content(&self) -> io::Result<&File> {
        let mut file = &self.file;
        file.rewind()?;
        Ok(file)
    }
}

fn executable(name: &CStr) -> io::Result<File> {
    let flags = MFdFlags::MFD_ALLOW_SEALING;
    match create(name, flags | MFdFlags::from_bits_retain(MFD_EXEC)) {
        // Before Linux 6.3 every memory file is executable.
        Err(error) if error.raw_os_error() == Some(Errno::EINVAL as i32) => create(name, flags),
        file => file,
    }
}

fn create(name: &CStr, flags: MFdFlags) -> io::Result<File> {
    let file: OwnedFd = memfd_create(name, flags | MFdFlags::MFD_CLOEXEC)?;
    Ok(file.into())
}

fn path(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;

    #[test]
    fn a_program_cannot_be_changed() {
        let program = Program::copy(c"test", &mut &b"content"[..]).expect("a copy");
        let mut writable = OpenOptions::new().write(true).open(program.path());
        let written = writable.as_mut().map(|file| file.write_all(b"other"));
        assert!(matches!(written, Err(_) | Ok(Err(_))), "{written:?}");
        let mut content = Vec::new();
        let mut file = program.content().expect("its content");
        file.read_to_end(&mut content).expect("its content");
        assert_eq!(content, b"content");
    }
}
