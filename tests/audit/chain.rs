//! The hash chain, and `weir audit verify`: what an attacker does to the log is found, and what is no attack is not.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use weir_files::Paths;
use weir_gate::{Audit, Event, Log, Subject};

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
            audit
                .tell(&Event::Removed {}, "ok")
                .map_err(anyhow::Error::msg)?;
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
        &["changed"],
    ),
    (
        "all that a chain line covers taken out",
        |lines| drop(lines.remove(4)),
        &["missing"],
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
        &["missing", "uncovered"],
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
    assert!(said.contains(&place), "{said}");
    assert!(said.contains("Z): changed, taken out or added"), "{said}");
    assert!(!said.contains("\nintact"), "{said}");
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
    // The checkpoint is older than what is looked at.
    let output = chained.run(&["verify", "--checkpoint", &checkpoint])?;
    let said = String::from_utf8(output.stdout)?;
    assert!(
        output.status.success() && said.contains("is older than the files"),
        "{said}"
    );
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
    chained.invoke("next")?;
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
    Ok(())
}
