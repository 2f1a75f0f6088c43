//! Plugins that write: standard output belongs to the protocol, the log is bounded, and nothing
//! drives the terminal of who reads.

use std::fs;

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::{Grant, assert_contains};

use super::AttackedNode;
use super::puppet::Puppet;

fn fixture(limits: &str) -> Result<AttackedNode> {
    AttackedNode::create(&Grant {
        limits,
        ..Grant::nothing("misbehaving")
    })
}

fn log(fixture: &AttackedNode) -> Vec<Value> {
    let text = fixture.node.log();
    let text = text.unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON Lines"))
        .collect()
}

/// Property: standard output carries one document, and it is not the plugin's.
#[test]
fn what_a_plugin_prints_goes_to_the_log() -> Result<()> {
    let fixture = fixture("{}")?;
    let outcome = fixture.add(json!({ "act": "print" }))?;
    assert!(
        outcome
            .result()
            .get("ips")
            .is_none_or(|ips| ips == &json!([])),
        "{outcome:?}"
    );
    assert!(!outcome.stdout.contains("1.0.0"), "{outcome:?}");
    assert!(outcome.stderr.is_empty(), "{outcome:?}");
    let log = log(&fixture);
    assert_eq!(log.len(), 1, "{log:#?}");
    let message = log[0]["message"].to_string();
    assert!(message.contains("written to standard error"), "{message}");
    assert_eq!(log[0]["plugin"], "misbehaving");
    Ok(())
}

/// Property: a plugin does not fill the disk with its lines.
#[test]
fn the_log_is_bounded() -> Result<()> {
    let fixture = fixture("{ log: 16KiB }")?;
    fixture.add(json!({ "act": "log much" }))?.result();
    let size = fs::metadata(fixture.node.root().join("var/log/weir/weir.log"))?.len();
    assert!(size <= 17 << 10, "{size} bytes in the log");
    let log = log(&fixture);
    let last = log.last().expect("something is in the log");
    let dropped = format!(
        "{} lines exceeded the grant's `limits.log`",
        1000 - (log.len() - 1)
    );
    assert!(last["message"].to_string().contains(&dropped), "{last:#}");
    Ok(())
}

/// Property: of lines that it prints and that are too many for the log, the first are kept and the others counted.
#[test]
fn the_log_has_the_first_of_many_printed_lines() -> Result<()> {
    let fixture = fixture("{ log: 10KiB }")?;
    fixture.add(json!({ "act": "print many lines" }))?.result();
    let log = log(&fixture);
    assert!(log.len() > 10, "{log:#?}");
    for (at, line) in log[..log.len() - 1].iter().enumerate() {
        assert_eq!(line["message"], format!("line {at}"));
    }
    let dropped = format!("{} lines exceeded", 1000 - (log.len() - 1));
    let last = log.last().map(|last| last["message"].to_string());
    assert_contains(&last.unwrap_or_default(), &[&dropped]);
    Ok(())
}

/// Property: nor with what it prints.
#[test]
fn a_flood_on_standard_output_is_bounded() -> Result<()> {
    let fixture = fixture("{ log: 16KiB }")?;
    let outcome = fixture.add(json!({ "act": "print much" }))?;
    let error = outcome.error();
    assert_eq!(error["code"], 210, "{error:#}");
    assert!(
        outcome.stdout.len() < 20 << 10,
        "{} bytes of error",
        outcome.stdout.len()
    );
    fixture.assert_no_residue();
    Ok(())
}

/// Property: a plugin's text does nothing to the terminal in which it is read.
#[test]
fn nothing_drives_the_terminal() -> Result<()> {
    let fixture = fixture("{}")?;
    let outcome = fixture.add(json!({ "act": "drive the terminal" }))?;
    fixture.assert_ended(&outcome, 150, &["]0;owned", "title", "forged line"]);
    let error = outcome.error();
    let log = log(&fixture);
    let texts = [
        &error["msg"],
        &error["details"],
        &log[0]["message"],
        &log[0]["fields"],
    ];
    for text in texts {
        let text = text.to_string();
        let value: Value = serde_json::from_str(&text)?;
        let control = |text: &str| text.chars().any(char::is_control);
        let driven = match &value {
            Value::String(text) => control(text),
            Value::Object(map) => map
                .iter()
                .any(|(key, value)| control(key) || value.as_str().is_some_and(control)),
            other => panic!("{other}"),
        };
        assert!(!driven, "control characters in {text}");
    }
    Ok(())
}

/// Property: an audit log is read in a terminal, and what a plugin asked for is in it: nothing of that
/// drives the terminal, ends a line, or turns what is beside it.
#[test]
fn nothing_in_the_audit_log_drives_the_terminal() -> Result<()> {
    let puppet = Puppet::under("{}")?;
    let text =
        "\u{1b}[2J\u{9b}31m\u{7f}\r\n{\"verdict\":\"allowed\"}\u{202e}\u{2066}\u{2028}\u{85}";
    let orders = [
        json!({ "do": "sysctl.write", "key": format!("net.{text}"), "value": text }),
        json!({ "do": "store.open", "path": format!("/{text}") }),
        json!({ "do": "store.read-file", "path": format!("/{text}") }),
        json!({ "do": "firewall.apply", "chain": text }),
        json!({ "do": "firewalld.add-source", "zone": text }),
        json!({ "do": "link.create", "kind": "bridge", "name": text, "alias": text }),
    ];
    let many = orders.len();
    puppet.assert_denied(orders.into())?;
    for log in ["audit.jsonl", "weir.log"] {
        let written =
            fs::read_to_string(puppet.fixture.node.root().join("var/log/weir").join(log))?;
        let (mark, others) = match log {
            "audit.jsonl" => ("\"seq\":", puppet.fixture.node.events().len()),
            _ => ("\"message\":", 0),
        };
        let records = written.lines().filter(|line| line.contains(mark));
        assert_eq!(records.count(), many + others, "{log}: {written:?}");
        let turns = |c: char| "\u{202e}\u{2066}\u{2028}".contains(c);
        let driven = written
            .lines()
            .any(|line| line.chars().any(|c| c.is_control() || turns(c)));
        assert!(!driven, "{log}: {written:?}");
    }
    let record = &puppet.fixture.records("sysctl.write")[0];
    assert_eq!(
        record["arguments"]["value"], text,
        "it is recorded unchanged"
    );
    Ok(())
}
