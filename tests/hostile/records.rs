//! The audit log under attack: every attempt is in it, what is in it is so, and nobody fills a disk with it.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::trace::End;
use weir_kit::{State, audit, weir};

use super::puppet::{PLUGIN, Puppet};

/// Parameters of the host that every network namespace has of its own.
const PARAMETER: &str = "net.ipv4.ip_default_ttl";
const FILE: &str = "/proc/sys/net/ipv4/ip_default_ttl";

fn value(puppet: &Puppet) -> Result<String> {
    let read = puppet
        .fixture
        .node
        .inside(|| Ok(fs::read_to_string(FILE)?))?;
    Ok(read.trim().to_owned())
}

/// Property: a flood of denied calls is recorded up to a bound, and how many more there were.
#[test]
fn denials_without_end_are_counted() -> Result<()> {
    let puppet = Puppet::under("{ link: [ { names: [own0] } ] }")?;
    let long = "x".repeat(4000);
    let orders = json!({ "do": "sysctl.write", "key": long, "value": long, "times": 3000 });
    puppet.act(vec![orders])?;
    let denied = puppet.fixture.records("sysctl.write");
    assert_eq!(denied.len(), 100);
    let events = puppet.fixture.node.events();
    let further = events
        .iter()
        .find(|event| event["operation"] == "denial.further");
    let further = further.context("an event says how many more there were")?;
    assert_eq!(
        further["arguments"],
        json!({ "count": 2900 }),
        "{further:#}"
    );
    assert_eq!(further["verdict"], "denied");
    let size = fs::metadata(puppet.fixture.node.audit_log())?.len();
    assert!(size < 2 << 20, "{size} bytes");
    Ok(())
}

/// Property: what a plugin writes cannot pass for a line of the hash chain.
#[test]
fn text_of_a_plugin_is_no_chain_line() -> Result<()> {
    let puppet = Puppet::under("{ sysctl: [ { namespace: container } ] }")?;
    let digest = "0".repeat(64);
    let imitations = [
        format!("{{\"chained\":0,\"sha256\":\"{digest}\"}}"),
        format!("x\n{{\"chained\":2,\"sha256\":\"{digest}\"}}\n"),
        format!("\"}}\n{{\"chained\":9,\"sha256\":\"{digest}\"}}\n{{\"time\":\""),
    ];
    for text in &imitations {
        let order = json!({ "do": "sysctl.write", "inside": true, "key": text, "value": text });
        let denied = json!({ "do": "sysctl.write", "key": text, "value": text });
        puppet.act(vec![order, denied])?;
    }
    let node = &puppet.fixture.node;
    let written = fs::read_to_string(node.audit_log())?;
    assert!(written.contains("chained\\\""), "{written}");
    let report: Value =
        serde_json::from_str(&node.weir(&["audit", "verify", "--output", "json"])?)?;
    let chain_lines = written
        .lines()
        .filter(|line| line.starts_with("{\"chained\":"));
    // All but the one that begins the chain.
    assert_eq!(report["checked"], chain_lines.count() - 1, "{report:#}");
    Ok(())
}

/// Property: nor does what is allowed fill a disk with records.
#[test]
fn records_without_end_end_the_plugin() -> Result<()> {
    let puppet = Puppet::under("{ sysctl: [ { namespace: container } ] }")?;
    let long = "1".repeat(8000);
    let order = json!({ "do": "sysctl.write", "inside": true, "key": "net.ipv4.ip_default_ttl",
        "value": long, "times": 5000 });
    let outcome = puppet.run(vec![order], "")?;
    let words = ["records in the audit log take more than 4.0 MiB"];
    puppet.fixture.assert_ended(&outcome, 216, &words);
    let size = fs::metadata(puppet.fixture.node.audit_log())?.len();
    assert!(size < 5 << 20, "{size} bytes");
    Ok(())
}

