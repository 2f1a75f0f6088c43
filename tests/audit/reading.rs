//! Which records are printed, and how.

use std::fs;
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{LoggedNode, known, known_and, lines, record, split};

#[test]
fn filters() -> Result<()> {
    let node = LoggedNode::with(&known())?;
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
        assert_eq!(node.numbers(&split(words))?, expected, "{words:?}");
    }
    Ok(())
}

#[test]
fn filters_that_mean_nothing_are_refused() -> Result<()> {
    let node = LoggedNode::with(&known())?;
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
        let output = node.run(&split(words))?;
        let errors = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(2), "{words:?}: {errors}");
        assert!(errors.contains(said), "{words:?}: {errors}");
    }
    Ok(())
}

#[test]
fn times() -> Result<()> {
    let now = humantime(SystemTime::now());
    let node = LoggedNode::with(&known_and(record(&now, "n8", json!({}))))?;
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
        assert_eq!(node.numbers(words)?, expected, "{words:?}");
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
    let node = LoggedNode::with(&known())?;
    let page = node.root.path().join("page.html");
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
            assert_eq!(node.run(&words)?.status.code(), Some(code), "{words:?}");
            let words = [form, filter].concat();
            assert_eq!(node.run(&words)?.status.code(), Some(0), "{words:?}");
        }
    }
    Ok(())
}

/// Operations are described in words, or by their arguments if those are not valid.
#[test]
fn a_record_is_one_line_that_a_person_reads() -> Result<()> {
    let node = LoggedNode::with(&known())?;
    assert_eq!(
        node.audit(&["--network", "n[136]"])?,
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
    let node = LoggedNode::with(&known())?;
    assert_eq!(
        node.audit(&["--network", "n[16]", "--arguments"])?,
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
    let node = LoggedNode::with(&records)?;
    let deceives = |c: char| c != '\n' && (c.is_control() || ['\u{202e}', '\u{200b}'].contains(&c));
    let text = node.audit(&[])?;
    assert_eq!(text.lines().count(), 1, "{text:?}");
    for words in [&[][..], &["--summary"], &["--html", "-"]] {
        let text = node.audit(words)?;
        assert!(!text.contains(deceives), "{text:?}");
        assert!(text.contains(r"\u{202e}b"), "{text}");
    }
    Ok(())
}

/// The same for a log of an older weir, whose denials have the rule in their words.
#[test]
fn json_is_the_records_in_one_shape() -> Result<()> {
    let node = LoggedNode::with(&known())?;
    let shown = node.audit(&["--output", "json"])?;
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
    let again = LoggedNode::with(&shown)?;
    assert_eq!(
        again.audit(&["--output", "json"])?,
        node.audit(&["--output", "json"])?
    );
    Ok(())
}

#[test]
fn lines_that_are_no_records_are_counted_and_said() -> Result<()> {
    let node = LoggedNode::with(&[])?;
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
        node.log(),
        format!("{half}{}\nnot weir's\n{}\n{half}", begin(&two), begin(&one)),
    )?;
    let output = node.run(&["--output", "json"])?;
    assert!(output.status.success(), "{output:?}");
    let shown = String::from_utf8(output.stdout)?;
    let networks: Vec<Value> = shown
        .lines()
        .map(|line| Ok(serde_json::from_str::<Value>(line)?["network"].clone()))
        .collect::<Result<_>>()?;
    assert_eq!(networks, ["n2", "n1"]);
    let said = String::from_utf8(output.stderr)?;
    assert!(said.contains("3 lines are not records"), "{said}");

    let summary: Value = serde_json::from_str(&node.audit(&["--summary", "--output", "json"])?)?;
    assert_eq!(
        (&summary["unreadable"], &summary["allowed"]),
        (&json!(3), &json!(2))
    );
    assert!(
        node.audit(&["--summary"])?
            .contains("3 lines are not records")
    );
    assert!(node.audit(&["--html", "-"])?.contains("3 lines"));
    Ok(())
}

#[test]
fn rotated_files_are_read_one_after_another() -> Result<()> {
    let node = LoggedNode::with(&known()[2..])?;
    let rotated = node.root.path().join("var/log/weir/audit.jsonl.1");
    fs::write(&rotated, lines(&known()[..2]))?;
    let (rotated, log) = (
        rotated.display().to_string(),
        node.log().display().to_string(),
    );
    let words = ["--file", &rotated, "--file", &log];
    assert_eq!(node.networks(&words)?.concat(), "n1n2n3n4n5n6n7");
    assert_eq!(node.networks(&["--file", &rotated])?.concat(), "n1n2");

    // A compressed log comes through a pipe.
    let mut piped = node.command(&["--file", "/dev/stdin", "--output", "json"]);
    let output = piped.stdin(fs::File::open(&rotated)?).output()?;
    let shown = String::from_utf8(output.stdout)?;
    assert_eq!(
        shown,
        node.audit(&["--output", "json", "--file", &rotated])?
    );
    assert_eq!(shown.lines().count(), 2);

    let missing = node.run(&["--file", "/does/not/exist"])?;
    assert_eq!(missing.status.code(), Some(1));
    let said = String::from_utf8(missing.stderr)?;
    assert!(said.contains("`/does/not/exist`"), "{said}");
    // It is not an error if nothing is recorded yet.
    fs::remove_file(node.log())?;
    let none = node.run(&[])?;
    assert!(none.status.success() && none.stdout.is_empty(), "{none:?}");
    assert!(String::from_utf8(none.stderr)?.contains("nothing is recorded yet"));
    Ok(())
}
