//! Which files of a crate are code, and which items are tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use syn::{Attribute, Item};

/// The directories of a crate without code of its own: Cargo's places for tests, and what is built.
const NOT_CODE: [&str; 3] = ["benches", "target", "tests"];

/// Returns the crate's files of Rust, without modules that are built for tests only.
pub(crate) fn files(directory: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut files = BTreeSet::new();
    for entry in entries(directory)? {
        if !NOT_CODE.iter().any(|name| entry.ends_with(name)) {
            add(&entry, &mut files)?;
        }
    }
    let mut tests = Vec::new();
    for file in &files {
        tests.extend(test_modules(file)?);
    }
    files.retain(|file| !tests.iter().any(|module| is_of(file, module)));
    Ok(files)
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory);
    let entries = entries.with_context(|| format!("read {}", directory.display()))?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

fn add(path: &Path, files: &mut BTreeSet<PathBuf>) -> Result<()> {
    if path.is_dir() {
        for entry in entries(path)? {
            add(&entry, files)?;
        }
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        files.insert(path.to_owned());
    }
    Ok(())
}

/// The modules for tests only that a file declares and does not contain: `src/tests` for `src/tests.rs`.
fn test_modules(file: &Path) -> Result<Vec<PathBuf>> {
    let text = fs::read_to_string(file)?;
    let parsed = syn::parse_file(&text).with_context(|| file.display().to_string())?;
    let directory = directory_of_children(file);
    let items = parsed.items.iter().filter(|item| is_for_tests(item));
    let modules = items.filter_map(|item| match item {
        Item::Mod(module) if module.content.is_none() => Some(module.ident.to_string()),
        _ => None,
    });
    Ok(modules.map(|name| directory.join(name)).collect())
}

/// Whether a file is a module's, or that of a module in it.
fn is_of(file: &Path, module: &Path) -> bool {
    file.with_extension("") == module || file.starts_with(module)
}

/// Returns where the files of a file's child modules are.
pub fn directory_of_children(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default();
    match stem.to_str() {
        Some("lib" | "main" | "mod") => file.with_file_name(""),
        _ => file.with_extension(""),
    }
}

/// Whether an item is built for tests only.
pub fn is_for_tests(item: &Item) -> bool {
    let attributes: &[Attribute] = match item {
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    };
    attributes.iter().any(|attribute| {
        let condition = attribute.parse_args::<syn::Path>();
        attribute.path().is_ident("cfg") && condition.is_ok_and(|path| path.is_ident("test"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_in_files_of_their_own_are_left_out() -> Result<()> {
        let root = tempfile::tempdir()?;
        for (file, text) in [
            ("build.rs", ""),
            ("src/lib.rs", "mod a; mod tests;"),
            (
                "src/a.rs",
                "#[cfg(test)] mod tests; #[cfg(not(test))] mod b;",
            ),
            ("src/a/b.rs", ""),
            ("src/a/tests.rs", "mod deep;"),
            ("src/a/tests/deep.rs", ""),
            ("src/tests.rs", ""),
            ("tests/attachment.rs", ""),
            ("target/debug/made.rs", ""),
        ] {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().context("a directory")?)?;
            fs::write(file, text)?;
        }
        let files = files(root.path())?;
        let names = files.iter().map(|file| file.strip_prefix(root.path()));
        let names: Vec<_> = names.collect::<Result<_, _>>()?;
        let expected = [
            "build.rs",
            "src/a/b.rs",
            "src/a.rs",
            "src/lib.rs",
            "src/tests.rs",
        ];
        assert_eq!(names, expected.map(Path::new));
        Ok(())
    }
}