/// Property: an attempt on what is not there is decided and recorded like one on what is, and a link that is hidden looks
/// like one that is not there.
#[test]
fn a_hidden_link_looks_like_none() -> Result<()> {
    for grant in [
        "{ link: [ { namespace: host, kinds: [ip6gre], verbs: [read, update, delete] } ],
            address: [ { kinds: [ip6gre] } ], traffic: [ { kinds: [ip6gre] } ] }",
        "{ link: [ { namespace: host, verbs: [read], kinds: [ip6gre] } ] }",
        "{ link: [ { namespace: host, owners: [attachment], verbs: [delete, update] } ] }",
        "{}",
    ] {
        let puppet = Puppet::among(grant, &["link add nic0 type veth peer name nic1"])?;
        let index = puppet.fixture.node.ip_json("link show nic0")?[0]["ifindex"].clone();
        let tell = |link: &str, index: Value| -> Result<Vec<(String, String)>> {
            let by_name = ["link.get", "link.update", "link.delete", "link.get-peer"];
            let by_name = by_name.map(|f| json!({ "do": f, "link": link, "promiscuous": true }));
            let by_index = ["link.get", "link.delete"];
            let by_index = by_index.map(|f| json!({ "do": f, "index": index }));
            let address = json!({ "do": "address.add", "link": link, "address": "10.9.0.1/24" });
            let list = json!({ "do": "traffic.list-qdiscs", "link": link });
            let orders = by_name.into_iter().chain(by_index).chain([address, list]);
            let answers = puppet.act(orders.collect())?;
            let told = answers.into_iter().map(|answer| {
                let said = answer.said.replace(link, "LINK");
                (
                    answer.answer,
                    said.replace(&format!(" {index} "), " INDEX "),
                )
            });
            Ok(told.collect())
        };
        let before = State::of(&puppet.fixture.node)?;
        let known = puppet.fixture.node.audit().len();
        let hidden = tell("nic0", index)?;
        let (of_hidden, between) = (puppet.fixture.node.audit().split_off(known), known);
        assert_eq!(hidden, tell("nic9", json!(99_999))?, "under {grant}");
        State::of(&puppet.fixture.node)?.assert_same(&before);
        // What was so, the log has.
        for record in &of_hidden {
            assert_eq!(record["verdict"], "denied", "{record:#}");
            let requirement = record["requirement"].as_str().context("a requirement")?;
            assert!(requirement.contains("nic0"), "{record:#}");
        }
        assert_eq!(of_hidden.len(), 8, "since {between}: {of_hidden:#?}");
        let shown = puppet
            .fixture
            .node
            .weir(&["audit", "--operation", "link.delete"])?;
        assert!(shown.contains("delete veth `nic0` in host"), "{shown}");
    }
    Ok(())
}

/// Property: what would change something that is not there is in the log, allowed or not.
#[test]
fn an_attempt_on_what_is_not_there_is_recorded() -> Result<()> {
    for (grant, verdict) in [
        ("{ link: [ { namespace: host } ] }", "allowed"),
        ("{ link: [ { namespace: host, verbs: [read] } ] }", "denied"),
    ] {
        let puppet = Puppet::under(grant)?;
        puppet.act(vec![json!({ "do": "link.delete", "link": "nobodys" })])?;
        let records = puppet.fixture.records("link.delete");
        let [record] = records.as_slice() else {
            panic!("{records:#?}");
        };
        assert_eq!(record["verdict"], verdict, "{record:#}");
        assert_eq!(record["arguments"]["link"]["name"], "nobodys", "{record:#}");
    }
    Ok(())
}

/// Property: what weir itself refuses is not on record as allowed, and no tool says that it would be.
#[test]
fn what_weir_refuses_is_not_allowed() -> Result<()> {
    let puppet = Puppet::among(
        "{ link: [ {} ], sysctl: [ {} ] }",
        &["link add own0 type veth peer name own1"],
    )?;
    let key = "net.../../kernel.core_pattern";
    puppet.assert_each(
        vec![
            json!({ "do": "sysctl.write", "key": key, "value": "|/tmp/x" }),
            json!({ "do": "sysctl.read", "key": key }),
            json!({ "do": "link.update", "link": "own0", "alias": "mine" }),
            json!({ "do": "link.create", "kind": "bridge", "name": "a%d" }),
        ],
        "invalid",
    )?;
    let records = puppet.fixture.node.audit();
    assert_eq!(records.len(), 4, "{records:#?}");
    for record in &records {
        assert_eq!(record["verdict"], "refused", "{record:#}");
        assert_ne!(record["answer"], "ok", "{record:#}");
        assert_ne!(record["rules"], json!([]), "what allowed it: {record:#}");
    }
    let node = &puppet.fixture.node;
    let field = format!("key={key}");
    let words = [
        "grants",
        "explain",
        PLUGIN,
        "sysctl.write",
        "namespace=host",
        &field,
        "value=x",
    ];
    let output = node.inside(|| {
        let mut weir = std::process::Command::new(weir_kit::binary());
        Ok(weir.args(words).env("WEIR_ROOT", node.root()).output()?)
    })?;
    let said = String::from_utf8(output.stdout)?;
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.starts_with("refused: sysctl.write"), "{said}");
    assert!(said.contains("is not a key below `net.`"), "{said}");
    let summary = node.weir(&["audit", "--summary"])?;
    assert!(summary.contains("0 denied, 4 refused"), "{summary}");
    assert_eq!(
        node.weir(&["audit", "--verdict", "refused"])?
            .lines()
            .count(),
        4
    );
    Ok(())
}

