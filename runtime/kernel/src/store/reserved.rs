//! weir's and libcni's directories, in which no plugin may have a store, whatever its grant says: writing there would allow
//! forging grants, plugins and records.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat2};
use weir_files::Paths;
use weir_grant::store::is_systems;

use crate::{Error, Result, WhileDoing as _};

/// Fails if a directory of this name in `parent` is one of these places, is in one, or contains one; or if symbolic links
/// lead from `parent`, which is not a system's, to a directory that is: they may have been put there after it was allowed.
///
/// Symbolic links on the way are followed, as they are when the store is opened.
/// Errors: `invalid`.
pub(super) fn check(paths: &Paths, parent: &Path, name: &OsStr) -> Result<()> {
    let mut walked = Walked::default();
    check_own(paths, &parent.join(name), &mut walked)?;
    check_links(paths, parent, &mut walked)
}

fn check_own(paths: &Paths, directory: &Path, walked: &mut Walked) -> Result<()> {
    let real = resolve(directory, walked)?;
    for own in paths.own() {
        let own_real = resolve(&own, walked)?;
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

fn check_links(paths: &Paths, directory: &Path, walked: &mut Walked) -> Result<()> {
    let real = resolve(directory, walked)?;
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
    real(path, walked).while_doing(format_args!("look for `{}`", path.display()))
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

/// Whether a path has a `..`.
fn leads_up(path: &Path) -> bool {
    let mut pairs = path.as_os_str().as_bytes().windows(2);
    pairs.any(|pair| pair == b"..") && path.components().any(|part| part == Component::ParentDir)
}

/// Whether a path is a directory or in it, as far as their bytes tell, which is faster than to compare each part. Paths with
/// superfluous slashes are looked at once more.
fn is_in(path: &Path, directory: &Path) -> bool {
    let path = path.as_os_str().as_bytes();
    let rest = path.strip_prefix(directory.as_os_str().as_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
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
        if leads_up(path) {
            return false;
        }
        if self.missing.iter().any(|missing| is_in(path, missing)) {
            return true;
        }
        let how = OpenHow::new()
            .flags(OFlag::O_PATH | OFlag::O_CLOEXEC)
            .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
        let mut missing = None;
        for place in path.ancestors() {
            let is_known = self.real.iter().any(|real| is_in(real, place));
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
