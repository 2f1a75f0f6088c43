//! Counts, in place of records.

use anyhow::Result;
use serde_json::{Value, json};

use super::{DIGEST, LoggedNode, denial, known_and};

#[test]
fn a_summary_counts() -> Result<()> {
    let again = denial("2026-03-02T01:00:00Z", "n7", "write net.x in host", None);
    let node = LoggedNode::with(&known_and(again))?;
    let summary: Value = serde_json::from_str(&node.audit(&["--summary", "--output", "json"])?)?;
    let picked = |value: &Value, keys: &[&str]| -> Vec<Value> {
        keys.iter().map(|key| value[key].clone()).collect()
    };
    let counts = ["allowed", "denied", "undone", "failed", "microseconds"];
    assert_eq!(summary["files"], json!([node.log()]));
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

    let text = node.audit(&["--summary"])?;
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
    let node = LoggedNode::with(&flood)?;
    let summary: Value = serde_json::from_str(&node.audit(&["--summary", "--output", "json"])?)?;
    let greedy = &summary["plugins"]["greedy"];
    assert_eq!(greedy["denied"], 5_000);
    assert_eq!(greedy["denials"].as_array().map(Vec::len), Some(100));
    assert_eq!(greedy["further_denials"], 4_900);
    assert!(node.audit(&["--html", "-"])?.len() < 200_000);
    Ok(())
}
