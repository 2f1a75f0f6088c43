//! Plugins that run plugins.

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::{Grant, component_file};

use super::puppet::{PLUGIN, Puppet};

/// Installs the plugin once more as `second`, under a grant that lets it run an IPAM plugin.
fn with_second(capabilities: &str) -> Result<Puppet> {
    let puppet = Puppet::under(capabilities)?;
    let node = &puppet.fixture.node;
    let file = &component_file(PLUGIN);
    node.weir(&["plugin", "add", file, "--name", "second"])?;
    let grant = Grant {
        capabilities: "{ ipam: [puppet, second] }",
        ..Grant::nothing("second")
    };
    node.put_grant("second.yaml", &grant.document(&node.digest("second")?))?;
    Ok(puppet)
}

fn of_plugin(records: Vec<Value>, plugin: &str) -> Vec<Value> {
    let mut records = records;
    records.retain(|record| record["plugin"] == plugin);
    records
}

/// Property: only what the grant names is run, however the configuration spells it.
#[test]
fn a_plugin_that_is_not_granted_is_not_run() -> Result<()> {
    let puppet = with_second("{ ipam: [second] }")?;
    for named in [
        "puppet",
        "host-local",
        "second\n",
        "second\0",
        "./second",
        "../plugins/second",
        "SECOND",
        "sec*",
    ] {
        let keys = json!({ "orders": [{ "do": "ipam.add" }], "ipam": { "type": named } });
        let answers = puppet.act_with(keys)?;
        assert_eq!(answers.len(), 1, "{named:?}: {answers:#?}");
        assert_eq!(answers[0].answer, "220", "{named:?}: {answers:#?}");
    }
    let runs = puppet.fixture.records("ipam.run");
    assert_eq!(runs.len(), 8, "{runs:#?}");
    assert!(runs.iter().all(|r| r["verdict"] == "denied"), "{runs:#?}");
    Ok(())
}

/// Property: without a name no plugin is asked for, and the error is the configuration's.
#[test]
fn an_empty_name_runs_nothing() -> Result<()> {
    let puppet = with_second("{ ipam: ['*'] }")?;
    for function in ["add", "check", "del", "status", "gc"] {
        let order = json!({ "do": format!("ipam.{function}") });
        let keys = json!({ "orders": [order], "ipam": { "type": "" } });
        let answers = puppet.act_with(keys)?;
        assert_eq!(answers.len(), 1, "{function}: {answers:#?}");
        assert_eq!(answers[0].answer, "7", "{function}: {answers:#?}");
        let said = &answers[0].said;
        assert!(said.starts_with("ipam.type: empty"), "{function}: {said}");
    }
    assert_eq!(puppet.fixture.records("ipam.run"), [json!(null); 0]);
    Ok(())
}

/// Property: one plugin runs one other, and no circle comes about. Both attempts are recorded.
#[test]
fn an_ipam_plugin_runs_no_further_one() -> Result<()> {
    let puppet = with_second("{ ipam: [second] }")?;
    let keys = json!({ "orders": [{ "do": "ipam.add" }], "ipam": { "type": "second" } });
    puppet.fixture.add(keys)?.result();
    let answers = puppet.said();
    let answered: Vec<&str> = answers.iter().map(|a| a.answer.as_str()).collect();
    assert_eq!(answered, ["220", "ok"], "{answers:#?}");
    assert!(
        answers[0].said.contains("cannot run an IPAM plugin"),
        "{answers:#?}"
    );
    let runs = puppet.fixture.records("ipam.run");
    let refused = of_plugin(runs, "second");
    assert_eq!(refused.len(), 1, "{refused:#?}");
    let answer = refused[0]["answer"].to_string();
    assert!(answer.contains("cannot run an IPAM plugin"), "{refused:#?}");
    Ok(())
}
