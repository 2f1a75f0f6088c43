//! What a plugin tries against those who look at what it has tried.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::assert_contains;

use super::puppet::{PLUGIN, Puppet};

/// Paths that no rule can have, and what else would be in a printed document's way.
const ODD: [&str; 4] = [
    "/etc/../etc/cron.d",
    "relative",
    "/etc/../a\nkind: Anything\u{1b}[2J\u{202e}",
    "/run/\u{7f}\u{85}\u{feff}{ifname}*[\"'\\",
];

/// Of what was denied, what no rule can allow is listed, and the rest is suggested.
#[test]
fn a_suggestion_is_made_whatever_a_plugin_asked_for() -> Result<()> {
    let puppet = Puppet::under("{}")?;
    let mut orders: Vec<Value> = ODD
        .iter()
        .flat_map(|path| {
            [
                json!({ "do": "store.open", "path": path, "write": true }),
                json!({ "do": "store.read-file", "path": path }),
            ]
        })
        .collect();
    orders.push(json!({ "do": "store.open", "path": "/var/lib/mine", "write": true }));
    orders.push(json!({ "do": "sysctl.read", "key": "net.{x}.*[" }));
    orders.push(json!({ "do": "link.get", "link": "lo" }));
    puppet.assert_denied(orders)?;

    let node = &puppet.fixture.node;
    let yaml = node.weir(&["grants", "suggest", PLUGIN, "--denied"])?;
    assert!(yaml.contains("`/etc/../etc/cron.d`"), "{yaml}");
    assert!(yaml.contains("which stay denied"), "{yaml}");
    let misleading = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!yaml.contains(misleading), "{yaml:?}");
    // A document that can be reviewed as it is.
    let file = node.root().join("suggested.yaml");
    fs::write(&file, &yaml)?;
    let shown = file.to_str().context("a path is text")?;
    node.weir(&["grants", "check", shown])?;

    let words = ["grants", "suggest", PLUGIN, "--denied", "--output", "json"];
    let told: Value = serde_json::from_str(&node.weir(&words)?)?;
    let without: Vec<&str> = told["without_rule"]
        .as_array()
        .context("a list")?
        .iter()
        .filter_map(|one| one["need"].as_str())
        .collect();
    for path in &ODD[..3] {
        for need in [
            format!("write the store in `{path}`"),
            format!("read the file `{path}`"),
        ] {
            assert!(without.contains(&need.as_str()), "{need}: {without:#?}");
        }
    }
    assert_eq!(without.len(), 6, "{without:#?}");
    let rules = &told["document"]["spec"]["capabilities"];
    assert_eq!(
        rules["store"],
        json!([
            { "directories": [ODD[3], "/var/lib/mine"], "verbs": ["write"] },
            { "files": [ODD[3]], "verbs": ["read"] },
        ]),
        "{rules:#}"
    );
    assert_eq!(rules["link"][0]["names"], json!(["lo"]), "{rules:#}");
    Ok(())
}

/// What a plugin is denied in the lesson, because no rule can name it, does not end the lesson.
#[test]
fn a_lesson_goes_on_whatever_a_plugin_asks_for() -> Result<()> {
    let puppet = Puppet::under("{}")?;
    let node = &puppet.fixture.node;
    let orders: Vec<Value> = ODD
        .iter()
        .map(|path| json!({ "do": "store.read-file", "path": path }))
        .chain([json!({ "do": "link.get", "link": "lo", "inside": true })])
        .collect();
    let config = puppet.fixture.config(json!({ "orders": orders }));
    let file = node.root().join("learn.json");
    fs::write(&file, config.to_string())?;
    let shown = file.to_str().context("a path is text")?;
    let learn = ["grants", "learn", PLUGIN, "--config", shown];
    let output = node.inside(|| node.command(&learn))?;
    let errors = String::from_utf8(output.stderr)?;
    ensure!(output.status.code() == Some(3), "{errors}");
    let records: Vec<Value> = String::from_utf8(output.stdout)?
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    let is_allowed = |operation: &str| {
        let mut all = records.iter();
        all.any(|r| r["operation"] == operation && r["verdict"] == "allowed")
    };
    assert!(is_allowed("link.get"), "{records:#?}");
    // The one that a rule can name.
    assert!(is_allowed("store.read-file"), "{records:#?}");
    assert_contains(
        &errors,
        &["still denied: puppet: read the file `/etc/../etc/cron.d`"],
    );
    Ok(())
}
