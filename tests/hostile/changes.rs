//! What a plugin changed before it ended badly: in the container it is as before, on the host it stays.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::Grant;

use super::AttackedNode;

const PLUGIN: &str = "misbehaving";

/// It may not read parameters: what they were, the host alone has to know.
const CHANGE: &str = r#"{
    link: [
      { namespace: container, verbs: [create, read, update] },
      { namespace: host, names: [own0, shared0, moved0], verbs: [create, update] } ],
    sysctl: [
      { namespace: container, verbs: [write] },
      { namespace: host, keys: [net.ipv4.ip_default_ttl], verbs: [write] } ] }"#;

/// Parameters that the guest changes in the container.
const PARAMETERS: [&str; 4] = [
    "net/ipv4/conf/victim/arp_filter",
    "net/ipv4/conf/victim/rp_filter",
    "net/ipv4/ip_default_ttl",
    "net/ipv4/tcp_rmem",
];

/// The same parameter of the host.
const SHARED: &str = "/proc/sys/net/ipv4/ip_default_ttl";

/// A link `victim`, a bridge and another one with a port each, and a link of the host.
fn fixture() -> Result<AttackedNode> {
    let fixture = AttackedNode::create(&Grant {
        capabilities: CHANGE,
        limits: "{ time: 1s }",
        ..Grant::nothing(PLUGIN)
    })?;
    fixture.container.ips(&[
        "link add br0 type bridge",
        "link add br1 type bridge",
        "link add victim up type veth peer name other",
        "link add port0 type veth peer name port1",
        "link set port0 master br0",
        "link set port0 type bridge_slave isolated on",
        "link set port1 master br1",
        "link set victim alias untouched",
    ])?;
    fixture
        .node
        .ip("link add shared0 type veth peer name shared1")?;
    Ok(fixture)
}

/// All that the guest changes in the container: the links' attributes by their names, and parameters.
fn state(fixture: &AttackedNode) -> Result<BTreeMap<String, Value>> {
    let mut state = BTreeMap::new();
    let links = fixture.container.ip_json("link show")?;
    for link in links.as_array().context("a list of links")? {
        let name = link["ifname"].as_str().context("a name")?;
        state.insert(name.to_owned(), attributes(link));
    }
    for parameter in PARAMETERS {
        let path = format!("/proc/sys/{parameter}");
        let value = fixture
            .container
            .inside(|| Ok(fs::read_to_string(&path)?))
            .context(parameter)?;
        state.insert(parameter.to_owned(), value.into());
    }
    Ok(state)
}

fn attributes(link: &Value) -> Value {
    const KEYS: [&str; 7] = [
        "address",
        "mtu",
        "txqlen",
        "promiscuity",
        "allmulti",
        "ifalias",
        "master",
    ];
    const FLAGS: [&str; 3] = ["UP", "PROMISC", "ALLMULTI"];
    let mut attributes: serde_json::Map<String, Value> = KEYS
        .iter()
        .map(|key| ((*key).to_owned(), link[*key].clone()))
        .collect();
    let port = &link["linkinfo"]["info_slave_data"];
    attributes.insert("hairpin".to_owned(), port["hairpin"].clone());
    attributes.insert("isolated".to_owned(), port["isolated"].clone());
    let flags = link["flags"].as_array().into_iter().flatten();
    let flags = flags.filter(|flag| FLAGS.iter().any(|f| *flag == f));
    attributes.insert("flags".to_owned(), flags.cloned().collect());
    Value::Object(attributes)
}

fn undone(fixture: &AttackedNode, operation: &str) -> Vec<Value> {
    let mut records = fixture.records(operation);
    records.retain(|record| record["verdict"] == "undo");
    records
}

/// Property: a failed ADD leaves the container as it was.
#[test]
fn what_was_changed_in_the_container_is_as_before() -> Result<()> {
    for (act, code) in [
        ("change and trap", 210),
        ("change and loop", 211),
        ("change and fail", 150),
    ] {
        let fixture = fixture()?;
        let before = state(&fixture)?;
        let outcome = fixture.add(json!({ "act": act, "target": "victim" }))?;
        assert_eq!(outcome.error()["code"], code, "{outcome:?}");
        assert_eq!(state(&fixture)?, before, "{act}");
        assert_every_undo_is_recorded(&fixture);
    }
    Ok(())
}

