//! The page: one table for each specification.

use std::fmt::Write;

use super::clauses::Clause;
use super::tests_found::Test;

const HEAD: &str = "\
# Conformance

The clauses of the specifications that weir follows, and for each the tests that are named after it. `make
test` runs them all. The page is written from the tests' names, by `tests/conformance`; it fails where a
clause has no test or a test names a clause that there is not.
";

const SPECIFICATIONS: [(&str, &str, &str); 2] = [
    (
        "npwg",
        "Kubernetes Network Custom Resource Definition De-facto Standard",
        "Version 1, sections 3 to 7: weir as the delegating plugin.",
    ),
    (
        "cni",
        "Container Network Interface",
        "Specification 1.0.0, sections 3 and 4: weir as a runtime, and as a plugin that runs others. The \
         headings below\nthese sections have no numbers there; here they are counted in their order, and \
         what 1.1.0 added comes last.",
    ),
];

/// The whole page.
pub fn write(clauses: &[Clause], tests: &[Test]) -> String {
    let mut page = HEAD.to_owned();
    for (specification, title, what) in SPECIFICATIONS {
        let head = format!("\n## {title}\n\n{what}\n\n| clause | title | tests |\n|---|---|---|\n");
        page.push_str(&head);
        let own = |clause: &&Clause| clause.parts().0 == specification;
        for clause in clauses.iter().filter(own) {
            let (number, title) = (clause.parts().1, &clause.title);
            let cell = cell(clause, tests);
            writeln!(page, "| {number} | {title} | {cell} |").expect("a text takes all");
        }
    }
    page
}

fn cell(clause: &Clause, tests: &[Test]) -> String {
    let own = tests.iter().filter(|test| test.clause == clause.name);
    let links: Vec<String> = own
        .map(|test| format!("[{}](../{})", test.says, test.file))
        .collect();
    match (&clause.asks_nothing, links.is_empty()) {
        (_, false) => links.join("<br>"),
        (Some(reason), true) => format!("none: {reason}"),
        (None, true) => "**none yet**".to_owned(),
    }
}

#[test]
fn a_clause_has_its_tests_or_says_why_not() {
    let clause = |asks_nothing: Option<&str>| Clause {
        name: "npwg 3.1".to_owned(),
        title: "Title".to_owned(),
        asks_nothing: asks_nothing.map(str::to_owned),
    };
    let test = |says: &str| Test {
        clause: "npwg 3.1".to_owned(),
        says: says.to_owned(),
        function: String::new(),
        file: "a/b.rs".to_owned(),
    };
    let other = Test {
        clause: "npwg 3.1.1".to_owned(),
        ..test("not this")
    };
    let tests = [test("it is"), other, test("it was")];
    assert_eq!(
        cell(&clause(None), &tests),
        "[it is](../a/b.rs)<br>[it was](../a/b.rs)"
    );
    assert_eq!(cell(&clause(None), &[]), "**none yet**");
    assert_eq!(cell(&clause(Some("why")), &[]), "none: why");
}
