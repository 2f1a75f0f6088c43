//! Plugins that do not end, or end badly: each limit has its code, and what was half made is gone.

use anyhow::Result;
use serde_json::json;
use weir_kit::Grant;

use super::{AttackedNode, HALF, READ, over_memory, over_time};

const PLUGIN: &str = "misbehaving";

/// Where an error says that a limit is.
const GRANT: &str = "etc/weir/grants.d/misbehaving.yaml`";

fn limited(limits: &str) -> Result<AttackedNode> {
    AttackedNode::create(&Grant {
        capabilities: READ,
        limits,
        ..Grant::nothing(PLUGIN)
    })
}

fn granted(capabilities: &str) -> Result<AttackedNode> {
    AttackedNode::create(&Grant {
        capabilities,
        ..Grant::nothing(PLUGIN)
    })
}

/// Property: a plugin has its time and no more, in whichever command.
#[test]
fn an_endless_loop_ends_with_its_time() -> Result<()> {
    let fixture = limited("{ time: 1s }")?;
    fixture.ends(json!({ "act": "loop" }), 211, &[&over_time("1s"), GRANT])?;
    let outcome = fixture.run("DEL", json!({ "delAct": "loop" }), &[])?;
    fixture.assert_ended(&outcome, 211, &[&over_time("1s"), GRANT]);
    Ok(())
}

/// Property: a plugin has its memory and no more.
#[test]
fn memory_is_bounded() -> Result<()> {
    limited("{ memory: 8MiB }")?.ends(json!({ "act": "eat" }), 212, &[&over_memory("8MiB"), GRANT])
}

/// Property: a plugin has its calls and no more, and each one that was denied is recorded.
#[test]
fn calls_are_bounded() -> Result<()> {
    let fixture = limited("{ calls: 50 }")?;
    fixture.ends(
        json!({ "act": "flood", "target": "lo" }),
        213,
        &[
            "made more calls of host functions than `limits.calls: 50`",
            "its last call before that was `link.get`",
            GRANT,
        ],
    )?;
    // Every one of them was denied, and every denial is recorded.
    let denied = fixture.records("link.get");
    assert_eq!(denied.len(), 50, "{denied:#?}");
    assert!(
        denied.iter().all(|record| record["verdict"] == "denied"),
        "{denied:#?}"
    );
    Ok(())
}

/// Property: neither a call nor a result hands over more than the limit.
#[test]
fn what_crosses_is_bounded() -> Result<()> {
    let fixture = limited("{ transfer: 64KiB }")?;
    for (act, last_call) in [
        ("hand over", "it had not called the contract before that"),
        (
            "ask and hand over",
            "its last call before that was `link.get`",
        ),
        ("ask and return", "its last call before that was `link.get`"),
    ] {
        fixture.ends(
            json!({ "act": act, "target": "lo" }),
            214,
            &[
                "handed over more in one call than `limits.transfer: 64KiB`",
                last_call,
                GRANT,
            ],
        )?;
    }
    Ok(())
}

/// Property: what is reported of the last call is true, although the engine does not say which one was too many.
#[test]
fn the_call_before_the_one_too_many_is_named() -> Result<()> {
    limited("{ calls: 1 }")?.ends(
        json!({ "act": "ask and hand over", "target": "lo" }),
        213,
        &["its last call before that was `link.get`", GRANT],
    )
}

/// Property: whatever ends a plugin is an error of that plugin, and says what it was.
#[test]
fn traps_and_panics_are_reported() -> Result<()> {
    let fixture = limited("{}")?;
    fixture.ends(json!({ "act": "trap" }), 210, &["trapped", "unreachable"])?;
    fixture.ends(json!({ "act": "exit" }), 210, &["exit"])?;
    fixture.ends(
        json!({ "act": "sleep" }),
        210,
        &["cannot wait through WASI"],
    )
}

/// Property: nothing that an ADD made outlives its failure.
#[test]
fn what_was_half_made_is_gone() -> Result<()> {
    let fixture = AttackedNode::create(&Grant {
        capabilities: HALF,
        limits: "{ time: 1s }",
        ..Grant::nothing(PLUGIN)
    })?;
    for (act, code) in [
        ("half and trap", 210),
        ("half and loop", 211),
        ("half and fail", 150),
    ] {
        fixture.ends(json!({ "act": act }), code, &[])?;
        let log = fixture.node.audit();
        let verdict = |operation: &str, verdict: &str| {
            let is =
                |r: &&serde_json::Value| r["operation"] == operation && r["verdict"] == verdict;
            log.iter().filter(is).count()
        };
        assert!(verdict("link.create", "allowed") > 0, "{log:#?}");
        assert_eq!(
            verdict("link.create", "allowed"),
            verdict("link.delete", "undo"),
            "{log:#?}"
        );
        assert_eq!(
            verdict("store.put", "allowed"),
            verdict("store.revert", "undo"),
            "{log:#?}"
        );
    }
    Ok(())
}

/// Property: the same for traffic control.
///
/// In a discipline that stays: what was there before stays as well.
#[test]
fn half_made_traffic_control_is_gone() -> Result<()> {
    let fixture = granted("{ traffic: [ { namespace: host, links: [half0], verbs: [create] } ] }")?;
    fixture
        .node
        .ip("link add half0 type veth peer name half1")?;
    fixture.node.tools("tc", &[
        "qdisc add dev half0 root handle 1: htb default 10",
        "class add dev half0 parent 1: classid 1:10 htb rate 8mbit burst 15000",
        "filter add dev half0 parent 1: protocol ip prio 7 u32 match ip dst 10.0.0.0/8 flowid 1:10",
    ])?;
    let shown = || -> Result<Vec<String>> {
        let of_link = ["qdisc show", "class show", "filter show"];
        let show = |what: &&str| fixture.node.tool("tc", &format!("{what} dev half0"));
        of_link.iter().map(show).collect()
    };
    let before = shown()?;
    let outcome = fixture.add(json!({ "act": "half of traffic and trap", "target": "half0" }))?;
    assert_eq!(outcome.error()["code"], 210, "{outcome:?}");
    for (made, undone) in [
        ("traffic.add-qdisc", "traffic.delete-qdisc"),
        ("traffic.add-class", "traffic.delete-class"),
        ("traffic.add-filter", "traffic.delete-filter"),
    ] {
        let (made, undone) = (fixture.records(made), fixture.records(undone));
        assert!(
            !made.is_empty() && made.len() == undone.len(),
            "{made:#?} {undone:#?}"
        );
        assert!(
            made.iter().all(|record| record["verdict"] == "allowed"),
            "{made:#?}"
        );
        for record in undone {
            assert_eq!(record["verdict"], "undo", "{record:#}");
            assert_eq!(record["answer"], "ok", "{record:#}");
        }
    }
    assert_eq!(shown()?, before);
    Ok(())
}

/// Property: a plugin does not run without end by running itself.
#[test]
fn a_plugin_cannot_run_itself_as_its_ipam_plugin() -> Result<()> {
    let fixture = granted("{ ipam: [misbehaving] }")?;
    let outcome = fixture.add(json!({ "act": "ipam", "ipam": { "type": PLUGIN } }))?;
    outcome.told(220, &["an IPAM plugin cannot run an IPAM plugin"]);
    fixture.assert_no_residue();
    let runs = fixture.records("ipam.run");
    assert!(
        runs[0]["answer"]
            .to_string()
            .contains("cannot run an IPAM plugin"),
        "{runs:#?}"
    );
    Ok(())
}
