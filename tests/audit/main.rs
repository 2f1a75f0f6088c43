//! `weir audit`: filters, summary, following, and the page, on logs with known numbers.

mod acts;
mod chain;
mod forward;
mod waiting;
mod written;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use roxmltree::{Document, Node as Element, ParsingOptions};
use serde_json::{Value, json};
use tempfile::TempDir;
use weir_gate::{Event, User};
use weir_kit::{Node, assert_contains, binary, bridge, weir};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

const DIGEST: &str = "sha256:00000000000000000000000000000000000000000000000000000000000000aa";

/// An event that is short to write.
fn removed() -> Event<'static> {
    let user = User::of_process();
    Event::Removed { user }
}

/// A `WEIR_ROOT` with a log, and nothing that needs a network.
struct Place {
    root: TempDir,
}

impl Place {
    fn with(records: &[Value]) -> Result<Self> {
        let place = Self {
            root: TempDir::with_prefix("weir-audit-")?,
        };
        fs::create_dir_all(place.root.path().join("var/log/weir"))?;
        fs::write(place.log(), lines(records))?;
        Ok(place)
    }

    fn log(&self) -> PathBuf {
        self.root.path().join("var/log/weir/audit.jsonl")
    }

    fn append(&self, path: &Path, text: &str) -> Result<()> {
        let mut file = fs::File::options().append(true).create(true).open(path)?;
        Ok(file.write_all(text.as_bytes())?)
    }

    fn grant(&self, name: &str, capabilities: &str) -> Result<()> {
        let directory = self.root.path().join("etc/weir/grants.d");
        fs::create_dir_all(&directory)?;
        let document = format!(
            "apiVersion: weir.dev/v1alpha1\nkind: PluginGrant\nmetadata:\n  name: {name}\nspec:\n  \
             plugin:\n    name: {name}\n    digest: {DIGEST}\n  networks: ['*']\n  capabilities: {capabilities}\n"
        );
        Ok(fs::write(directory.join(format!("{name}.yaml")), document)?)
    }

    fn command(&self, words: &[&str]) -> Command {
        audit(self.root.path(), words)
    }

    fn run(&self, words: &[&str]) -> Result<Output> {
        self.command(words).output().context("run weir")
    }

    /// The output of a command that succeeds without warnings.
    fn audit(&self, words: &[&str]) -> Result<String> {
        let output = self.run(words)?;
        ensure!(output.status.success(), "{words:?}: {output:?}");
        ensure!(output.stderr.is_empty(), "{words:?}: {output:?}");
        Ok(String::from_utf8(output.stdout)?)
    }

    /// The networks of the records that pass: each record of a known log has another.
    fn networks(&self, words: &[&str]) -> Result<Vec<String>> {
        let words = [words, &["--output", "json"]].concat();
        let text = self.audit(&words)?;
        let network = |line: &str| {
            let record: Value = serde_json::from_str(line)?;
            Ok(record["network"].as_str().context("a network")?.to_owned())
        };
        text.lines().map(network).collect()
    }

    /// The numbers of the networks, without their `n`, in one word.
    fn numbers(&self, words: &[&str]) -> Result<String> {
        let networks = self.networks(words)?;
        Ok(networks.iter().map(|network| &network[1..]).collect())
    }
}

