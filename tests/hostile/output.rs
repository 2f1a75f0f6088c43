//! Plugins that write: standard output belongs to the protocol, the log is bounded, and nothing
//! drives the terminal of who reads.

use std::fs;

use anyhow::Result;
use serde_json::{Value, json};
use weir_tests::Grant;

use super::Place;

fn place(limits: &str) -> Result<Place> {
    Place::create(&Grant {
        limits,
        ..Grant::nothing("misbehaving")
    })
}

fn log(place: &Place) -> Vec<Value> {
    let text = fs::read_to_string(place.node.root().join("var/log/weir/weir.log"));
    let text = text.unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON Lines"))
        .collect()
}

#[test]
fn what_a_plugin_prints_goes_to_the_log() -> Result<()> {
    let place = place("{}")?;
    let outcome = place.add(json!({ "act": "print" }))?;
    assert!(
        outcome
            .result()
            .get("ips")
            .is_none_or(|ips| ips == &json!([])),
        "{outcome:?}"
    );
    assert!(!outcome.stdout.contains("1.0.0"), "{outcome:?}");
    assert!(outcome.stderr.is_empty(), "{outcome:?}");
    let log = log(&place);
    assert_eq!(log.len(), 1, "{log:#?}");
    let message = log[0]["message"].to_string();
    assert!(message.contains("written to standard error"), "{message}");
    assert_eq!(log[0]["plugin"], "misbehaving");
    Ok(())
}

#[test]
fn the_log_is_bounded() -> Result<()> {
    let place = place("{ log: 16KiB }")?;
    place.add(json!({ "act": "log much" }))?.result();
    let log = log(&place);
    let text: usize = log
        .iter()
        .map(|line| line["message"].as_str().unwrap_or("").len())
        .sum();
    assert!(text <= 17 << 10, "{text} bytes in the log");
    let last = log.last().expect("something is in the log");
    assert!(
        last["message"].to_string().contains("984 lines"),
        "{last:#}"
    );
    Ok(())
}

#[test]
fn a_flood_on_standard_output_is_bounded() -> Result<()> {
    let place = place("{ log: 16KiB }")?;
    let outcome = place.add(json!({ "act": "print much" }))?;
    let error = outcome.error();
    assert_eq!(error["code"], 210, "{error:#}");
    assert!(
        outcome.stdout.len() < 20 << 10,
        "{} bytes of error",
        outcome.stdout.len()
    );
    place.assert_no_residue();
    Ok(())
}

#[test]
fn nothing_drives_the_terminal() -> Result<()> {
    let place = place("{}")?;
    let outcome = place.add(json!({ "act": "drive the terminal" }))?;
    place.assert_ended(&outcome, 150, &["]0;owned", "title", "forged line"]);
    let error = outcome.error();
    let log = log(&place);
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
