//! `docs/attacks.md` says what was attacked, with which outcome: it names every test of this suite and of those attacks that do
//! not come from a plugin, and no other.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result};
use weir_kit::house;

/// Further directories with tests of attacks, and what the table has before their names.
const ELSEWHERE: [(&str, &str); 4] = [
    ("tests/distribution", "distribution/"),
    ("tests/install", "install/"),
    ("runtime/distribution/src/tests", "weir-distribution/"),
    ("runtime/signature/src/tests", "weir-signature/"),
];

/// The module of these that has attacks only.
const ATTACKS: &str = "distribution/refused::";

/// The tests in the files of a directory, as `module::name` after a prefix.
fn tests(directory: &str, prefix: &str) -> Result<BTreeSet<String>> {
    let mut tests = BTreeSet::new();
    for entry in fs::read_dir(house().join(directory))? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let module = path.file_stem().context("a name")?.to_string_lossy();
        let text = fs::read_to_string(&path)?;
        let mut follows = false;
        for line in text.lines() {
            if follows && let Some(rest) = line.strip_prefix("fn ") {
                let name = rest.split('(').next().unwrap_or_default();
                tests.insert(format!("{prefix}{module}::{name}"));
            }
            follows = line == "#[test]";
        }
    }
    Ok(tests)
}

/// The tests that the table names: what is in back quotes in its last column.
fn documented() -> Result<BTreeSet<String>> {
    let text = fs::read_to_string(house().join("docs/attacks.md"))?;
    let rows = text.lines().filter(|line| line.starts_with('|'));
    let last = rows.filter_map(|row| row.trim_end_matches([' ', '|']).rsplit('|').next());
    let named = last.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    Ok(named.map(str::to_owned).collect())
}

#[test]
fn the_table_names_every_test_and_no_other() -> Result<()> {
    let own = "attacks::the_table_names_every_test_and_no_other";
    let mut attacks = tests("tests/hostile", "")?;
    assert!(attacks.remove(own), "this test was not found");
    let mut all = attacks.clone();
    for (directory, prefix) in ELSEWHERE {
        all.extend(tests(directory, prefix)?);
    }
    let elsewhere = all.iter().filter(|name| name.starts_with(ATTACKS));
    attacks.extend(elsewhere.cloned());
    let documented = documented()?;
    let missing: Vec<_> = attacks.difference(&documented).collect();
    let unknown: Vec<_> = documented.difference(&all).collect();
    assert!(missing.is_empty(), "not in docs/attacks.md: {missing:#?}");
    assert!(unknown.is_empty(), "no tests: {unknown:#?}");
    Ok(())
}