/// `weir audit` with these words, on a node whose files are below `root`.
fn audit(root: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.arg("audit").args(words).env("WEIR_ROOT", root);
    command
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// A usual record with `changes`.
fn record(time: &str, network: &str, changes: Value) -> Value {
    let mut record = json!({
        "time": time, "command": "ADD", "container_id": "pod-1", "ifname": "eth0", "network": network,
        "plugin": "bridge", "digest": DIGEST, "capability": "link", "operation": "link.create",
        "arguments": { "namespace": "host", "name": "br0", "kind": "bridge", "up": true },
        "verdict": "allowed", "rules": ["link[0]"], "answer": "ok", "microseconds": 100,
    });
    let own = record.as_object_mut().expect("an object");
    own.extend(changes.as_object().expect("an object").clone());
    record
}

fn denial(time: &str, network: &str, requirement: &str, closest: Option<&str>) -> Value {
    let reason = match closest {
        Some(rule) => format!("closest rule: {rule}"),
        None => "it has no rule for this capability".to_owned(),
    };
    let mut record = record(
        time,
        network,
        json!({
            "plugin": "greedy", "verdict": "denied", "rules": closest.into_iter().collect::<Vec<_>>(),
            "answer": format!("the grant does not allow to {requirement} ({reason})"), // in older logs
        }),
    );
    record
        .as_object_mut()
        .expect("an object")
        .remove("microseconds");
    record
}

/// Seven records of two plugins; the networks are their numbers.
fn known() -> Vec<Value> {
    vec![
        record("2026-03-01T10:00:00.000001Z", "n1", json!({})),
        record(
            "2026-03-01T10:00:01.5Z",
            "n2",
            json!({ "container_id": "pod-2", "ifname": "net1", "rules": ["link[0]", "link[1]"] }),
        ),
        record(
            "2026-03-01T10:05:00Z",
            "n3",
            json!({ "capability": "sysctl", "operation": "sysctl.write", "rules": ["sysctl[0]"],
                "answer": "no such file", "microseconds": 7 }),
        ),
        record(
            "2026-03-01T10:05:01Z",
            "n4",
            json!({ "verdict": "undo", "operation": "link.delete", "rules": [], "microseconds": 43 }),
        ),
        record(
            "2026-03-01T11:00:00Z",
            "n5",
            json!({ "command": "GC", "container_id": "", "ifname": "", "capability": "store",
                "operation": "store.delete", "rules": ["store[0]"], "plugin": "host-local" }),
        ),
        denial(
            "2026-03-01T12:00:00Z",
            "n6",
            "delete physical `eth0` in host",
            Some("link[0]: namespace"),
        ),
        denial("2026-03-02T00:00:00Z", "n7", "write net.x in host", None),
    ]
}

fn split(words: &str) -> Vec<&str> {
    words.split_whitespace().collect()
}

#[test]
fn filters() -> Result<()> {
    let place = Place::with(&known())?;
    for (words, expected) in [
        ("", "1234567"),
        ("--plugin bridge", "1234"),
        ("--plugin *e* --plugin host-local", "1234567"),
        ("--plugin host-*", "5"),
        ("--container-id pod-2", "2"),
        ("--container-id pod", ""),
        ("--container-id pod* --ifname eth0", "13467"),
        ("--network n[12]", "12"),
        ("--capability sysctl", "3"),
        ("--capability sysctl --capability store", "35"),
        ("--operation link.create", "1267"),
        ("--operation *.delete", "45"),
        ("--command GC", "5"),
        ("--command add --command gc", "1234567"),
        ("--command DEL", ""),
        ("--verdict allowed", "1235"),
        ("--verdict undo", "4"),
        ("--verdict undo --verdict denied", "467"),
        ("--denied", "67"),
        ("--denied --plugin bridge", ""),
    ] {
        assert_eq!(place.numbers(&split(words))?, expected, "{words:?}");
    }
    Ok(())
}

#[test]
fn filters_that_mean_nothing_are_refused() -> Result<()> {
    let place = Place::with(&known())?;
    for (words, said) in [
        ("--capability links", "possible values: link, address"),
        ("--verdict maybe", "allowed, denied, refused, undo"),
        ("--command REMOVE", "ADD, DEL, CHECK, STATUS, GC"),
        ("--since yesterday", "2026-03-01T10:00:00Z"),
        ("--plugin a[b", "a[b"),
        ("--denied --verdict undo", "cannot be used with"),
        ("--follow --summary", "cannot be used with"),
        ("--html - --output json", "cannot be used with"),
        ("--arguments --summary", "cannot be used with"),
    ] {
        let output = place.run(&split(words))?;
        let errors = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(2), "{words:?}: {errors}");
        assert!(errors.contains(said), "{words:?}: {errors}");
    }
    Ok(())
}

