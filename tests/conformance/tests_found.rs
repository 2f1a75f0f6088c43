//! The tests of the repository whose names cite a clause: `npwg_4_1_2_<what holds>`, `cni_3_4_<what holds>`, and
//! `cni_1_1_0_section_3_<what holds>` for a version of the CNI specification.

use std::fs;
use std::path::Path;

use anyhow::Result;
use weir_kit::house;

/// A test.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// `npwg 4.1.2`.
    pub clause: String,
    /// What holds, in words.
    pub says: String,
    pub function: String,
    /// From the top of the house.
    pub file: String,
}

/// The sections of the CNI specification whose clauses are looked at.
const CNI_SECTIONS: [&str; 2] = ["3", "4"];

/// All tests in the Rust files, by file and in the order in which they are there.
pub fn of_the_house() -> Result<Vec<Test>> {
    let mut tests = Vec::new();
    collect(&house(), "", &mut tests)?;
    Ok(tests)
}

fn collect(directory: &Path, place: &str, tests: &mut Vec<Test>) -> Result<()> {
    let mut names: Vec<String> = fs::read_dir(directory)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_>>()?;
    names.sort();
    for name in names {
        let (path, place) = (directory.join(&name), format!("{place}{name}"));
        let is_built = name == "target" || name.starts_with('.');
        if path.is_dir() && !is_built && !path.is_symlink() {
            collect(&path, &format!("{place}/"), tests)?;
        } else if name.ends_with(".rs") && path.is_file() {
            tests.extend(of_source(&place, &fs::read_to_string(&path)?));
        }
    }
    Ok(())
}

/// The functions that follow `#[test]`, perhaps after more attributes.
fn of_source(file: &str, source: &str) -> Vec<Test> {
    let mut tests = Vec::new();
    let mut is_test = false;
    for line in source.lines().map(str::trim_start) {
        if let Some(rest) = line.strip_prefix("fn ") {
            let function = rest.split('(').next().unwrap_or_default();
            let cited = is_test.then(|| cited(function)).flatten();
            tests.extend(cited.map(|(clause, says)| Test {
                clause,
                says,
                function: function.to_owned(),
                file: file.to_owned(),
            }));
        }
        is_test = line == "#[test]" || is_test && line.starts_with("#[");
    }
    tests
}

/// The clause that a test's name cites, and what it says of it.
fn cited(function: &str) -> Option<(String, String)> {
    let (specification, rest) = function.split_once('_')?;
    let (own, words) = numbers(rest);
    match specification {
        "npwg" => Some((format!("npwg {own}"), words.replace('_', " "))),
        "cni" => {
            let (section, words) = match words.strip_prefix("section_") {
                Some(rest) => numbers(rest),
                None => (own, words),
            };
            let chapter = section.split('.').next().unwrap_or_default();
            CNI_SECTIONS
                .contains(&chapter)
                .then(|| (format!("cni {section}"), words.replace('_', " ")))
        }
        _ => None,
    }
}

/// `4.1` and `a_b` of `4_1_a_b`.
fn numbers(text: &str) -> (String, &str) {
    let mut numbers = Vec::new();
    let mut rest = text;
    while let Some((number, more)) = rest.split_once('_') {
        if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
            break;
        }
        numbers.push(number);
        rest = more;
    }
    (numbers.join("."), rest)
}

#[test]
fn names_cite_clauses() {
    let cite = |name: &str| cited(name).map(|(clause, says)| format!("{clause}: {says}"));
    for (name, expected) in [
        ("npwg_4_1_2_ips_must_be", Some("npwg 4.1.2: ips must be")),
        ("npwg_5_it_is", Some("npwg 5: it is")),
        ("npwg_without_number", Some("npwg : without number")),
        ("cni_3_6_1_a_b", Some("cni 3.6.1: a b")),
        ("cni_1_1_0_section_3_a_b", Some("cni 3: a b")),
        ("cni_1_1_0_section_5_a_b", None),
        ("cni_0_4_0_del_has_a_result", None),
        ("a_test", None),
    ] {
        assert_eq!(cite(name).as_deref(), expected, "{name}");
    }
}

#[test]
fn only_tests_are_found() {
    // In a list, so that none of these lines is one of this file.
    let source = [
        "#[test]",
        "fn npwg_3_a() {}",
        "fn npwg_3_b() {}",
        "    #[test]",
        "    #[ignore = \"slow\"]",
        "    fn npwg_3_c() -> Result<()> {}",
        "// #[test]",
        "fn npwg_3_d() {}",
    ];
    let found: Vec<String> = of_source("f.rs", &source.join("\n"))
        .into_iter()
        .map(|t| t.says)
        .collect();
    assert_eq!(found, ["a", "c"]);
}
