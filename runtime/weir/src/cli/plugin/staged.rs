//! Files that are written as a whole, and several of them all or not at all.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::{Builder, NamedTempFile, TempPath};

/// Writes all files, and removes those without content, or changes none. Without `replace` none may exist.
pub fn write_all(files: &[(&PathBuf, Option<&[u8]>)], replace: bool) -> Result<()> {
    let staged: Vec<_> = files
        .iter()
        .map(|(file, content)| Ok((*file, content.map(|c| stage(file, c)).transpose()?)))
        .collect::<Result<_>>()?;
    let mut changed = Vec::new();
    let outcome = staged.into_iter().try_for_each(|(file, staged)| {
        let former = keep(file)?;
        match staged {
            Some(staged) => settle(staged, file, replace)?,
            None if replace => {
                remove(file).with_context(|| format!("remove `{}`", file.display()))?;
            }
            None => {}
        }
        changed.push((file, former));
        Ok(())
    });
    if outcome.is_err() {
        // The error says why.
        for (file, former) in changed {
            let _ = restore(file, former);
        }
    }
    outcome
}

/// Writes a file under a name of its own, which is removed if it gets no other.
pub fn stage(file: &Path, content: &[u8]) -> Result<NamedTempFile> {
    let context = || format!("write `{}`", file.display());
    let mut staged = Builder::new()
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(directory(file))
        .with_context(context)?;
    staged.write_all(content).with_context(context)?;
    Ok(staged)
}

/// Gives a written file its name.
pub fn settle(staged: NamedTempFile, file: &Path, replace: bool) -> Result<()> {
    let settled = if replace {
        staged.persist(file)
    } else {
        staged.persist_noclobber(file)
    };
    let context = || format!("write `{}`", file.display());
    settled.map_err(|error| error.error).with_context(context)?;
    Ok(())
}

/// A second name of a file, which is removed if the file does not need it; none if there is no such file.
fn keep(file: &Path) -> Result<Option<TempPath>> {
    let context = || format!("keep `{}`", file.display());
    match file.symlink_metadata() {
        // It cannot be replaced.
        Ok(metadata) if metadata.is_dir() => return Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        found => found.with_context(context)?,
    };
    let link = Builder::new().make_in(directory(file), |name| fs::hard_link(file, name));
    match link {
        Ok(link) => Ok(Some(link.into_temp_path())),
        // The file system has no links, or the file is another user's.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => copy(file).map(Some),
        Err(error) => Err(error).with_context(context),
    }
}

fn copy(file: &Path) -> Result<TempPath> {
    let content = fs::read(file).with_context(|| format!("keep `{}`", file.display()))?;
    Ok(stage(file, &content)?.into_temp_path())
}

fn restore(file: &Path, former: Option<TempPath>) -> io::Result<()> {
    match former {
        Some(former) => former.persist(file).map_err(|error| error.error),
        None => remove(file),
    }
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn directory(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names in a directory, and what the files say.
    fn content(directory: &Path) -> Result<Vec<(String, Option<String>)>> {
        let entries = fs::read_dir(directory)?;
        let mut content: Vec<_> = entries
            .map(|entry| {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                Ok((name, fs::read_to_string(entry.path()).ok()))
            })
            .collect::<Result<_>>()?;
        content.sort();
        Ok(content)
    }

    #[test]
    fn a_copy_is_put_back_as_well() -> Result<()> {
        let directory = tempfile::tempdir()?;
        let file = directory.path().join("proposal");
        fs::write(&file, "old")?;
        let former = copy(&file)?;
        fs::write(&file, "new")?;
        restore(&file, Some(former))?;
        let old = ("proposal".to_owned(), Some("old".to_owned()));
        assert_eq!(content(directory.path())?, [old]);
        Ok(())
    }

    #[test]
    fn an_error_changes_nothing() -> Result<()> {
        let directory = tempfile::tempdir()?;
        let path = |name: &str| directory.path().join(name);
        fs::write(path("proposal"), "old")?;
        fs::write(path("signature"), "old")?;
        // Nothing can be written in its place.
        fs::create_dir(path("component"))?;
        let before = content(directory.path())?;
        let files = [
            (&path("proposal"), Some(&b"new"[..])),
            (&path("signature"), None),
            (&path("origin"), Some(b"new")),
            (&path("component"), Some(b"new")),
        ];
        for replace in [true, false] {
            let error = write_all(&files, replace).expect_err("a directory is in the way");
            let place = if replace { "component" } else { "proposal" };
            assert!(format!("{error:#}").contains(place), "{error:#}");
            assert_eq!(content(directory.path())?, before);
        }
        fs::remove_dir(path("component"))?;
        write_all(&files, true)?;
        let new = |name: &str| (name.to_owned(), Some("new".to_owned()));
        let written = ["component", "origin", "proposal"].map(new);
        assert_eq!(content(directory.path())?, written);
        Ok(())
    }
}
