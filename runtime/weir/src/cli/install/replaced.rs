//! Files that weir replaced: kept beside it, and put back by `weir uninstall`.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};

/// `bridge` is kept as `bridge.weir-replaced`, which runtimes take neither for a plugin nor for a configuration.
pub const SUFFIX: &str = ".weir-replaced";

/// Returns the name under which a file is kept.
pub fn name_of(name: &str) -> String {
    format!("{name}{SUFFIX}")
}

/// Returns the names of kept files in a directory, sorted.
pub fn names(directory: &Path) -> Result<Vec<String>> {
    let names = file_names(directory)?.into_iter();
    Ok(names
        .filter_map(|name| Some(name.strip_suffix(SUFFIX)?.to_owned()))
        .filter(|name| !name.is_empty())
        .collect())
}

/// Puts back the kept file of a name, over the present one. It is on disk once the directory is.
pub fn put_back(directory: &Path, name: &str) -> Result<()> {
    fs::rename(directory.join(name_of(name)), directory.join(name))
        .with_context(|| format!("put back `{}`", directory.join(name).display()))
}

pub fn remove(path: &Path) -> Result<()> {
    fs::remove_file(path).with_context(|| format!("remove `{}`", path.display()))
}

/// Returns the names in a directory, sorted; none if it is missing.
pub fn file_names(directory: &Path) -> Result<Vec<String>> {
    let context = || format!("list `{}`", directory.display());
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(context)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        // The names of weir, plugins and configurations are UTF-8.
        names.extend(entry.with_context(context)?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}