#[test]
fn times() -> Result<()> {
    let mut records = known();
    let now = humantime(SystemTime::now());
    records.push(record(&now, "n8", json!({})));
    let place = Place::with(&records)?;
    for (words, expected) in [
        (
            &["--since", "2026-03-01T10:05:00Z", "--until", "2026-03-02"][..],
            "3456",
        ),
        // The end is excluded.
        (&["--until", "2026-03-01T10:05:00Z"], "12"),
        (
            &[
                "--since",
                "2026-03-01T12:30:00+01:00",
                "--until",
                "2026-03-03",
            ],
            "67",
        ),
        (
            &["--since", "2026-03-01 12:00:00", "--until", "2026-03-03"],
            "67",
        ),
        (&["--since", "10m"], "8"),
        (&["--since", "2026-03-02", "--until", "1h"], "7"),
        (&["--since", "0s"], ""),
    ] {
        assert_eq!(place.numbers(words)?, expected, "{words:?}");
    }
    Ok(())
}

/// RFC 3339, by `date`, which every machine has.
fn humantime(time: SystemTime) -> String {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .expect("after 1970");
    let output = Command::new("date")
        .args(["-u", "+%Y-%m-%dT%H:%M:%SZ", "-d"])
        .arg(format!("@{}", since.as_secs()))
        .output()
        .expect("date runs");
    String::from_utf8(output.stdout)
        .expect("text")
        .trim()
        .to_owned()
}

#[test]
fn denials_decide_the_exit_code_where_that_is_asked_for() -> Result<()> {
    let place = Place::with(&known())?;
    let page = place.root.path().join("page.html");
    let page = page.to_str().context("text")?;
    for form in [
        &[][..],
        &["--summary"],
        &["--output", "json"],
        &["--html", page],
    ] {
        for (filter, code) in [
            (&[][..], 3),
            (&["--plugin", "bridge"], 0),
            (&["--denied"], 3),
        ] {
            let words = [form, filter, &["--fail-on-denied"]].concat();
            assert_eq!(place.run(&words)?.status.code(), Some(code), "{words:?}");
            let words = [form, filter].concat();
            assert_eq!(place.run(&words)?.status.code(), Some(0), "{words:?}");
        }
    }
    Ok(())
}

/// Operations are described in words, or by their arguments if those are not valid.
#[test]
fn a_record_is_one_line_that_a_person_reads() -> Result<()> {
    let place = Place::with(&known())?;
    assert_eq!(
        place.audit(&["--network", "n[136]"])?,
        "2026-03-01T10:00:00.000Z allowed  bridge     ADD    n1 pod-1/eth0  link.create  create \
         bridge `br0` in host  by link[0]  (changes the host)\n\
         2026-03-01T10:05:00.000Z allowed  bridge     ADD    n3 pod-1/eth0  sysctl.write  \
         namespace=host name=br0 kind=bridge up=true  by sysctl[0]  - no such file  (changes the host)\n\
         2026-03-01T12:00:00.000Z denied   greedy     ADD    n6 pod-1/eth0  link.create  - the \
         grant does not allow it to delete physical `eth0` in host (closest rule: link[0]: namespace)  \
         (changes the host)\n"
    );
    Ok(())
}

#[test]
fn the_arguments_are_shown_where_that_is_asked_for() -> Result<()> {
    let place = Place::with(&known())?;
    assert_eq!(
        place.audit(&["--network", "n[16]", "--arguments"])?,
        "2026-03-01T10:00:00.000Z allowed  bridge     ADD    n1 pod-1/eth0  link.create  \
         namespace=host name=br0 kind=bridge up=true  by link[0]  (changes the host)\n\
         2026-03-01T12:00:00.000Z denied   greedy     ADD    n6 pod-1/eth0  link.create  \
         namespace=host name=br0 kind=bridge up=true  - the grant does not allow it to delete physical \
         `eth0` in host (closest rule: link[0]: namespace)  (changes the host)\n"
    );
    Ok(())
}

