//! `weir plugin test` shows the outcome of each command.

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::assert_contains;

use crate::example;
use crate::test::{Case, after_ptp};

/// A network with `labels` in it, and the example's grant.
pub fn labelled() -> Result<Case> {
    let case = Case::create(&after_ptp("labels", json!({})))?;
    let grant = fs::read_to_string(example("labels", "grant.yaml"))?;
    case.write("grant.yaml", &grant)?;
    Ok(case)
}

fn lines(value: &Value) -> Vec<&str> {
    let list = value.as_array().expect("a list").iter();
    list.filter_map(Value::as_str).collect()
}

#[test]
fn what_came_of_each_command_is_shown() -> Result<()> {
    let case = labelled()?;
    let report = case.run("labels", &[], 0);
    let steps = report["steps"].as_array().context("steps")?;
    let add = &steps[1];
    assert_eq!(add["result"]["cniVersion"], "1.1.0");
    assert_eq!(add["result"]["ips"][0]["address"], "10.94.0.2/24");
    let added = lines(&add["changes"]["added"]);
    for begin in [
        "container: address 10.94.0.2/24 on eth0",
        "container: link eth0 (veth), up, mtu 1500",
        "container: route 10.94.0.0/24 via 10.94.0.1 over eth0",
        "file: /var/lib/cni/networks/tried/10.94.0.2",
        "host: sysctl net.ipv4.ip_forward is 1, and was 0",
    ] {
        assert!(
            added.iter().any(|line| line.starts_with(begin)),
            "{begin}: {add:#}"
        );
    }
    // `ptp` lets the host ignore router advertisements there.
    assert!(
        added
            .iter()
            .any(|line| line.starts_with("host: sysctl net.ipv6.conf.veth")
                && line.ends_with(".accept_ra is 0, and is 1 by default")),
        "{add:#}"
    );
    for (at, step) in steps.iter().enumerate() {
        let changes = !["STATUS", "CHECK"].contains(&step["command"].as_str().unwrap_or_default());
        let nothing = json!({ "added": [], "removed": [] });
        assert!(changes || step["changes"] == nothing, "{at}: {step:#}");
    }
    // DEL takes back what ADD made.
    let removed = lines(&steps[5]["changes"]["removed"]);
    assert!(removed.contains(&"container: address 10.94.0.2/24 on eth0"));
    let text = case.said("labels", &[], 0);
    assert_contains(
        &text,
        &[
            "result      {",
            "added       container: address 10.94.0.2/24 on eth0",
            "alias \"tried/weir-plugin-test/eth0\"",
        ],
    );
    Ok(())
}

#[test]
fn an_interface_that_does_not_exist_is_a_failure() -> Result<()> {
    let case = Case::create(&json!({ "cniVersion": "1.1.0", "name": "tried", "type": "forger" }))?;
    case.grant("forger", "{}")?;
    let ghost = ["--args", "FORGE=ghost;IgnoreUnknown=1"];
    let report = case.run("forger", &ghost, 3);
    let wrong = lines(&report["wrong"]);
    assert_eq!(wrong.len(), 1, "{report:#}");
    assert!(wrong[0].starts_with("result names interface `ghost0` in sandbox `/"));
    assert!(wrong[0].ends_with("/run/netns/test`, which does not exist"));
    let text = case.said("forger", &ghost, 3);
    assert_contains(
        &text,
        &["wrong       result names interface `ghost0`", "FAILED"],
    );
    Ok(())
}
