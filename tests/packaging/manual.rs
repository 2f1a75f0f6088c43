//! `weir man`: a page for each command.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use weir_kit::help::commands;
use weir_kit::{assert_contains, failure};

use super::{run, weir};

/// The names of the pages: weir's, and one for each command.
pub fn names() -> impl Iterator<Item = String> {
    let all = [String::new()].into_iter().chain(commands());
    all.map(|words| format!("{}.1", format!("weir {words}").trim().replace(' ', "-")))
}

#[test]
fn each_command_has_a_page_that_is_valid() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let pages = directory.path().join("man/man1");
    weir(&["man", &pages.display().to_string()])?;
    let expected: BTreeSet<String> = names().collect();
    let mut written = BTreeSet::new();
    for entry in fs::read_dir(&pages)? {
        let path = entry?.path();
        let mut mandoc = Command::new("mandoc");
        mandoc.args(["-T", "lint", "-W", "warning"]).arg(&path);
        let output = mandoc
            .output()
            .context("run mandoc, Debian's package of that name")?;
        let found = String::from_utf8(output.stdout)?;
        // An empty line before possible values, as clap's project writes it.
        let harmless = "WARNING: skipping paragraph macro: br ";
        let found: Vec<&str> = found
            .lines()
            .filter(|line| !line.contains(harmless))
            .collect();
        assert!(found.is_empty(), "{found:?}");
        written.extend(
            path.file_name()
                .map(|name| name.to_string_lossy().into_owned()),
        );
    }
    assert_eq!(written, expected);
    Ok(())
}

#[test]
fn a_page_says_what_the_help_says() -> Result<()> {
    let directory = tempfile::tempdir()?;
    weir(&["man", &directory.path().display().to_string()])?;
    let read = |page: &str| {
        let mut mandoc = Command::new("mandoc");
        run(
            mandoc
                .args(["-T", "ascii"])
                .arg(directory.path().join(page)),
            "mandoc",
        )
    };
    // What is bold is printed over itself.
    let plain = |text: String| {
        let mut plain = String::new();
        for character in text.chars() {
            if character == '\u{8}' {
                plain.pop();
            } else {
                plain.push(character);
            }
        }
        plain
    };
    let whole = plain(read("weir.1")?);
    assert_contains(
        &whole,
        &[
            "NAME",
            "weir-plugin(1)",
            "WEIR_ROOT",
            env!("CARGO_PKG_VERSION"),
        ],
    );
    let add = plain(read("weir-plugin-add.1")?);
    assert_contains(&add, &["weir-plugin-add", "--allow-downgrade", "--replace"]);
    // An environment variable of `weir install` is added to its description.
    assert_contains(&plain(read("weir-install.1")?), &["WEIR_INSTALL_BIN_DIR"]);
    Ok(())
}

#[test]
fn pages_that_cannot_be_written_are_an_error() -> Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    let shown = file.path().display().to_string();
    let failed = failure(weir(&["man", &shown]))?;
    assert_contains(&failed, &["write the manual pages to", &shown]);
    Ok(())
}