/// The text of a log cannot control the terminal, change its direction, or make a second line.
#[test]
fn text_of_the_log_cannot_deceive() -> Result<()> {
    let evil = "a\u{1b}[2J\u{7}\nx\r\u{9b}31m\u{202e}b\u{200b}";
    let records = [record(
        "2026-03-01T10:00:00Z",
        evil,
        json!({ "plugin": evil, "container_id": evil, "operation": evil, "digest": evil,
            "capability": evil, "rules": [evil], "answer": evil, "arguments": { evil: evil } }),
    )];
    let place = Place::with(&records)?;
    let deceives = |c: char| c != '\n' && (c.is_control() || ['\u{202e}', '\u{200b}'].contains(&c));
    let text = place.audit(&[])?;
    assert_eq!(text.lines().count(), 1, "{text:?}");
    for words in [&[][..], &["--summary"], &["--html", "-"]] {
        let text = place.audit(words)?;
        assert!(!text.contains(deceives), "{text:?}");
        assert!(text.contains(r"\u{202e}b"), "{text}");
    }
    Ok(())
}

/// The same for a log of an older weir, whose denials have the rule in their words.
#[test]
fn json_is_the_records_in_one_shape() -> Result<()> {
    let place = Place::with(&known())?;
    let shown = place.audit(&["--output", "json"])?;
    let shown: Vec<Value> = shown
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    let keys = [
        "time",
        "container_id",
        "network",
        "operation",
        "arguments",
        "answer",
        "plugin",
    ];
    for (shown, known) in shown.iter().zip(known()) {
        for key in keys {
            assert_eq!(shown[key], known[key], "{shown:#}");
        }
        assert!(
            shown["rules"].is_array() && shown["namespaces"].is_array(),
            "{shown:#}"
        );
    }
    let denied = &shown[5];
    assert_eq!(denied["requirement"], "delete physical `eth0` in host");
    assert_eq!(
        denied["closest"],
        json!({ "rule": "link[0]", "field": "namespace" })
    );
    assert_eq!(shown[6].get("closest"), Some(&Value::Null));
    assert_eq!(shown[0].get("closest"), None);
    assert_eq!(
        (&denied["rules"], &shown[0]["rules"]),
        (&json!([]), &json!(["link[0]"]))
    );
    // What a tool prints, a tool reads.
    let again = Place::with(&shown)?;
    assert_eq!(
        again.audit(&["--output", "json"])?,
        place.audit(&["--output", "json"])?
    );
    Ok(())
}

#[test]
fn lines_that_are_no_records_are_counted_and_said() -> Result<()> {
    let place = Place::with(&[])?;
    let [one, two] = [&known()[0], &known()[1]].map(Value::to_string);
    // The first was cut short by a crash, and another follows in its line; the last is incomplete.
    let half = &one[..one.len() / 2];
    let begin = |text: &str| {
        // As the log has it: a record begins with its time.
        let record: Value = serde_json::from_str(text).expect("a record");
        let time = record["time"].to_string();
        let mut rest = record;
        rest.as_object_mut().expect("an object").remove("time");
        format!("{{\"time\":{time},{}", &rest.to_string()[1..])
    };
    fs::write(
        place.log(),
        format!("{half}{}\nnot weir's\n{}\n{half}", begin(&two), begin(&one)),
    )?;
    let output = place.run(&["--output", "json"])?;
    assert!(output.status.success(), "{output:?}");
    let shown = String::from_utf8(output.stdout)?;
    let networks: Vec<Value> = shown
        .lines()
        .map(|line| Ok(serde_json::from_str::<Value>(line)?["network"].clone()))
        .collect::<Result<_>>()?;
    assert_eq!(networks, ["n2", "n1"]);
    let said = String::from_utf8(output.stderr)?;
    assert!(said.contains("3 lines are not records"), "{said}");

    let summary: Value = serde_json::from_str(&place.audit(&["--summary", "--output", "json"])?)?;
    assert_eq!(
        (&summary["unreadable"], &summary["allowed"]),
        (&json!(3), &json!(2))
    );
    assert!(
        place
            .audit(&["--summary"])?
            .contains("3 lines are not records")
    );
    assert!(place.audit(&["--html", "-"])?.contains("3 lines"));
    Ok(())
}

