//! weir's and libcni's directories, in which no plugin may have a store, whatever its grant says: writing there would allow
//! forging grants, plugins and records.

use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat2};
use weir_files::Paths;
use weir_grant::store::is_systems;

use crate::{Error, Result, WhileDoing as _};

/// Fails if `directory` is one of these places, is in one, or contains one.
///
/// Symbolic links on the way are followed, as they are when the store is opened.
/// Errors: `invalid`.
pub(super) fn check(paths: &Paths, directory: &Path) -> Result<()> {
    let mut walked = Walked::default();
    let real = resolve(directory, &mut walked)?;
    for own in paths.own() {
        let own_real = resolve(&own, &mut walked)?;
        let relation = match () {
            () if real == own_real => "is",
            () if real.starts_with(&own_real) => "is in",
            () if own_real.starts_with(&real) => "contains",
            () => continue,
        };
        return Err(Error::invalid(format!(
            "`{}` {relation} `{}`, where no plugin may have a store, whatever its grant allows: name a \
             directory that only plugins use",
            directory.display(),
            own.display()
        )));
    }
    Ok(())
}

/// Fails if symbolic links lead from `directory`, which is not a system's, to one that is: they may have been put there
/// after it was allowed.
///
/// Errors: `invalid`.
pub(super) fn check_links(paths: &Paths, directory: &Path) -> Result<()> {
    let real = resolve(directory, &mut Walked::default())?;
    let (named, led) = (paths.on_node(directory), paths.on_node(&real));
    if is_systems(&led) && !is_systems(&named) {
        Err(Error::invalid(format!(
            "`{}` leads to `{}`, a system directory: name a directory that only plugins use",
            directory.display(),
            real.display()
        )))
    } else {
        Ok(())
    }
}

fn resolve(path: &Path, walked: &mut Walked) -> Result<PathBuf> {
    real(path, walked).while_doing(format!("look for `{}`", path.display()))
}

/// The path without symbolic links, as far as it exists.
fn real(path: &Path, walked: &mut Walked) -> io::Result<PathBuf> {
    if walked.is_real(path) {
        return Ok(path.to_owned());
    }
    let error = match path.canonicalize() {
        Ok(real) => return Ok(real),
        Err(error) => error,
    };
    let missing = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    match path.parent().zip(path.file_name()) {
        Some((parent, name)) if missing => Ok(real(parent, walked)?.join(name)),
        _ => Err(error),
    }
}

/// What is known about paths, most of which share their first directories.
#[derive(Default)]
struct Walked {
    /// Existing paths without symbolic links.
    real: Vec<PathBuf>,
    /// Missing paths in such directories.
    missing: Vec<PathBuf>,
}

impl Walked {
    /// Whether the existing part of a path has no symbolic link. Mostly it has none, and one system call tells that faster
    /// than a look at each directory.
    fn is_real(&mut self, path: &Path) -> bool {
        if path.components().any(|part| part == Component::ParentDir) {
            return false;
        }
        if self.missing.iter().any(|missing| path.starts_with(missing)) {
            return true;
        }
        let how = OpenHow::new()
            .flags(OFlag::O_PATH | OFlag::O_CLOEXEC)
            .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
        let mut missing = None;
        for place in path.ancestors() {
            let is_known = self.real.iter().any(|real| real.starts_with(place));
            let there = if is_known {
                Ok(())
            } else {
                openat2(AT_FDCWD, place, how).map(drop)
            };
            match there {
                Ok(()) => {
                    self.real.push(place.to_owned());
                    self.missing.extend(missing.map(Path::to_owned));
                    return true;
                }
                Err(Errno::ENOENT) => missing = Some(place),
                Err(_) => return false,
            }
        }
        false
    }
}
