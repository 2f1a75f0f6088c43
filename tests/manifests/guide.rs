//! The guide, `docs/kubernetes.md`: the options are those that there are.

use std::collections::BTreeSet;
use std::fs;

use anyhow::Result;
use weir_kit::house;

use super::documents::help;

const PREFIX: &str = "WEIR_INSTALL_";

fn page(name: &str) -> Result<String> {
    Ok(fs::read_to_string(house().join("docs").join(name))?)
}

/// The variables that a text names.
pub fn variables(text: &str) -> BTreeSet<&str> {
    let is_inner = |c: char| c.is_ascii_uppercase() || c == '_';
    let found = text.match_indices(PREFIX).map(|(at, _)| &text[at..]);
    found
        .map(|rest| &rest[..rest.find(|c| !is_inner(c)).unwrap_or(rest.len())])
        .collect()
}

#[test]
fn the_guide_has_each_option() -> Result<()> {
    let help = help()?;
    let there = variables(&help);
    assert!(there.len() > 10, "{there:?}");
    let page = page("kubernetes.md")?;
    assert_eq!(variables(&page), there);
    for line in help
        .lines()
        .map(str::trim_start)
        .filter(|l| l.starts_with("--"))
    {
        let flag = line.split_whitespace().next().unwrap_or_default();
        if !["--help", "--kubernetes"].contains(&flag) {
            assert!(page.contains(&format!("`{flag}")), "{flag}");
        }
    }
    Ok(())
}