#[test]
fn rotated_files_are_read_one_after_another() -> Result<()> {
    let place = Place::with(&known()[2..])?;
    let rotated = place.root.path().join("var/log/weir/audit.jsonl.1");
    fs::write(&rotated, lines(&known()[..2]))?;
    let (rotated, log) = (
        rotated.display().to_string(),
        place.log().display().to_string(),
    );
    let words = ["--file", &rotated, "--file", &log];
    assert_eq!(place.networks(&words)?.concat(), "n1n2n3n4n5n6n7");
    assert_eq!(place.networks(&["--file", &rotated])?.concat(), "n1n2");

    // A compressed log comes through a pipe.
    let mut piped = place.command(&["--file", "/dev/stdin", "--output", "json"]);
    let output = piped.stdin(fs::File::open(&rotated)?).output()?;
    let shown = String::from_utf8(output.stdout)?;
    assert_eq!(
        shown,
        place.audit(&["--output", "json", "--file", &rotated])?
    );
    assert_eq!(shown.lines().count(), 2);

    let missing = place.run(&["--file", "/does/not/exist"])?;
    assert_eq!(missing.status.code(), Some(1));
    let said = String::from_utf8(missing.stderr)?;
    assert!(said.contains("`/does/not/exist`"), "{said}");
    // It is not an error if nothing is recorded yet.
    fs::remove_file(place.log())?;
    let none = place.run(&[])?;
    assert!(none.status.success() && none.stdout.is_empty(), "{none:?}");
    assert!(String::from_utf8(none.stderr)?.contains("nothing is recorded yet"));
    Ok(())
}

#[test]
fn a_summary_counts() -> Result<()> {
    let mut records = known();
    records.push(denial(
        "2026-03-02T01:00:00Z",
        "n7",
        "write net.x in host",
        None,
    ));
    let place = Place::with(&records)?;
    let summary: Value = serde_json::from_str(&place.audit(&["--summary", "--output", "json"])?)?;
    let picked = |value: &Value, keys: &[&str]| -> Vec<Value> {
        keys.iter().map(|key| value[key].clone()).collect()
    };
    let counts = ["allowed", "denied", "undone", "failed", "microseconds"];
    assert_eq!(summary["files"], json!([place.log()]));
    assert_eq!(json!(picked(&summary, &counts)), json!([4, 3, 1, 1, 350]));
    assert_eq!(summary["attachments"], 6);
    assert_eq!(summary["first"], "2026-03-01T10:00:00.000001Z");
    assert_eq!(summary["last"], "2026-03-02T01:00:00Z");

    let bridge = &summary["plugins"]["bridge"];
    assert_eq!(json!(picked(bridge, &counts)), json!([3, 0, 1, 1, 250]));
    let link = &bridge["capabilities"]["link"];
    assert_eq!(json!(picked(link, &counts)), json!([2, 0, 1, 0, 243]));
    assert_eq!(link["last"], "2026-03-01T10:05:01Z");
    assert_eq!(bridge["rules"]["n2"]["link[1]"]["count"], 1);
    assert_eq!(bridge["digests"][DIGEST]["count"], 4);
    assert_eq!(bridge["denials"], json!([]));

    let greedy = &summary["plugins"]["greedy"];
    assert_eq!(
        greedy["denials"],
        json!([
            { "operation": "link.create", "requirement": "delete physical `eth0` in host",
              "closest": { "rule": "link[0]", "field": "namespace" }, "refused": false,
              "severity": "changes-host", "count": 1,
              "first": "2026-03-01T12:00:00Z", "last": "2026-03-01T12:00:00Z" },
            { "operation": "link.create", "requirement": "write net.x in host", "closest": null,
              "refused": false, "severity": "changes-host", "count": 2, "first": "2026-03-02T00:00:00Z", "last": "2026-03-02T01:00:00Z" },
        ])
    );

    let text = place.audit(&["--summary"])?;
    for line in [
        "8 records of 6 attachments, 2026-03-01 10:00:00 to 2026-03-02 01:00:00 UTC",
        "4 allowed, 3 denied, 0 refused, 1 undone; 1 failed in the kernel",
        "  link                 2       0       0       1       0      243 µs  2026-03-01 10:00:00  2026-03-01 10:05:01",
        "       2 × write net.x in host (link.create; no rule for this capability; changes the host)",
        "       1 × delete physical `eth0` in host (link.create; closest rule link[0]: namespace; changes the host)",
    ] {
        assert!(
            text.lines().any(|l| l == line),
            "`{line}` is not in\n{text}"
        );
    }
    Ok(())
}

