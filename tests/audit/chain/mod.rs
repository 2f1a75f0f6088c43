//! The hash chain, and `weir audit verify`: what an attacker does to the log is found, and what is not an attack is not.

mod copies;
mod forgeries;
mod tampering;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use weir_files::Paths;
use weir_gate::{Audit, Log, Subject};
use weir_kit::{assert_contains, assert_lacks, wait_for};

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

/// Recomputes the chain over lines, as root can. As many chain lines as before keep their numbers.
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
    let child = weir_kit::start(&mut Command::new("sha256sum"), text.as_bytes())?;
    let output = String::from_utf8(child.wait_with_output()?.stdout)?;
    let digest = output.split_whitespace().next();
    Ok(digest.context("a digest")?.to_owned())
}

fn digest_of(line: &str) -> Result<String> {
    let line: Value = serde_json::from_str(line)?;
    Ok(line["sha256"].as_str().context("a digest")?.to_owned())
}

fn is_chain_line(line: &str) -> bool {
    line.starts_with("{\"chained\":")
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
    assert_contains(
        &said()?,
        &[waiting, "the next call of weir adds them to the chain"],
    );
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
    let said = String::from_utf8(chained.run(&["verify"])?.stdout)?;
    assert_contains(
        &said,
        &["1 line after the last chain line, of a write that was interrupted"],
    );
    // It stays one in a file that was rotated before anything followed.
    let rotated = chained.rotate("audit.jsonl.1")?;
    chained.invoke("next")?;
    let log = chained.log().display().to_string();
    chained.assert_intact(&["--file", &rotated, "--file", &log])?;
    let chained = Chained::with_records()?;
    let torn = [chained.lines()?, vec!["{\"time\":\"2026".to_owned()]].concat();
    chained.set_lines(&torn)?;
    chained.invoke("next")?;
    chained.assert_intact(&[])
}

/// A process was killed after it had written the first lines of a file, and before the head said so.
#[test]
fn a_kill_in_the_first_write_of_a_file_is_no_attack() -> Result<()> {
    let chained = Chained::create()?;
    let head = chained.paths().audit_head();
    chained.invoke("one")?;
    let first: Value = serde_json::from_str(&chained.lines()?[0])?;
    let sha256 = first["sha256"].as_str().context("a digest")?;
    // As the head of a chain that no file has a line of.
    let begun = format!("{0:020} {0:020} {0:020} {0:020} {sha256}\n", 0);
    fs::write(&head, begun)?;
    chained.assert_intact(&[])?;
    chained.invoke("two")?;
    chained.assert_intact(&[])?;

    // The same in the file after a rotation.
    let before = fs::read(&head)?;
    chained.rotate("audit.jsonl.1")?;
    chained.invoke("three")?;
    fs::write(&head, &before)?;
    chained.assert_intact(&[])?;
    chained.invoke("four")?;
    chained.assert_intact(&[])?;

    // What ends with the repeat is not such a file: all that was in it was cut off.
    let lines = chained.lines()?;
    let last = lines.last().context("a line")?.clone();
    chained.set_lines(&[last])?;
    chained.assert_found(&[], &["moved"])
}

/// `verify` sees the lines of a write that is going on before their chain line.
#[test]
fn a_write_that_is_going_on_is_waited_for() -> Result<()> {
    let chained = Chained::with_records()?;
    let head = chained.paths().audit_head();
    let before = fs::read(&head)?;
    chained.invoke("next")?;
    fs::write(&head, before)?;
    let whole = chained.lines()?;
    let (_, without) = whole.split_last().context("a chain line")?;
    chained.set_lines(without)?;
    let lock = fs::File::open(&head)?;
    lock.lock()?;
    let verify = chained
        .command(&["verify"])
        .stdout(Stdio::piped())
        .spawn()?;
    let waits = format!(" {} ", verify.id());
    wait_for("verify to wait", || {
        let locks = fs::read_to_string("/proc/locks")?;
        let mut waiting = locks.lines().filter(|line| line.contains("->"));
        Ok(waiting.any(|line| line.contains(&waits)).then_some(()))
    })?;
    chained.set_lines(&whole)?;
    lock.unlock()?;
    let output = verify.wait_with_output()?;
    assert!(output.status.success(), "{output:?}");
    assert_lacks(
        &String::from_utf8(output.stdout)?,
        &["after the last chain line"],
    );
    Ok(())
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

/// So does whoever reads records or counts.
#[test]
fn every_answer_from_a_changed_log_comes_with_a_warning() -> Result<()> {
    let chained = Chained::with_records()?;
    let log = chained.log();
    let log = log.to_str().context("a name in UTF-8")?;
    let warning = |words: &[&str]| -> Result<String> {
        let output = chained.run(words)?;
        Ok(String::from_utf8(output.stderr)?)
    };
    let answers: [&[&str]; 4] = [&[], &["--summary"], &["--unused"], &["--ecs"]];
    const NOT_INTACT: &str = "weir: warning: the audit log is not intact: ";
    for words in answers {
        assert_eq!(warning(words)?, "", "{words:?}");
    }
    let mut lines = chained.lines()?;
    lines.remove(2);
    chained.set_lines(&lines)?;
    for words in answers {
        assert_contains(&warning(words)?, &[NOT_INTACT]);
    }
    // A file that was named may be a part of a log.
    assert_lacks(&warning(&["--file", log])?, &[NOT_INTACT]);
    Ok(())
}
