//! Copies and checkpoints that are kept outside the node.

use std::fs;
use std::ops::Range;

use anyhow::{Context, Result};
use serde_json::Value;
use weir_kit::{assert_contains, assert_contains_without};

use super::{Chained, is_chain_line, rechained};

#[test]
fn copies_are_compared_by_their_chain_lines() -> Result<()> {
    let chained = Chained::with_records()?;
    let lines = chained.lines()?;
    let copy = chained.root.path().join("copy");
    let words = ["--file", &copy.display().to_string()];
    let says = |said: &str| -> Result<()> {
        let output = String::from_utf8(chained.run(&[&["verify"], &words[..]].concat())?.stdout)?;
        assert!(output.contains(said), "{output}");
        Ok(())
    };
    fs::write(&copy, lines.concat())?;
    chained.assert_intact(&words)?;
    says("intact: 9 chain lines; the end is where `audit.head` says")?;
    // Its end is cut off, and the node's log has more.
    fs::write(&copy, lines[..lines.len() - 2].concat())?;
    chained.assert_found(&words, &["cut-off"])?;
    says("what follows was cut off, or written after they were copied")?;
    // A copy whose chain was computed anew.
    let mut forged = lines.clone();
    forged[4] = forged[4].replace("ok", "no");
    fs::write(&copy, rechained(&forged)?.concat())?;
    chained.assert_found(&words, &["differs"])?;
    // Of another node.
    let other = Chained::with_records()?;
    fs::copy(other.log(), &copy)?;
    chained.assert_intact(&words)?;
    says("it cannot be determined whether lines were cut off the end")?;
    // A rotated file: the log continues where it ends.
    let older = chained.rotate("audit.jsonl.1")?;
    chained.invoke("four")?;
    chained.assert_intact(&["--file", &older])?;
    fs::copy(&older, &copy)?;
    says("the log of this node continues where they end")
}

#[test]
fn a_missing_line_is_worded_as_surely_as_it_is_known() -> Result<()> {
    let says = |chained: &Chained, taken: Range<usize>, words: &str| -> Result<()> {
        let mut lines = chained.lines()?;
        lines.drain(taken);
        chained.set_lines(&lines)?;
        let output = String::from_utf8(chained.run(&["verify"])?.stdout)?;
        assert!(output.contains(words), "{output}");
        Ok(())
    };
    let never_rotated = "taken out or changed, since the log was never rotated";
    says(&Chained::with_records()?, 4..5, never_rotated)?;
    // No invocation goes on after what is missing.
    let or_lost = "taken out or changed, or lost in a power failure";
    says(&Chained::with_records()?, 8..15, or_lost)?;
    // Another file may have it.
    let chained = Chained::with_records()?;
    chained.rotate("audit.jsonl.1")?;
    chained.invoke("four")?;
    says(&chained, 3..4, "in a file that was not given")
}

#[test]
fn it_says_what_there_is_outside_the_node() -> Result<()> {
    let chained = Chained::with_records()?;
    let says = |words: &[&str], (compared, forward): (u64, &str), text: &str| -> Result<()> {
        let json = chained.run(&[&["verify", "--output", "json"], words].concat())?;
        let report: Value = serde_json::from_slice(&json.stdout)?;
        assert_eq!(report["checkpoints_compared"], compared);
        assert_eq!(report["forward"], forward);
        let said = chained.run(&[&["verify"], words].concat())?;
        assert_contains(&String::from_utf8(said.stdout)?, &[text]);
        Ok(())
    };
    let neither = "no checkpoint was compared; this node's log is not forwarded: ";
    says(&[], (0, "none"), neither)?;
    let checkpoint = chained.checkpoint()?;
    let settings = chained.root.path().join("etc/weir/weir.json");
    fs::create_dir_all(settings.parent().context("a directory")?)?;
    fs::write(&settings, "{ \"audit\": { \"forward\": \"journald\" } }")?;
    let both = "1 checkpoint matches; this node's log is forwarded to journald\n";
    says(&["--checkpoint", &checkpoint], (1, "journald"), both)?;
    fs::write(&settings, "{")?;
    says(&[], (0, "unknown"), "weir's configuration is not valid")
}