/// A flood of different denials is counted, and does not make the answer grow.
#[test]
fn a_flood_of_denials_is_bounded() -> Result<()> {
    let flood: Vec<Value> = (0..5_000)
        .map(|n| {
            denial(
                "2026-03-01T12:00:00Z",
                "n",
                &format!("create veth `x{n}` in host"),
                None,
            )
        })
        .collect();
    let place = Place::with(&flood)?;
    let summary: Value = serde_json::from_str(&place.audit(&["--summary", "--output", "json"])?)?;
    let greedy = &summary["plugins"]["greedy"];
    assert_eq!(greedy["denied"], 5_000);
    assert_eq!(greedy["denials"].as_array().map(Vec::len), Some(100));
    assert_eq!(greedy["further_denials"], 4_900);
    assert!(place.audit(&["--html", "-"])?.len() < 200_000);
    Ok(())
}

// Following.

struct Follower {
    child: Child,
    lines: Receiver<String>,
}

impl Follower {
    fn start(place: &Place) -> Result<Self> {
        let words = ["--follow", "--output", "json"];
        let mut command = place.command(&words);
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
    let place = Place::with(&[])?;
    let log = place.log();
    fs::write(&log, line("first"))?;
    let follower = Follower::start(&place)?;
    follower.expect("first");
    place.append(&log, &line("second"))?;
    follower.expect("second");
    // In two halves: one record, once it is complete.
    let whole = line("halves");
    let (left, right) = whole.split_at(whole.len() / 2);
    place.append(&log, left)?;
    place.append(&log, right)?;
    follower.expect("halves");

    for round in ["one", "two", "three"] {
        let rotated = log.with_extension(format!("jsonl.{round}"));
        fs::rename(&log, &rotated)?;
        place.append(&log, &line(round))?;
        follower.expect(round);
        // An invocation that has the old file open still writes there.
        place.append(&rotated, &line("late"))?;
        follower.expect("late");
    }
    // Longer than the next content.
    place.append(&log, &line("before-it-is-truncated"))?;
    follower.expect("before-it-is-truncated");
    fs::write(&log, line("truncated"))?;
    follower.expect("truncated");
    // Removed with its directory, and created again.
    fs::remove_dir_all(log.parent().context("a directory")?)?;
    fs::create_dir_all(log.parent().context("a directory")?)?;
    place.append(&log, &line("again"))?;
    follower.expect("again");
    Ok(())
}

#[test]
fn following_waits_for_a_log_that_is_not_there_yet() -> Result<()> {
    let place = Place::with(&[])?;
    fs::remove_dir_all(place.root.path().join("var"))?;
    let follower = Follower::start(&place)?;
    fs::create_dir_all(place.root.path().join("var/log/weir"))?;
    place.append(&place.log(), &line("first"))?;
    follower.expect("first");
    Ok(())
}

/// If the reader ends, weir ends without a message, even if nothing more is recorded.
#[test]
fn following_ends_with_its_reader() -> Result<()> {
    let place = Place::with(&known())?;
    let mut command = place.command(&["--follow"]);
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

// The page.

/// The page parsed strictly: every element is closed, every attribute quoted, all text escaped.
fn parse(page: &str) -> Result<Document<'_>> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    Ok(Document::parse_with_options(page, options)?)
}

/// The elements with an attribute of that value.
fn with<'a>(page: &'a Document<'_>, attribute: &str, value: &str) -> Vec<Element<'a, 'a>> {
    let all = page.descendants();
    all.filter(|e| e.attribute(attribute) == Some(value))
        .collect()
}

/// `granted`, `allowed`, `denied`, `undone` of a cell.
fn cell(page: &Document<'_>, plugin: &str, capability: &str) -> Result<[String; 4]> {
    let row = with(page, "data-plugin", plugin);
    let mut cells = row.first().context("the plugin's row")?.children();
    let cell = cells
        .find(|cell| cell.attribute("data-capability") == Some(capability))
        .with_context(|| format!("no column {capability}"))?;
    let of = |key| cell.attribute(key).unwrap_or_default().to_owned();
    Ok(["data-granted", "data-allowed", "data-denied", "data-undone"].map(of))
}

