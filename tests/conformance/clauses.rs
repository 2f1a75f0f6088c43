//! `clauses.txt`: `<specification> <number> | <title>`, and perhaps `| <why there is no test>`.

use anyhow::{Context, Result, ensure};

/// A clause of a specification.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// `npwg 4.1.2`.
    pub name: String,
    pub title: String,
    /// Why there need be no test.
    pub asks_nothing: Option<String>,
}

impl Clause {
    /// `npwg`, and `4.1.2`.
    pub fn parts(&self) -> (&str, &str) {
        self.name.split_once(' ').unwrap_or_default()
    }
}

/// All clauses of the text.
pub fn parse(text: &str) -> Result<Vec<Clause>> {
    let mut clauses: Vec<Clause> = Vec::new();
    let is_content = |line: &&str| !line.is_empty() && !line.starts_with('#');
    for line in text.lines().filter(is_content) {
        let clause = clause(line).with_context(|| format!("clauses.txt: {line}"))?;
        let is_new = clauses.iter().all(|other| other.name != clause.name);
        ensure!(is_new, "clauses.txt: {} is there twice", clause.name);
        clauses.push(clause);
    }
    Ok(clauses)
}

fn clause(line: &str) -> Option<Clause> {
    let mut parts = line.split(" | ").map(str::to_owned);
    let clause = Clause {
        name: parts.next()?,
        title: parts.next()?,
        asks_nothing: parts.next(),
    };
    let (specification, number) = clause.parts();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_known = matches!(specification, "npwg" | "cni") && number.split('.').all(is_number);
    (is_known && parts.next().is_none()).then_some(clause)
}

#[test]
fn lines_are_clauses() {
    let text = "# a comment\n\nnpwg 3.1 | A title\ncni 4 | Another | introduces others\n";
    let clauses = parse(text).unwrap();
    assert_eq!(clauses.len(), 2);
    assert_eq!(clauses[0].parts(), ("npwg", "3.1"));
    assert_eq!(clauses[0].asks_nothing, None);
    assert_eq!(
        clauses[1].asks_nothing.as_deref(),
        Some("introduces others")
    );
    for wrong in [
        "npwg 3.1",
        "npwg 3. | a",
        "iso 3 | a",
        "cni 3 | a | b | c",
        "cni 3 | a\ncni 3 | a",
    ] {
        parse(wrong).expect_err(wrong);
    }
}