/// Who can write all of weir's files can take all of them back to what they were. Then only what is elsewhere shows it.
#[test]
fn a_checkpoint_finds_what_the_node_alone_cannot() -> Result<()> {
    let chained = Chained::with_records()?;
    let files = [chained.log(), chained.paths().audit_head()];
    let before = files.each_ref().map(fs::read);
    chained.invoke("four")?;
    let checkpoint = chained.checkpoint()?;
    let words = ["--checkpoint", checkpoint.as_str()];
    chained.assert_intact(&words)?;
    for (file, content) in files.iter().zip(before) {
        fs::write(file, content?)?;
    }
    chained.assert_intact(&[])?;
    chained.assert_found(&words, &["checkpoint"])?;
    // As many records again do not help.
    for _ in 0..3 {
        chained.invoke("four")?;
    }
    chained.assert_intact(&[])?;
    chained.assert_found(&words, &["checkpoint"])?;
    // Nor does a new chain.
    for file in &files {
        fs::remove_file(file)?;
    }
    chained.invoke("one")?;
    chained.assert_intact(&[])?;
    chained.assert_found(&words, &["checkpoint"])?;
    Ok(())
}

/// Root erases the log. The next write repeats the last chain line, as after a rotation, and nothing is there to compare.
#[test]
fn an_erased_log_is_not_said_to_be_all_there() -> Result<()> {
    let chained = Chained::with_records()?;
    let checkpoint = chained.checkpoint()?;
    fs::write(chained.log(), "")?;
    chained.invoke("four")?;
    let output = chained.run(&["verify"])?;
    let said = String::from_utf8(output.stdout)?;
    let missing =
        "note: chain lines 1 to 9 are not in these files, so what they cover was not checked";
    assert_contains(&said, &[missing, "intact: 3 chain lines after number 9;"]);
    // The newest checkpoint is the line that was repeated.
    let output = chained.run(&["verify", "--checkpoint", &checkpoint])?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let errors = String::from_utf8(output.stderr)?;
    assert_contains(
        &errors,
        &["cannot tell: every checkpoint is from before these files"],
    );
    let page = String::from_utf8(chained.run(&["--html", "-"])?.stdout)?;
    assert_contains(
        &page,
        &[
            "chain lines 1 to 9 are not in these files",
            "cannot be detected",
        ],
    );
    // A checkpoint of afterwards has something to say.
    let later = chained.checkpoint()?;
    chained.assert_intact(&["--checkpoint", &later])
}

/// A log that is gone is reported like one whose end was cut off, by whatever says that there was one.
#[test]
fn a_log_that_was_deleted_is_said_to_be_gone() -> Result<()> {
    let chained = Chained::with_records()?;
    let checkpoint = chained.checkpoint()?;
    let with_checkpoint = ["--checkpoint", checkpoint.as_str()];
    let rotated = chained.rotate("audit.jsonl.1")?;
    for words in [&[][..], &with_checkpoint] {
        let output = chained.run(&[&["verify"], words].concat())?;
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let errors = String::from_utf8(output.stderr)?;
        let given = format!("give `--file {rotated}`");
        assert_contains(
            &errors,
            &["cannot tell", "nothing has been written since", &given],
        );
    }
    fs::remove_file(&rotated)?;
    chained.assert_found(&[], &["cut-off"])?;
    chained.assert_found(&with_checkpoint, &["cut-off", "checkpoint"])?;
    let output = chained.run(&[&["verify"], &with_checkpoint[..]].concat())?;
    let said = String::from_utf8(output.stdout)?;
    let log = chained.log().display().to_string();
    let gone = format!("note: `{log}` does not exist");
    assert_contains_without(
        &said,
        &[
            &gone,
            "is not in the log: the log was removed",
            "no line is in the chain",
        ],
        &["cannot tell"],
    );

    // With the head, too.
    fs::remove_file(chained.paths().audit_head())?;
    chained.assert_found(&with_checkpoint, &["checkpoint"])?;
    let output = chained.run(&["verify"])?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let errors = String::from_utf8(output.stderr)?;
    assert_contains(&errors, &["cannot tell", "does not exist"]);
    Ok(())
}

#[test]
fn checkpoints_are_older_lines_as_well() -> Result<()> {
    let chained = Chained::with_records()?;
    let checkpoint = chained.checkpoint()?;
    chained.invoke("four")?;
    chained.assert_intact(&["--checkpoint", &checkpoint])?;
    // A chain line that was forwarded is one.
    let line = chained
        .lines()?
        .into_iter()
        .find(|line| is_chain_line(line));
    let forwarded = chained.root.path().join("forwarded");
    fs::write(&forwarded, line.context("a chain line")?)?;
    let forwarded = forwarded.display().to_string();
    chained.assert_intact(&["--checkpoint", &forwarded, "--checkpoint", &checkpoint])?;
    for (content, said) in [
        ("", "has no checkpoint"),
        ("{\"chained\":1}\n", "line 1, is not a checkpoint"),
    ] {
        fs::write(&checkpoint, content)?;
        let output = chained.run(&["verify", "--checkpoint", &checkpoint])?;
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(String::from_utf8(output.stderr)?.contains(said), "{said}");
    }
    Ok(())
}
