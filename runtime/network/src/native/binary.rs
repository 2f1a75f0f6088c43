//! The program of a native plugin: found, and read once.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::libc;
use weir_cni::{Error, validate_plugin_type};
use weir_files::is_at;
use weir_grant::document::Digest;
use weir_kernel::exec::Sealed;

use crate::codes;

/// The name of weir in a directory of plugins.
const OWN_NAME: &str = "weir";

/// A program, and where it was found.
pub(super) struct Binary {
    pub(super) path: PathBuf,
    pub(super) program: Sealed,
}

impl Binary {
    /// The program of that name, in the first directory that has one.
    ///
    /// Errors: `codes::UNFIT` for a file that cannot be run under a digest, or is weir itself.
    pub(super) fn find(name: &str, directories: &[PathBuf]) -> Result<Option<Self>, Error> {
        validate_plugin_type(name)?;
        for directory in directories {
            let path = directory.join(name);
            let file = match open(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                file => file.map_err(|e| unfit(name, &path, &e))?,
            };
            return Self::of(name, &path, &file).map(Some);
        }
        Ok(None)
    }

    /// The program in a file. Errors: `codes::UNFIT`.
    pub(super) fn of(name: &str, path: &Path, file: &File) -> Result<Self, Error> {
        let directory = path.parent().unwrap_or(Path::new("/"));
        if is_weir(file, directory).map_err(|e| unfit(name, path, &e))? {
            return Err(weir_itself(name, path));
        }
        let program = Sealed::copy(name, file).map_err(|e| unfit(name, path, &e))?;
        let path = path.to_owned();
        Ok(Self { path, program })
    }
}

/// Returns the digest under which a file could be listed. Errors: `codes::UNFIT`.
pub fn inspect(path: &Path) -> Result<Digest, Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let file = open(path).map_err(|e| unfit(&name, path, &e))?;
    let binary = Binary::of(&name, path, &file)?;
    Ok(binary.program.digest().clone())
}

/// Does not wait, as at a pipe.
fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
    options.open(path)
}

/// Whether a file is the running program, or the weir beside it: a link to weir has a component's name, and the component
/// may be gone.
fn is_weir(file: &File, directory: &Path) -> io::Result<bool> {
    Ok(is_at(file, Path::new("/proc/self/exe"))? || is_at(file, &directory.join(OWN_NAME))?)
}

fn weir_itself(name: &str, path: &Path) -> Error {
    Error::new(
        codes::UNFIT,
        format!(
            "`{}` is weir itself, not a native plugin, and no component has the name `{name}`",
            path.display()
        ),
    )
    .with_details(format!(
        "install the component with `weir plugin add FILE --name {name}`, or correct `type` in the network \
         configuration"
    ))
}

pub(super) fn unfit(name: &str, path: &Path, why: &dyn std::fmt::Display) -> Error {
    Error::new(
        codes::UNFIT,
        format!(
            "native plugin `{name}`: `{}` cannot be run: {why}",
            path.display()
        ),
    )
}
