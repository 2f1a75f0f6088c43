//! Prints how many lines of code each example in Rust has, and fails if one has more than `limits.txt` allows.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

/// The most lines of each example by name; none where any number will do.
type Limits = BTreeMap<String, Option<usize>>;

fn main() -> Result<ExitCode> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let limits = limits(&fs::read_to_string(own.join("limits.txt"))?)?;
    let house = own.ancestors().nth(2).context("the repository's root")?;
    let counted = counted(&house.join("examples"))?;
    println!("lines of code of the examples, without tests, blank lines and comments:");
    let mut passed = true;
    for (name, lines) in &counted {
        let (verdict, passes) = verdict(*lines, limits.get(name));
        println!("{name:>20} {lines:>4}  {verdict}");
        passed &= passes;
    }
    for name in limits.keys().filter(|name| !counted.contains_key(*name)) {
        println!("{name:>20}    -  does not exist");
    }
    Ok(if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn limits(text: &str) -> Result<Limits> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let limit = |line: &str| {
        let (name, limit) = line.split_once(' ')?;
        let limit = if limit == "-" {
            None
        } else {
            Some(limit.parse().ok()?)
        };
        Some((name.to_owned(), limit))
    };
    let limit = |line| {
        limit(line).with_context(|| format!("limits.txt: expected a name and a limit: `{line}`"))
    };
    lines.map(limit).collect()
}

/// The crates in a directory, each with its lines.
fn counted(directory: &Path) -> Result<BTreeMap<String, usize>> {
    let mut counted = BTreeMap::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.path().join("Cargo.toml").is_file() {
            let name = entry.file_name().to_string_lossy().into_owned();
            counted.insert(name, weir_lines::of_crate(&entry.path())?);
        }
    }
    Ok(counted)
}

/// What to say of so many lines, and whether they are allowed.
fn verdict(lines: usize, limit: Option<&Option<usize>>) -> (String, bool) {
    match limit {
        None => ("FAILED: not in tests/lines/limits.txt".to_owned(), false),
        Some(None) => (String::new(), true),
        Some(Some(limit)) if lines > *limit => (format!("FAILED: at most {limit}"), false),
        Some(Some(limit)) => (format!("at most {limit}"), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_a_limit_and_keeps_it_passes() -> Result<()> {
        let limits = limits("# why\na 50\nb -\n")?;
        for (name, lines, passes) in [
            ("a", 50, true),
            ("a", 51, false),
            ("b", 999, true),
            ("c", 1, false),
        ] {
            assert_eq!(verdict(lines, limits.get(name)).1, passes, "{name} {lines}");
        }
        Ok(())
    }

    #[test]
    fn a_line_of_another_form_is_an_error() {
        for line in ["a", "a many", "a  50"] {
            assert!(limits(line).is_err(), "{line}");
        }
    }
}
