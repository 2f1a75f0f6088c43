//! Changes of the lines and of the head by somebody who does not compute the chain.

use std::fs;

use anyhow::{Context, Result};
use weir_kit::{assert_contains, assert_contains_without};

use super::{Chained, is_chain_line};

#[test]
fn what_nobody_touched_is_intact() -> Result<()> {
    let chained = Chained::with_records()?;
    chained.assert_intact(&[])?;
    let output = chained.run(&["verify"])?;
    let said = String::from_utf8(output.stdout)?;
    assert!(
        said.contains("intact: 9 chain lines; the end is where `audit.head` says"),
        "{said}"
    );
    // Readers of records do not count them as broken.
    let output = chained.run(&["--output", "json"])?;
    assert!(output.stderr.is_empty(), "{output:?}");
    assert_eq!(String::from_utf8(output.stdout)?.lines().count(), 9);
    Ok(())
}

/// What is done to the lines of the log, and what is found.
type Tampering = (&'static str, fn(&mut Vec<String>), &'static [&'static str]);

const TAMPERINGS: [Tampering; 16] = [
    (
        "a record taken out",
        |lines| drop(lines.remove(9)),
        &["changed", "missing-record"],
    ),
    (
        "all that a chain line covers taken out",
        |lines| drop(lines.remove(4)),
        &["missing", "missing-record"],
    ),
    (
        "a record changed",
        |lines| lines[4] = lines[4].replace("plugin.remove", "plugin.remov3"),
        &["changed"],
    ),
    (
        "a byte added",
        |lines| lines[4].insert(0, ' '),
        &["changed"],
    ),
    (
        "two records exchanged",
        |lines| lines.swap(4, 6),
        &["changed"],
    ),
    (
        "a record taken out with its chain line",
        |lines| drop(lines.drain(4..6)),
        &["missing", "missing-record", "uncovered"],
    ),
    (
        "two records exchanged with their chain lines",
        |lines| lines[4..8].rotate_left(2),
        &["forked", "missing", "uncovered"],
    ),
    (
        "an invocation taken out",
        |lines| drop(lines.drain(8..15)),
        &["missing", "uncovered"],
    ),
    (
        "the end cut off",
        |lines| lines.truncate(lines.len() - 2),
        &["cut-off"],
    ),
    (
        "the last invocation cut off",
        |lines| lines.truncate(15),
        &["cut-off"],
    ),
    (
        "the beginning cut off within what a chain line covers",
        |lines| drop(lines.drain(..2)),
        &["uncovered"],
    ),
    (
        "a line added at the end",
        |lines| lines.push("foreign\n".to_owned()),
        &["uncovered"],
    ),
    (
        "a line without an end added at the end",
        |lines| lines.push("foreign".to_owned()),
        &["uncovered"],
    ),
    (
        "a record added at the end",
        |lines| lines.push(lines[4].clone()),
        &["uncovered"],
    ),
    (
        "a line added before one that is cut short",
        |lines| lines.extend(["foreign\n".to_owned(), "{\"time\":\"2026".to_owned()]),
        &["uncovered"],
    ),
    (
        "all chain lines taken out",
        |lines| lines.retain(|line| !is_chain_line(line)),
        &["cut-off"],
    ),
];

#[test]
fn what_is_done_to_the_lines_is_found() -> Result<()> {
    for (what, tamper, expected) in TAMPERINGS {
        let chained = Chained::with_records()?;
        let mut lines = chained.lines()?;
        assert_eq!(lines.len(), 22, "{lines:?}");
        tamper(&mut lines);
        chained.set_lines(&lines)?;
        let (mut found, code) = chained.verify(&[])?;
        found.sort();
        found.dedup();
        assert_eq!(found, expected, "{what}");
        assert_eq!(code, Some(3), "{what}");
        // It stays so when weir goes on.
        chained.invoke("later")?;
        let (found, code) = chained.verify(&[])?;
        assert!(!found.is_empty() && code == Some(3), "{what}: {found:?}");
    }
    Ok(())
}

/// Each file can be checked on its own, and only `audit.head` knows how much came before.
#[test]
fn a_beginning_that_was_taken_out_in_place_is_found() -> Result<()> {
    let chained = Chained::with_records()?;
    let mut lines = chained.lines()?;
    let first = lines.iter().position(|line| is_chain_line(line));
    let first = first.context("a chain line")?;
    let second = lines
        .iter()
        .skip(first + 1)
        .position(|line| is_chain_line(line));
    lines.drain(..first + 1 + second.context("another")?);
    chained.set_lines(&lines)?;
    let (found, code) = chained.verify(&[])?;
    assert_eq!((&*found, code), (&["moved".to_owned()][..], Some(3)));
    let said = String::from_utf8(chained.run(&["verify"])?.stdout)?;
    assert_contains(
        &said,
        &[
            "not intact: chain line 9 ends at byte",
            "were taken out before it",
        ],
    );
    // weir goes on as after a rotation, and the repeated line stays.
    chained.invoke("later")?;
    let said = String::from_utf8(chained.run(&["verify"])?.stdout)?;
    assert_contains(
        &said,
        &["repeats chain line 9: the file was changed before it"],
    );
    Ok(())
}

#[test]
fn a_finding_says_where() -> Result<()> {
    let chained = Chained::with_records()?;
    let mut lines = chained.lines()?;
    lines.remove(9);
    chained.set_lines(&lines)?;
    let said = String::from_utf8(chained.run(&["verify"])?.stdout)?;
    let log = chained.log().display().to_string();
    let place = format!("not intact: `{log}`, lines 9 to 10 (2");
    assert_contains_without(
        &said,
        &[&place, "Z): changed, taken out or added"],
        &["\nintact"],
    );
    Ok(())
}

#[test]
fn what_is_done_to_the_head_is_found() -> Result<()> {
    let chained = Chained::with_records()?;
    let head = chained.paths().audit_head();
    let old = fs::read(&head)?;
    chained.invoke("four")?;
    let new = fs::read(&head)?;
    fs::remove_file(&head)?;
    chained.assert_found(&[], &["no-head"])?;
    chained.invoke("five")?;
    chained.assert_found(&[], &["begun-anew"])?;

    // An older head: the next write takes up what it does not know.
    let chained = Chained::with_records()?;
    let head = chained.paths().audit_head();
    fs::write(&head, &old)?;
    chained.assert_found(&[], &["other-head"])?;
    fs::write(&head, new)?;
    chained.assert_found(&[], &["cut-off"])?;
    Ok(())
}