/// Property: a failed ADD sets a parameter of the host back, and says so, unless another attachment has set it since.
#[test]
fn a_parameter_that_two_share_stays() -> Result<()> {
    const SHARED: &str = r#"{ sysctl: [ { namespace: host } ], link: [ { names: [slow0] } ] }"#;
    let write = json!({ "do": "sysctl.write", "key": PARAMETER, "value": "70" });
    for is_shared in [false, true] {
        let puppet = Puppet::under(SHARED)?;
        let node = &puppet.fixture.node;
        node.ip("link add slow0 type veth peer name slow1")?;
        let before = value(&puppet)?;
        // It waits for what does not come, and then fails.
        let wait = json!({ "do": "link.wait-up", "link": "slow0", "times": 300 });
        let keys = json!({ "orders": [write, wait], "end": "trap" });
        let add = puppet.fixture.call("ADD", keys);
        let first = node.inside(|| add.start())?;
        let began = Instant::now();
        while value(&puppet)? != "70" {
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "nothing was written"
            );
        }
        if is_shared {
            let other = node.container()?;
            let keys = json!({ "orders": [write], "end": "" });
            let add = weir(node, PLUGIN, "ADD", &other, &puppet.fixture.config(keys));
            node.run(&add)?.result();
        }
        let output = first.wait_with_output()?;
        assert!(!output.status.success(), "{output:?}");
        let expected = if is_shared { "70" } else { before.as_str() };
        assert_eq!(value(&puppet)?, expected, "shared: {is_shared}");
        let mut undone = puppet.fixture.records("sysctl.write");
        undone.retain(|record| record["verdict"] == "undo");
        assert_eq!(undone.len(), 1, "{undone:#?}");
        let answer = undone[0]["answer"].as_str().unwrap_or_default();
        assert_eq!(
            answer.contains("another attachment has set it since"),
            is_shared,
            "{answer}"
        );
        // Which value it had, the first record says.
        let first = &puppet.fixture.records("sysctl.write")[0];
        assert_eq!(first["previous"], json!({ "value": before }), "{first:#}");
        // Nothing of it is left for the next.
        let notes = fs::read_dir(node.root().join("run/weir/parameters"))?;
        let notes = notes.filter_map(|note| note.ok()?.file_name().into_string().ok());
        let notes: Vec<String> = notes.filter(|name| name != ".lock").collect();
        assert_eq!(notes, [""; 0]);
    }
    Ok(())
}

/// Property: a parameter that a failed ADD has written several times has its first value again.
#[test]
fn a_parameter_goes_back_however_often_it_was_written() -> Result<()> {
    for values in [&["70", "80"][..], &["70", "70"], &["70", "80", "70", "70"]] {
        let puppet = Puppet::under("{ sysctl: [ { namespace: host } ] }")?;
        let before = value(&puppet)?;
        let write = |value| json!({ "do": "sysctl.write", "key": PARAMETER, "value": value });
        let orders = values.iter().map(write).collect();
        let outcome = puppet.run(orders, "trap")?;
        assert_eq!(outcome.error()["code"], 210, "{outcome:?}");
        assert_eq!(value(&puppet)?, before, "{values:?}");
    }
    Ok(())
}

/// Property: a killed plugin has done nothing that is not in the log.
#[test]
fn an_act_is_in_the_log_before_it_is_done() -> Result<()> {
    let puppet = Puppet::under("{ link: [ {} ] }")?;
    let node = &puppet.fixture.node;
    let orders: Vec<Value> = (0..5)
        .map(|n| json!({ "do": "link.create", "kind": "bridge", "name": format!("made{n}") }))
        .collect();
    let keys = json!({ "orders": orders, "end": "" });
    let call = puppet.fixture.call("ADD", keys);
    let End::Exited { mut points, .. } = node.inside(|| call.run_until(None))? else {
        anyhow::bail!("it was killed");
    };
    for order in 0..5 {
        node.ip(&format!("link delete made{order}"))?;
    }
    fs::remove_file(node.audit_log())?;
    let mut killed = 0;
    // The acts are among the last points. A run that waits for something has more.
    let mut left = 90;
    while left > 0 {
        let point = points.saturating_sub(left);
        let end = node.inside(|| call.run_until(Some(point)))?;
        let links = node.ip_json("link show type bridge")?;
        let made: Vec<&str> = links
            .as_array()
            .context("links")?
            .iter()
            .filter_map(|link| link["ifname"].as_str())
            .collect();
        let records = audit::joined(audit::whole_lines(&node.audit_log()));
        for name in &made {
            let is_it =
                |r: &&Value| r["operation"] == "link.create" && r["arguments"]["name"] == *name;
            assert!(
                records.iter().any(|r| is_it(&r)),
                "{name} at {point} is not in the log"
            );
            node.ip(&format!("link delete {name}"))?;
        }
        fs::remove_file(node.audit_log()).or_else(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(e),
        })?;
        match end {
            End::Exited { points: fewer, .. } => points = fewer,
            End::Killed => {
                killed += usize::from(!made.is_empty());
                left -= 3;
            }
        }
    }
    assert!(killed > 2, "{killed} were killed after an act");
    Ok(())
}
