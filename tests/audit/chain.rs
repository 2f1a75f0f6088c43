//! The hash chain, and `weir audit verify`: what an attacker does to the log is found, and what is no attack is not.

use std::fs;
use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use weir_files::Paths;
use weir_gate::{Audit, Log, Subject};
use weir_kit::{assert_contains, assert_lacks};

use crate::removed;

/// A `WEIR_ROOT` with a log that weir's own code has written.
struct Chained {
    root: TempDir,
}

impl Chained {
    fn create() -> Result<Self> {
        let root = TempDir::with_prefix("weir-chain-")?;
        Ok(Self { root })
    }

    /// Three invocations with three records each.
    fn with_records() -> Result<Self> {
        let chained = Self::create()?;
        for plugin in ["one", "two", "three"] {
            chained.invoke(plugin)?;
        }
        Ok(chained)
    }

    fn paths(&self) -> Paths {
        Paths::below(self.root.path())
    }

    fn log(&self) -> PathBuf {
        self.paths().audit_log()
    }

    /// An invocation with three records, in a process of its own as far as the log knows.
    fn invoke(&self, plugin: &str) -> Result<()> {
        let log = Arc::new(Log::open(&self.paths()));
        ensure!(log.failure().is_none(), "{:?}", log.failure());
        let mut audit = Audit::new(Subject::without_command(plugin, String::new()), log, false);
        for _ in 0..3 {
            let told = audit.tell(&removed(), "ok");
            told.map_err(anyhow::Error::msg)?;
        }
        Ok(())
    }

    fn lines(&self) -> Result<Vec<String>> {
        let text = fs::read_to_string(self.log())?;
        Ok(text.split_inclusive('\n').map(str::to_owned).collect())
    }

    fn set_lines(&self, lines: &[String]) -> Result<()> {
        Ok(fs::write(self.log(), lines.concat())?)
    }

    fn rotate(&self, to: &str) -> Result<String> {
        let to = self.log().with_file_name(to);
        fs::rename(self.log(), &to)?;
        Ok(to.display().to_string())
    }

    fn command(&self, words: &[&str]) -> Command {
        super::audit(self.root.path(), words)
    }

    fn run(&self, words: &[&str]) -> Result<Output> {
        self.command(words).output().context("run weir")
    }

    /// What is wrong, by the words of the JSON, and the exit code.
    fn verify(&self, words: &[&str]) -> Result<(Vec<String>, Option<i32>)> {
        let output = self.run(&[&["verify", "--output", "json"], words].concat())?;
        let report: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("{words:?}: {output:?}"))?;
        let findings = report["findings"].as_array().context("findings")?;
        let what = findings
            .iter()
            .map(|finding| finding["what"].as_str().unwrap_or_default().to_owned());
        Ok((what.collect(), output.status.code()))
    }

    #[track_caller]
    fn assert_intact(&self, words: &[&str]) -> Result<()> {
        assert_eq!(self.verify(words)?, (Vec::new(), Some(0)), "{words:?}");
        Ok(())
    }

    #[track_caller]
    fn assert_found(&self, words: &[&str], expected: &[&str]) -> Result<()> {
        let (what, code) = self.verify(words)?;
        assert_eq!(what, expected, "{words:?}");
        assert_eq!(code, Some(3), "{words:?}");
        Ok(())
    }

    fn checkpoint(&self) -> Result<String> {
        let output = self.run(&["checkpoint"])?;
        ensure!(output.status.success(), "{output:?}");
        let file = self.root.path().join("checkpoint");
        fs::write(&file, output.stdout)?;
        Ok(file.display().to_string())
    }
}

/// Computes the chain anew over lines, as root can. As many chain lines as before keep their numbers.
fn rechained(lines: &[String]) -> Result<Vec<String>> {
    let mut forged = Vec::new();
    let mut covered = String::new();
    let mut number = 0;
    for line in lines {
        if !is_chain_line(line) {
            covered.push_str(line);
            forged.push(line.clone());
            continue;
        }
        let line = if number == 0 {
            line.clone()
        } else {
            format!(
                "{{\"chained\":{number},\"sha256\":\"{}\"}}\n",
                sha256(&covered)?
            )
        };
        number += 1;
        covered.clone_from(&line);
        forged.push(line);
    }
    Ok(forged)
}

fn sha256(text: &str) -> Result<String> {
    let mut child = Command::new("sha256sum")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().context("standard input")?;
    input.write_all(text.as_bytes())?;
    drop(input);
    let output = String::from_utf8(child.wait_with_output()?.stdout)?;
    let digest = output.split_whitespace().next();
    Ok(digest.context("a digest")?.to_owned())
}

fn digest_of(line: &str) -> Result<String> {
    let line: Value = serde_json::from_str(line)?;
    Ok(line["sha256"].as_str().context("a digest")?.to_owned())
}

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
        let content = fs::read_to_string(&head)?.replace(&last(&old)?, &last(&lines)?);
        fs::write(&head, content)?;
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

/// What neither the log nor the spool takes is lost. That is no attack, and what is kept shows it.
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
    chained.set_lines(&lines[5..])?;
    chained.assert_intact(&[])
}

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
    says("whether lines were cut off the end cannot be told")?;
    // A rotated file: the log goes on where it ends.
    let older = chained.rotate("audit.jsonl.1")?;
    chained.invoke("four")?;
    chained.assert_intact(&["--file", &older])?;
    fs::copy(&older, &copy)?;
    says("the log of this node goes on where they end")
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

fn is_chain_line(line: &str) -> bool {
    line.starts_with("{\"chained\":")
}

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