fn text_of(element: Element<'_, '_>) -> String {
    let texts = element.descendants().filter_map(|e| e.text());
    texts.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_page_has_the_numbers() -> Result<()> {
    let mut records = known();
    // A plugin without a grant.
    records.push(record(
        "2026-03-01T10:00:00Z",
        "n8",
        json!({ "plugin": "gone" }),
    ));
    let place = Place::with(&records)?;
    place.grant(
        "greedy",
        "{ link: [{ namespace: container, verbs: [read] }, { namespace: container, kinds: [veth] }] }",
    )?;
    let file = place.root.path().join("page.html");
    place.audit(&["--html", file.to_str().context("text")?])?;
    let page = fs::read_to_string(file)?;
    let page = parse(&page)?;

    assert_eq!(cell(&page, "bridge", "link")?, ["true", "2", "0", "1"]);
    assert_eq!(cell(&page, "bridge", "sysctl")?, ["true", "1", "0", "0"]);
    assert_eq!(cell(&page, "bridge", "store")?, ["false", "0", "0", "0"]);
    assert_eq!(cell(&page, "host-local", "store")?, ["true", "1", "0", "0"]);
    // Its grant is for a missing plugin.
    assert_eq!(cell(&page, "greedy", "link")?, ["false", "0", "2", "0"]);
    assert_eq!(cell(&page, "gone", "link")?, ["false", "1", "0", "0"]);
    assert_eq!(cell(&page, "ptp", "link")?, ["true", "0", "0", "0"]);
    // The numbers are not only in attributes.
    let row = text_of(with(&page, "data-plugin", "greedy")[0]);
    assert!(row.contains("✕ 2"), "{row}");

    // Rules, and how often each was used; one that only reads is not called unused.
    let rules = |name: &str| with(&page, "data-rule", name);
    let used: Vec<_> = rules("link[0]")
        .iter()
        .filter_map(|r| r.attribute("data-used"))
        .collect();
    assert_eq!(used, ["2", "0"], "of bridge and of greedy");
    let classes: Vec<_> = rules("link[1]")
        .iter()
        .filter_map(|r| r.attribute("class"))
        .collect();
    assert_eq!(classes, ["used", "never"]);
    assert_eq!(rules("link[0]")[1].attribute("class"), Some("reads"));
    let everything = text_of(page.root_element());
    for words in [
        "2 denials of greedy",
        "2026-03-01 10:00:00",
        "2026-03-02 00:00:00",
        "{ namespace: container, kinds: [veth] }",
        "no grant",
        "etc/weir/grants.d/greedy.yaml",
        "not in force",
        "(no plugin)",
        "namespace",
        "no rule for this capability",
    ] {
        assert!(
            everything.contains(words),
            "`{words}` is not in {everything}"
        );
    }
    // One bar of the picture for each column with denials: two days apart, two columns.
    let picture = page
        .descendants()
        .find(|e| e.has_tag_name("svg"))
        .context("a picture")?;
    let denied = picture
        .descendants()
        .filter(|e| e.has_tag_name("rect") && e.attribute("class") == Some("denied"));
    assert_eq!(denied.count(), 2);
    Ok(())
}

#[test]
fn the_page_keeps_to_the_filters() -> Result<()> {
    let place = Place::with(&known())?;
    let words = "--html - --plugin bridge --since 2026-03-01T10:00:01Z";
    let page = place.audit(&split(words))?;
    let page = parse(&page)?;
    assert_eq!(cell(&page, "bridge", "link")?, ["true", "1", "0", "1"]);
    assert!(with(&page, "data-plugin", "greedy").is_empty());
    let everything = text_of(page.root_element());
    assert!(everything.contains("Nothing was denied"), "{everything}");
    assert_contains(&everything, &["2026-03-01T10:00:01.000Z"]);
    // Without records there is a page as well.
    let output = place.run(&["--html", "-", "--plugin", "nobody"])?;
    let said = String::from_utf8(output.stderr)?;
    assert!(said.contains("no plugin `nobody`"), "{said}");
    let page = String::from_utf8(output.stdout)?;
    assert!(text_of(parse(&page)?.root_element()).contains("Nothing is recorded"));
    Ok(())
}

/// Whatever is in the log is shown as text: nothing is loaded, and no script runs.
#[test]
fn the_page_cannot_be_taken_over() -> Result<()> {
    let evil =
        "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;]]></style>\u{0}\u{ffff}";
    let all = json!({ "plugin": evil, "container_id": evil, "operation": evil, "digest": evil,
        "capability": evil, "rules": [evil], "answer": evil, "ifname": evil });
    let mut denied = all.clone();
    denied["verdict"] = "denied".into();
    let place = Place::with(&[
        record("2026-03-01T10:00:00Z", evil, all),
        record("2026-03-01T10:00:00Z", evil, denied),
    ])?;
    let words = ["--html", "-", "--network", "*", "--plugin", "*<*"];
    let page = place.audit(&words)?;
    let document = parse(&page)?;
    let known = [
        "b", "body", "br", "caption", "code", "dd", "defs", "div", "dl", "dt", "footer", "g", "h1",
        "h2", "h3", "head", "header", "html", "li", "line", "main", "meta", "p", "path", "pattern",
        "rect", "section", "span", "strong", "style", "svg", "table", "tbody", "td", "text", "th",
        "thead", "title", "tr", "ul",
    ];
    for element in document.descendants().filter(Element::is_element) {
        let name = element.tag_name().name();
        assert!(known.contains(&name), "<{name}>");
        for attribute in element.attributes() {
            let name = attribute.name();
            let loads = ["src", "href", "srcset", "data", "action", "style"].contains(&name);
            assert!(
                !loads && !name.starts_with("on"),
                "{name}={}",
                attribute.value()
            );
        }
    }
    let everything = text_of(document.root_element());
    assert!(
        everything.contains("<script>alert(1)</script>"),
        "it is shown as text"
    );
    for reference in ["<script", "<img", "://", "@import", "url(http"] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert!(page.contains("default-src 'none'"));
    Ok(())
}

#[test]
fn the_page_says_when_no_plugin_can_run() -> Result<()> {
    let place = Place::with(&known())?;
    place.grant("greedy", "{ links: [] }")?;
    let page = place.audit(&["--html", "-"])?;
    let everything = text_of(parse(&page)?.root_element());
    assert!(everything.contains("no plugin can run"), "{everything}");
    assert!(everything.contains("greedy.yaml"), "{everything}");
    assert_eq!(
        cell(&parse(&page)?, "bridge", "link")?,
        ["false", "2", "0", "1"]
    );
    Ok(())
}

/// The records of a real ADD and a real denial.
#[test]
fn a_real_log() -> Result<()> {
    let node = Node::create()?;
    let config = |device: &str| {
        let mut config = bridge("audited", &["10.58.0.0/24"]);
        config["bridge"] = json!(device);
        config
    };
    let container = node.container()?;
    node.run(&weir(&node, "bridge", "ADD", &container, &config("aud0")))?
        .result();
    node.run(&weir(
        &node,
        "bridge",
        "ADD",
        &node.container()?,
        &config("lo"),
    ))?
    .error();
    let records = node.audit();
    let count = |key: &str, value: &str, verdict: &str| {
        let of = |record: &&Value| {
            record["plugin"] == "bridge" && record[key] == value && record["verdict"] == verdict
        };
        records.iter().filter(of).count().to_string()
    };
    let page = node.weir(&["audit", "--html", "-"])?;
    let page = parse(&page)?;
    for capability in ["link", "address", "ipam"] {
        let expected = ["allowed", "denied", "undo"].map(|v| count("capability", capability, v));
        let cell = cell(&page, "bridge", capability)?;
        assert_eq!(cell[0], "true");
        assert_eq!(cell[1..], expected, "{capability}");
    }
    assert_ne!(count("capability", "link", "allowed"), "0");
    assert_ne!(count("capability", "link", "denied"), "0");
    let denied = node.weir(&["audit", "--denied", "--summary"])?;
    assert!(denied.contains("closest rule link["), "{denied}");
    Ok(())
}
