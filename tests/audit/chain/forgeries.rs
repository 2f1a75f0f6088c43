//! What root can do to the records before it computes the chain anew.

use std::fs;
use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::Value;
use weir_gate::{Audit, Log, Subject};
use weir_kit::assert_contains;

use super::{Chained, digest_of, rechained};
use crate::removed;

/// The line that the records of an invocation share, moved into a write of its own.
fn move_head(lines: &mut Vec<String>) {
    let record = lines.remove(2);
    lines.insert(3, record);
}

/// What root does to the records before computing the chain anew, what is found, and words of the text.
type Forgery = (
    &'static str,
    fn(&mut Vec<String>),
    &'static [&'static str],
    &'static str,
);

const FORGERIES: [Forgery; 7] = [
    (
        "a record",
        |lines| {
            lines.remove(4);
            move_head(lines);
        },
        &["missing-record"],
        "line 6 (2",
    ),
    (
        "a record with an answer",
        |lines| {
            let record: Value = serde_json::from_str(&lines[6]).expect("a record");
            let invocation = &record["invocation"];
            lines[6] =
                format!("{{\"answered\":2,\"invocation\":{invocation},\"answer\":\"ok\"}}\n");
        },
        &["missing-record"],
        "record 2 is missing of invocation `",
    ),
    (
        "the line that records share",
        |lines| drop(lines.remove(1)),
        &["missing-record"],
        "the first line, with the plugin and the network, is missing of invocation `",
    ),
    (
        "the line that records share, and a record",
        |lines| {
            lines[1] = lines[4].clone();
            lines[2].clear();
            lines[4] = lines[6].clone();
        },
        &["missing-record", "missing-record"],
        "record 0 is missing of invocation `",
    ),
    (
        "records in another order",
        |lines| lines.swap(4, 6),
        &[],
        "intact: 9 chain lines",
    ),
    (
        "records that were moved twice",
        |lines| lines[6] = format!("{}{}", lines[4], lines[6]),
        &[],
        "intact: 9 chain lines",
    ),
    (
        // As when the spool had no room for it: what is kept begins with the line that records share.
        "a record that was lost",
        |lines| {
            let kept = format!("{}{}", lines[1], lines[6]);
            lines[4] = lines[2].clone();
            lines[2] = String::new();
            lines[6] = kept;
        },
        &[],
        "record 1 is missing of invocation `",
    ),
];

/// Root can compute the chain anew. The records still have their numbers.
#[test]
fn records_that_were_taken_out_before_the_chain_was_computed_anew_are_missing() -> Result<()> {
    for (what, forge, expected, said) in FORGERIES {
        let chained = Chained::with_records()?;
        let old = chained.lines()?;
        let mut lines = old.clone();
        forge(&mut lines);
        let lines = rechained(&lines)?;
        chained.set_lines(&lines)?;
        let head = chained.paths().audit_head();
        let last = |lines: &[String]| digest_of(lines.last().context("a line")?);
        let end = |lines: &[String]| format!(" {:020} ", lines.concat().len());
        let content = fs::read_to_string(&head)?.replace(&last(&old)?, &last(&lines)?);
        fs::write(&head, content.replace(&end(&old), &end(&lines)))?;
        let (found, code) = chained.verify(&[])?;
        assert_eq!(found, expected, "{what}");
        assert_eq!(
            code,
            Some(if expected.is_empty() { 0 } else { 3 }),
            "{what}"
        );
        let output = String::from_utf8(chained.run(&["verify"])?.stdout)?;
        assert!(output.contains(said), "{what}: {output}");
    }
    Ok(())
}

/// What neither the log nor the spool takes is lost. That is not an attack, and what is kept shows it.
#[test]
fn a_record_that_was_lost_is_a_note() -> Result<()> {
    let chained = Chained::with_records()?;
    let aside = chained.rotate("aside")?;
    fs::create_dir(chained.log())?;
    let spool = chained.paths().audit_spool();
    fs::create_dir_all(spool.parent().context("a directory")?)?;
    let mut filling = vec![b' '; (8 << 20) - 1200];
    filling.push(b'\n');
    fs::write(&spool, filling)?;
    let log = Arc::new(Log::open(&chained.paths()));
    let mut audit = Audit::new(Subject::without_command("four", String::new()), log, false);
    let mut tell = |answer: &str| audit.tell(&removed(), answer).is_ok();
    assert!(tell("ok") && !tell(&"no".repeat(1000)) && tell("ok"));
    fs::remove_dir(chained.log())?;
    fs::rename(aside, chained.log())?;
    chained.invoke("five")?;
    chained.assert_intact(&[])?;
    let said = String::from_utf8(chained.run(&["verify"])?.stdout)?;
    assert_contains(
        &said,
        &[
            "record 1 is missing of invocation `",
            "lost, because there was no room",
        ],
    );
    Ok(())
}

/// A file that begins in the middle has the end of invocations whose beginning is elsewhere.
#[test]
fn what_began_before_the_file_is_not_missing() -> Result<()> {
    let chained = Chained::with_records()?;
    let lines = chained.lines()?;
    let copy = chained.log().with_file_name("copy");
    fs::write(&copy, lines[5..].concat())?;
    chained.assert_intact(&["--file", copy.to_str().context("a path")?])
}
