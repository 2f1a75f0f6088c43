//! The state after a failure, and DEL and CHECK with unsuitable input.

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::disk::on_small_disk;
use weir_kit::{Node, State, weir};

use super::{AttachedNode, config, refused, with, with_ipam};

#[test]
fn an_audit_log_that_cannot_be_written() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let log = fixture.node.root().join("var/log/weir/audit.jsonl");
    fs::rename(&log, log.with_extension("old"))?;
    fs::create_dir(&log)?;
    fixture.refused(&fixture.add(&config()), 5, &["audit log", "audit.jsonl"]);
    // DEL still releases the address.
    let del = weir(&fixture.node, "bridge", "DEL", &fixture.attached, &config());
    fixture.node.run(&del)?.result();
    assert!(fixture.node.taken("bad").is_empty());
    fs::remove_dir(&log)?;

    on_small_disk(
        fixture.node.root().join("var/log/weir"),
        "size=4k,mode=755",
        || {
            fs::write(
                fixture.node.root().join("var/log/weir/ballast"),
                vec![0; 4096],
            )?;
            fixture.refused(&fixture.add(&config()), 5, &["audit log", "No space left"]);
            Ok(())
        },
    )
}

#[test]
fn an_add_that_fails_at_any_step_leaves_nothing() -> Result<()> {
    // The first ADD of a node, so that the bridge and the chains are its own, too.
    let first = |config: &Value, code: u64, words: &[&str]| -> Result<()> {
        let (node, container) = Node::with_container()?;
        let add = weir(&node, "bridge", "ADD", &container, config);
        refused(&node, &container, &add, code, words);
        Ok(())
    };
    let route = |dst: &str, gw: &str| {
        let mut config = config();
        config["ipam"]["routes"] = json!([{ "dst": "0.0.0.0/0" }, { "dst": dst, "gw": gw }]);
        config
    };
    first(
        &with_ipam(json!({ "subnet": "10.0.0.0/31" })),
        7,
        &["too small"],
    )?;
    first(
        &with("ipam", json!({ "type": "nobody" })),
        220,
        &["ipam", "nobody"],
    )?;
    let unreachable = route("192.0.2.0/24", "203.0.113.9");
    let outcome = {
        let (node, container) = Node::with_container()?;
        node.run(&weir(&node, "bridge", "ADD", &container, &unreachable))?
    };
    first(
        &unreachable,
        outcome.code(),
        &["192.0.2.0/24", "203.0.113.9"],
    )?;
    first(
        &route("2001:db8::/32", "fd00:99::1"),
        outcome.code(),
        &["2001:db8::/32"],
    )?;

    // The gateway's address belongs to another link.
    let (node, container) = Node::with_container()?;
    node.ip("link add bad0 type bridge")?;
    node.ip("address add 10.99.0.1/24 dev bad0")?;
    node.ip("link set bad0 up")?;
    let add = weir(&node, "bridge", "ADD", &container, &config());
    refused(
        &node,
        &container,
        &add,
        110,
        &["10.99.0.1/24", "forceAddress"],
    );

    // weir's chains and sets were changed.
    let occupied = [
        ("inet", "pods4 { type ether_addr; }"),
        ("bridge", "macs { type ipv4_addr; }"),
    ];
    for (family, set) in occupied {
        let (node, container) = Node::with_container()?;
        node.tool("nft", &format!("add table {family} weir_bridge"))?;
        node.tool("nft", &format!("add set {family} weir_bridge {set}"))?;
        let add = weir(&node, "bridge", "ADD", &container, &config());
        let code = node.run(&add)?.code();
        let before = State::of(&node)?;
        refused(&node, &container, &add, code, &[]);
        assert_eq!(before.links, ["lo"]);
        assert!(before.files.is_empty(), "{:?}", before.files);
    }
    Ok(())
}

#[test]
fn del_is_idempotent() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let before = State::of(&fixture.node)?;
    // Nothing was ever attached.
    fixture.node.run(&fixture.del(&config()))?.result();
    State::of(&fixture.node)?.assert_same(&before);

    let result = fixture.node.run(&fixture.add(&config()))?.result();
    let with_result = with("prevResult", result.clone());
    for _ in 0..3 {
        fixture.node.run(&fixture.del(&with_result))?.result();
        State::of(&fixture.node)?.assert_same(&before);
    }

    // Without the namespace: its veth pair went with it.
    let result = fixture.node.run(&fixture.add(&config()))?.result();
    fixture.container.ip("link delete eth0")?;
    let with_result = with("prevResult", result);
    fixture
        .node
        .run(fixture.del(&with_result).unset("CNI_NETNS"))?
        .result();
    State::of(&fixture.node)?.assert_same(&before);

    // Without the lease, and without the interface.
    let result = fixture.node.run(&fixture.add(&config()))?.result();
    let lease = result["ips"][0]["address"]
        .as_str()
        .and_then(|a| a.split('/').next());
    fs::remove_file(
        fixture
            .node
            .leases("bad")
            .join(lease.context("an address")?),
    )?;
    fixture
        .node
        .run(&fixture.del(&with("prevResult", result)))?
        .result();
    State::of(&fixture.node)?.assert_same(&before);
    Ok(())
}

#[test]
fn del_with_a_result_that_does_not_match() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let before = State::of(&fixture.node)?;
    let of_other = {
        let addresses = fixture.attached.ip_json("address show dev eth0")?;
        json!({
            "cniVersion": "1.1.0",
            "interfaces": [
                { "name": "bad0" },
                { "name": "vethffffffff" },
                { "name": "eth0", "mac": addresses[0]["address"], "sandbox": "/elsewhere" },
            ],
            // The other container's.
            "ips": [{ "interface": 2, "address": "10.20.0.2/24" }],
        })
    };
    let results = [
        of_other,
        json!({ "cniVersion": "1.1.0", "interfaces": [], "ips": [] }),
        json!({ "cniVersion": "0.2.0", "ip4": { "ip": "10.20.0.2/24" } }),
        json!({ "cniVersion": "7.7.7" }),
        json!({ "nonsense": [1, 2] }),
        json!({ "ips": [{ "interface": 99, "address": "10.20.0.2/24" }] }),
        Value::Null,
    ];
    for result in results {
        fixture.node.run(&fixture.add(&config()))?.result();
        let deleted = fixture
            .node
            .run(&fixture.del(&with("prevResult", result.clone())))?;
        assert!(deleted.succeeded(), "{result}: {deleted:?}");
        State::of(&fixture.node)?.assert_same(&before);
    }
    // A configuration that ADD would refuse does not prevent it either.
    fixture.node.run(&fixture.add(&config()))?.result();
    let mut later = with("surprise", json!(true));
    later["ipMasqBackend"] = json!("unheard-of");
    fixture.node.run(&fixture.del(&later))?.result();
    State::of(&fixture.node)?.assert_same(&before);
    Ok(())
}

#[test]
fn check_without_a_previous_result() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let check = weir(
        &fixture.node,
        "bridge",
        "CHECK",
        &fixture.attached,
        &config(),
    );
    fixture.refused(&check, 7, &["prevResult"]);
    let nonsense = with("prevResult", json!("nonsense"));
    let check = weir(
        &fixture.node,
        "bridge",
        "CHECK",
        &fixture.attached,
        &nonsense,
    );
    fixture.refused(&check, 7, &["prevResult"]);
    Ok(())
}