const TAMPERINGS: [Tampering; 12] = [
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

#[test]
fn a_finding_says_where() -> Result<()> {
    let chained = Chained::with_records()?;
    let mut lines = chained.lines()?;
    lines.remove(9);
    chained.set_lines(&lines)?;
    let said = String::from_utf8(chained.run(&["verify"])?.stdout)?;
    let log = chained.log().display().to_string();
    let place = format!("not intact: `{log}`, lines 9 to 10 (2");
    assert_contains(&said, &[&place, "Z): changed, taken out or added"]);
    assert_lacks(&said, &["\nintact"]);
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

#[test]
fn rotated_files_are_parts_of_one_chain() -> Result<()> {
    let chained = Chained::with_records()?;
    let checkpoint = chained.checkpoint()?;
    let log = chained.log().display().to_string();
    let oldest = chained.rotate("audit.jsonl.2")?;
    chained.invoke("four")?;
    let older = chained.rotate("audit.jsonl.1")?;
    // Nothing has been written since.
    let output = chained.run(&["verify"])?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    chained.assert_intact(&["--file", &oldest, "--file", &older])?;
    chained.invoke("five")?;
    let all = ["--file", &oldest, "--file", &older, "--file", &log];
    chained.assert_intact(&all)?;
    chained.assert_intact(&[&all[..], &["--checkpoint", &checkpoint]].concat())?;
    chained.assert_intact(&[])?;
    // One of them is missing.
    chained.assert_found(&["--file", &oldest, "--file", &log], &["missing"])?;
    // Its end is missing.
    let text = fs::read_to_string(&older)?;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    fs::write(&older, lines[..lines.len() - 2].concat())?;
    chained.assert_found(&all, &["missing"])?;
    fs::write(&older, &text)?;
    // The checkpoint is older than what is looked at, so it says nothing about that.
    let output = chained.run(&["verify", "--checkpoint", &checkpoint])?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stdout)?;
    assert_contains(
        &said,
        &["is from before these files", "0 of 1 checkpoint match"],
    );
    // Neither does the text say that all is there.
    let beside = format!("not checked: give `{oldest}` and `{older}` as well, the oldest first");
    assert_contains(&said, &["chain lines 1 to ", &beside]);
    // Compressed ones come through a pipe.
    let both = chained.root.path().join("both");
    fs::write(&both, [fs::read(&oldest)?, fs::read(&older)?].concat())?;
    let mut piped = chained.command(&["verify", "--file", "/dev/stdin", "--file", &log]);
    let output = piped
        .stdin(fs::File::open(&both)?)
        .stdout(Stdio::piped())
        .output()?;
    assert!(output.status.success(), "{output:?}");
    Ok(())
}

#[test]
fn a_log_of_before_the_chain_is_read_on() -> Result<()> {
    let chained = Chained::with_records()?;
    let old: Vec<String> = chained
        .lines()?
        .into_iter()
        .filter(|line| !is_chain_line(line))
        .collect();
    fs::remove_file(chained.paths().audit_head())?;
    chained.set_lines(&old)?;
    let output = chained.run(&["verify"])?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8(output.stderr)?.contains("cannot tell"));
    chained.invoke("new")?;
    chained.assert_intact(&[])?;
    let said = String::from_utf8(chained.run(&["verify"])?.stdout)?;
    assert!(said.contains("before the chain began: 12 lines"), "{said}");
    Ok(())
}

/// Records that were kept while the log could not be written are chained when they get into it.
#[test]
fn records_that_come_later_are_chained() -> Result<()> {
    let chained = Chained::with_records()?;
    let spool = chained.paths().audit_spool();
    let lines = chained.lines()?;
    fs::create_dir_all(spool.parent().context("a directory")?)?;
    let kept: String = lines
        .iter()
        .filter(|line| !is_chain_line(line))
        .take(4)
        .cloned()
        .collect();
    fs::write(&spool, &kept)?;
    let waiting = "note: 4 lines in `";
    let said = || -> Result<String> { Ok(String::from_utf8(chained.run(&["verify"])?.stdout)?) };
    assert_contains(&said()?, &[waiting, "in no chain until the next call"]);
    chained.invoke("next")?;
    assert_lacks(&said()?, &[waiting]);
    assert!(fs::read_to_string(chained.log())?.contains(&kept));
    assert_eq!(fs::metadata(&spool)?.len(), 0);
    chained.assert_intact(&[])
}

#[test]
fn a_line_that_was_cut_short_is_no_attack() -> Result<()> {
    let chained = Chained::with_records()?;
    let whole = chained.lines()?;
    let torn = [whole.as_slice(), &["{\"time\":\"2026".to_owned()]].concat();
    chained.set_lines(&torn)?;
    chained.assert_intact(&[])?;
    chained.invoke("next")?;
    chained.assert_intact(&[])
}

/// Whoever reads the page alone sees it too.
#[test]
fn the_page_says_whether_the_log_is_intact() -> Result<()> {
    let chained = Chained::with_records()?;
    let line = || -> Result<String> {
        let page = String::from_utf8(chained.run(&["--html", "-"])?.stdout)?;
        let page = super::parse(&page)?;
        let line = page
            .descendants()
            .find(|e| e.attribute("class") == Some("chain"));
        Ok(super::text_of(line.context("a line about the chain")?))
    };
    let intact = line()?;
    assert!(
        intact.starts_with("intact: ") && intact.contains("audit.head"),
        "{intact}"
    );
    let mut lines = chained.lines()?;
    lines.remove(2);
    chained.set_lines(&lines)?;
    let changed = line()?;
    assert!(changed.starts_with("not intact: "), "{changed}");
    let page = String::from_utf8(chained.run(&["--html", "-"])?.stdout)?;
    let headline = "<h1>The log is not as weir wrote it";
    assert_contains(&page, &[headline]);
    Ok(())
}
