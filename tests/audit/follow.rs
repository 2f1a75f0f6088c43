//! Following the log while it is written and rotated.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::{fs, thread};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{LoggedNode, PATIENCE, known, record};

struct Follower {
    child: Child,
    lines: Receiver<String>,
}

impl Follower {
    fn start(node: &LoggedNode) -> Result<Self> {
        let words = ["--follow", "--output", "json"];
        let mut command = node.command(&words);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().context("standard output")?;
        let (send, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let ended = send.send(line).is_err();
                if ended {
                    return;
                }
            }
        });
        Ok(Self { child, lines })
    }

    #[track_caller]
    fn expect(&self, network: &str) {
        let line = self.lines.recv_timeout(PATIENCE).expect("a record comes");
        let record: Value = serde_json::from_str(&line).expect("a record");
        assert_eq!(record["network"], network);
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn line(network: &str) -> String {
    format!("{}\n", record("2026-03-01T10:00:00Z", network, json!({})))
}

#[test]
fn following_survives_rotation_and_truncation() -> Result<()> {
    let node = LoggedNode::with(&[])?;
    let log = node.log();
    fs::write(&log, line("first"))?;
    let follower = Follower::start(&node)?;
    follower.expect("first");
    node.append(&log, &line("second"))?;
    follower.expect("second");
    // In two halves: one record, once it is complete.
    let whole = line("halves");
    let (left, right) = whole.split_at(whole.len() / 2);
    node.append(&log, left)?;
    node.append(&log, right)?;
    follower.expect("halves");

    for round in ["one", "two", "three"] {
        let rotated = log.with_extension(format!("jsonl.{round}"));
        fs::rename(&log, &rotated)?;
        node.append(&log, &line(round))?;
        follower.expect(round);
        // An invocation that has the old file open still writes there.
        node.append(&rotated, &line("late"))?;
        follower.expect("late");
    }
    // Longer than the next content.
    node.append(&log, &line("before-it-is-truncated"))?;
    follower.expect("before-it-is-truncated");
    fs::write(&log, line("truncated"))?;
    follower.expect("truncated");
    // Removed with its directory, and created again.
    fs::remove_dir_all(log.parent().context("a directory")?)?;
    fs::create_dir_all(log.parent().context("a directory")?)?;
    node.append(&log, &line("again"))?;
    follower.expect("again");
    Ok(())
}

#[test]
fn following_waits_for_a_log_that_is_not_there_yet() -> Result<()> {
    let node = LoggedNode::with(&[])?;
    fs::remove_dir_all(node.root.path().join("var"))?;
    let follower = Follower::start(&node)?;
    fs::create_dir_all(node.root.path().join("var/log/weir"))?;
    node.append(&node.log(), &line("first"))?;
    follower.expect("first");
    Ok(())
}

/// If the reader ends, weir ends without a message, even if nothing more is recorded.
#[test]
fn following_ends_with_its_reader() -> Result<()> {
    let node = LoggedNode::with(&known())?;
    let mut command = node.command(&["--follow"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut reader = BufReader::new(child.stdout.take().context("standard output")?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    assert!(first.contains("n1"), "{first}");
    drop(reader);
    let (send, ended) = channel();
    let id = child.id();
    thread::spawn(move || send.send(child.wait_with_output()));
    let Ok(output) = ended.recv_timeout(PATIENCE) else {
        let _ = Command::new("kill").arg(id.to_string()).status();
        anyhow::bail!("it has not ended");
    };
    assert!(output?.stderr.is_empty());
    Ok(())
}
