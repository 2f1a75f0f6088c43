//! `docs/conformance.md`: each clause of the specifications, with the tests that are named after it. The page
//! is written from the tests' names with `UPDATE_DOCS=1`.

mod clauses;
mod page;
mod tests_found;

use std::fs;

use anyhow::{Result, ensure};
use clauses::Clause;
use tests_found::Test;
use weir_kit::house;

/// The clauses, and all tests that cite one.
fn read() -> Result<(Vec<Clause>, Vec<Test>)> {
    let clauses = fs::read_to_string(house().join("tests/conformance/clauses.txt"))?;
    Ok((clauses::parse(&clauses)?, tests_found::of_the_house()?))
}

fn none(title: &str, found: &[String]) -> Result<()> {
    ensure!(found.is_empty(), "{title}:\n{}", found.join("\n"));
    Ok(())
}

#[test]
fn tests_cite_clauses_that_exist() -> Result<()> {
    let (clauses, tests) = read()?;
    let is_unknown = |test: &&Test| !clauses.iter().any(|clause| clause.name == test.clause);
    let unknown: Vec<String> = tests
        .iter()
        .filter(is_unknown)
        .map(|test| format!("{}: {} cites {}", test.file, test.function, test.clause))
        .collect();
    none("no such clause", &unknown)
}

#[test]
fn clauses_that_ask_for_something_have_a_test() -> Result<()> {
    let (clauses, tests) = read()?;
    let is_tested = |clause: &Clause| tests.iter().any(|test| test.clause == clause.name);
    let untested: Vec<String> = clauses
        .iter()
        .filter(|clause| clause.asks_nothing.is_none() && !is_tested(clause))
        .map(|clause| format!("{} {}", clause.name, clause.title))
        .collect();
    none("no test is named after", &untested)
}

#[test]
fn the_page_is_what_the_tests_names_say() -> Result<()> {
    let (clauses, tests) = read()?;
    let page = page::write(&clauses, &tests);
    let path = house().join("docs/conformance.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &page)?;
    }
    assert!(
        fs::read_to_string(&path).is_ok_and(|shown| shown == page),
        "docs/conformance.md is not what the tests' names say; UPDATE_DOCS=1 updates it"
    );
    Ok(())
}