/// Each attribute came back, each by an operation in the container that the log has; links that the
/// guest made were deleted as they were.
fn assert_every_undo_is_recorded(fixture: &AttackedNode) {
    let updates = undone(fixture, "link.update");
    let keys: BTreeSet<&str> = updates
        .iter()
        .flat_map(|record| record["arguments"].as_object().into_iter().flatten())
        .map(|(key, _)| key.as_str())
        .collect();
    let expected = [
        "alias",
        "all_multicast",
        "link",
        "mac",
        "master",
        "mtu",
        "name",
        "promiscuous",
        "txqlen",
        "up",
    ];
    assert_eq!(keys, BTreeSet::from(expected), "{updates:#?}");
    let ports = undone(fixture, "link.update-port");
    assert_eq!(ports.len(), 2, "{ports:#?}");
    let writes = undone(fixture, "sysctl.write");
    // One of the host as well.
    assert_eq!(writes.len(), 5, "{writes:#?}");
    for record in updates.iter().chain(&ports).chain(&writes) {
        assert_eq!(record["answer"], "ok", "{record:#}");
        let arguments = record["arguments"].to_string();
        assert!(!arguments.contains("own1"), "{record:#}");
        let is_host = arguments.contains(r#""namespace":"host""#);
        assert_eq!(
            is_host,
            arguments.contains("ip_default_ttl") && is_host,
            "{record:#}"
        );
    }
    assert_eq!(undone(fixture, "link.delete").len(), 1);
    let log = fixture.node.log();
    let log = log.unwrap_or_default();
    assert!(!log.contains("not undone"), "{log}");
}

/// Property: of the host, links that others have stay as they were left, and a parameter that no other has set since is
/// set back.
#[test]
fn of_the_host_parameters_are_as_before_and_links_stay() -> Result<()> {
    let fixture = fixture()?;
    let outcome = fixture.add(json!({ "act": "change and trap", "target": "victim" }))?;
    assert_eq!(outcome.error()["code"], 210, "{outcome:?}");
    let shared = fixture.node.ip_json("link show shared0")?;
    assert_eq!(shared[0]["mtu"], 1400, "{shared:#}");
    assert_eq!(shared[0]["txqlen"], 7, "{shared:#}");
    let value = fixture.node.inside(|| Ok(fs::read_to_string(SHARED)?))?;
    assert_eq!(value, "64\n");
    Ok(())
}

/// Property: only a failure takes anything back.
#[test]
fn what_a_successful_add_changed_stays() -> Result<()> {
    let fixture = fixture()?;
    let before = state(&fixture)?;
    fixture
        .add(json!({ "act": "change", "target": "victim" }))?
        .result();
    let now = state(&fixture)?;
    for (name, keys) in [
        ("port0", &["hairpin"][..]),
        ("port1", &["master"]),
        (
            "victim",
            &[
                "address", "mtu", "txqlen", "allmulti", "ifalias", "master", "flags",
            ],
        ),
    ] {
        for key in keys {
            assert_ne!(now[name][key], before[name][key], "{name}: {key}");
        }
    }
    for &parameter in &PARAMETERS[..3] {
        assert_ne!(now[parameter], before[parameter], "{parameter}");
    }
    Ok(())
}

/// Property: a link that left the container comes back as it was.
///
/// The link comes back under another index, and what it had comes back all the same.
#[test]
fn what_was_changed_and_moved_is_as_before() -> Result<()> {
    let fixture = fixture()?;
    let before = state(&fixture)?;
    let index = |link: Value| link[0]["ifindex"].as_u64().context("an index");
    let was = index(fixture.container.ip_json("link show victim")?)?;
    // So that the host has one of that index.
    fixture
        .node
        .ip(&format!("link add taken index {was} type bridge"))?;
    let outcome = fixture.add(json!({ "act": "move and trap", "target": "victim" }))?;
    assert_eq!(outcome.error()["code"], 210, "{outcome:?}");
    let now = index(fixture.container.ip_json("link show victim")?)?;
    assert_ne!(now, was, "it came back under the same index");
    assert_eq!(state(&fixture)?, before);
    Ok(())
}
