//! `bandwidth`: bad configurations, bad previous results, and an ADD that is denied half-way.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{Call, Node, with_keys};

use super::{Attached, strict};

struct ShapedContainer(Attached);

fn both() -> Value {
    json!({
        "ingressRate": 8_000_000, "ingressBurst": 800_000,
        "egressRate": 8_000_000, "egressBurst": 800_000,
    })
}

/// Both directions, with other values for some keys.
fn with(keys: Value) -> Value {
    with_keys(both(), keys)
}

/// All disciplines, classes and filters that ADD could make.
fn traffic(shaped: &Attached) -> Result<Vec<String>> {
    let port = shaped.previous["interfaces"][1]["name"].as_str();
    let port = port.context("the host's end")?;
    [
        "qdisc show",
        "class show dev {}",
        "filter show dev {} ingress",
        "filter show dev {}",
    ]
    .map(|words| shaped.node.tool("tc", &words.replace("{}", port)))
    .into_iter()
    .collect()
}

impl ShapedContainer {
    fn create() -> Result<Self> {
        let (node, container) = Node::with_container()?;
        Attached::to(node, container, traffic).map(Self)
    }

    fn add(&self, keys: &Value) -> Call {
        self.add_after(keys, &self.0.previous)
    }

    fn add_after(&self, keys: &Value, previous: &Value) -> Call {
        self.0.call("bandwidth", "ADD", keys, previous)
    }

    /// Replaces the shipped grant by one with these rules of `traffic`.
    fn may_shape_only(&self, rules: &str) -> Result<()> {
        let capabilities = format!("{{ link: [{{}}], traffic: [{rules}] }}");
        let node = &self.0.node;
        node.put_grant_of_standard("bandwidth", &capabilities)
    }
}

/// ADD with these keys must fail with code 7 and these words.
fn each_is_refused<const N: usize>(cases: [(Value, &[&str]); N]) -> Result<()> {
    let shaped = ShapedContainer::create()?;
    for (keys, words) in cases {
        shaped.0.refused(&shaped.add(&with(keys)), 7, words);
    }
    Ok(())
}

#[test]
fn rates_and_bursts() -> Result<()> {
    let both_keys = "ingressRate and ingressBurst";
    each_is_refused([
        (json!({"ingressRate": 0}), &[both_keys, "rate of 0"][..]),
        (json!({"ingressBurst": 0}), &[both_keys, "burst of 0"]),
        (json!({"ingressRate": null}), &[both_keys, "rate of 0"]),
        (json!({"ingressBurst": null}), &[both_keys, "burst of 0"]),
        (
            json!({"egressRate": 7}),
            &["egressRate", "at least 8", "found 7"],
        ),
        (
            json!({"egressBurst": 7}),
            &["egressBurst", "at least 8", "found 7"],
        ),
        (
            json!({"egressBurst": 34_359_738_360_u64}),
            &["egressBurst", "at most 34359738359", "found 34359738360"],
        ),
        (
            json!({"egressBurst": u64::MAX}),
            &["egressBurst", "at most 34359738359"],
        ),
        (
            json!({"ingressRate": -1}),
            &["ingressRate", "an integer from 0", "found -1"],
        ),
        (
            json!({"ingressRate": 1e20}),
            &["ingressRate", "an integer from 0", "1e+20"],
        ),
        (
            json!({"ingressBurst": 1.5}),
            &["ingressBurst", "an integer from 0", "1.5"],
        ),
        (
            json!({"egressRate": "10M"}),
            &["egressRate", "an integer from 0", "10M"],
        ),
        (
            strict(json!({"egresRate": 8})),
            &["egresRate", "unknown key", "egressRate"],
        ),
    ])
}

#[test]
fn subnets() -> Result<()> {
    each_is_refused([
        (
            json!({"unshapedSubnets": ["10.0.0.0/8"], "shapedSubnets": ["192.168.0.0/16"]}),
            &["unshapedSubnets and shapedSubnets", "cannot both be given"][..],
        ),
        (
            json!({"unshapedSubnets": ["10.0.0.0/8", "hello"]}),
            &[
                "unshapedSubnets[1]",
                "an IP address with a prefix length",
                "hello",
            ],
        ),
        (
            json!({"shapedSubnets": ["10.0.0.0/33"]}),
            &["shapedSubnets[0]", "10.0.0.0/33"],
        ),
        (
            json!({"shapedSubnets": ["10.0.0.1"]}),
            &["shapedSubnets[0]", "a prefix length after the address"],
        ),
        (
            json!({"shapedSubnets": ["10.0.0.0"]}),
            &[
                "shapedSubnets[0]",
                "expected a prefix length after the address",
            ],
        ),
        (
            json!({"shapedSubnets": "10.0.0.0/8"}),
            &["shapedSubnets", "a list"],
        ),
        (
            json!({"shapedSubnets": [10]}),
            &["shapedSubnets[0]", "a string"],
        ),
    ])
}

#[test]
fn what_the_runtime_asks_for() -> Result<()> {
    let shaped = ShapedContainer::create()?;
    for (bandwidth, words) in [
        (
            json!({"egressRate": 8_000}),
            &["runtimeConfig.bandwidth.egressBurst", "burst of 0"][..],
        ),
        (
            json!({"egressRate": -8}),
            &["runtimeConfig.bandwidth.egressRate", "found -8"],
        ),
        (
            json!({"shapedSubnets": [""]}),
            &["runtimeConfig.bandwidth.shapedSubnets[0]"],
        ),
        (json!("fast"), &["runtimeConfig.bandwidth", "fast"]),
    ] {
        let keys = json!({"runtimeConfig": {"bandwidth": bandwidth}});
        shaped.0.refused(&shaped.add(&keys), 7, words);
    }
    Ok(())
}

#[test]
fn previous_results() -> Result<()> {
    let shaped = ShapedContainer::create()?;
    shaped
        .0
        .refused(&shaped.add_after(&both(), &Value::Null), 7, &["prevResult"]);
    let nothing = json!({"cniVersion": "1.1.0", "interfaces": [], "ips": []});
    shaped.0.refused(
        &shaped.add_after(&both(), &nothing),
        110,
        &["prevResult", "veth", "eth0"],
    );
    // The container's interface is named, and its other end is not.
    let mut half = shaped.0.previous.clone();
    half["interfaces"]
        .as_array_mut()
        .context("interfaces")?
        .remove(1);
    shaped.0.refused(
        &shaped.add_after(&both(), &half),
        110,
        &["prevResult", "veth", "eth0"],
    );
    // The host's end is named as one in the container.
    let mut inside = shaped.0.previous.clone();
    inside["interfaces"][1]["sandbox"] = inside["interfaces"][2]["sandbox"].clone();
    shaped
        .0
        .refused(&shaped.add_after(&both(), &inside), 110, &["prevResult"]);
    Ok(())
}

#[test]
fn interfaces() -> Result<()> {
    let shaped = ShapedContainer::create()?;
    let mut other = shaped.add(&both());
    other.set("CNI_IFNAME", "net1");
    shaped.0.refused(&other, 110, &["net1", "no interface"]);
    let mut loopback = shaped.add(&both());
    loopback.set("CNI_IFNAME", "lo");
    shaped
        .0
        .refused(&loopback, 110, &["lo", "cannot be used as a veth"]);
    shaped
        .0
        .container
        .ip("link add net1 type veth peer name net2")?;
    shaped.0.refused(&other, 110, &["net1", "not on the host"]);
    Ok(())
}

/// Existing disciplines are not replaced.
#[test]
fn names_and_places_that_are_taken() -> Result<()> {
    let shaped = ShapedContainer::create()?;
    let port = shaped.0.previous["interfaces"][1]["name"]
        .as_str()
        .context("the host's end")?;
    for (discipline, place_of_it) in [("ingress", "ingress"), ("root handle 1: pfifo", "root")] {
        shaped
            .0
            .node
            .tool("tc", &format!("qdisc add dev {port} {discipline}"))?;
        shaped.0.refused(&shaped.add(&both()), 102, &[port]);
        shaped
            .0
            .node
            .tool("tc", &format!("qdisc delete dev {port} {place_of_it}"))?;
    }
    shaped.0.node.run(&shaped.add(&both()))?.result();
    Ok(())
}

/// A grant that denies one of the later steps: the earlier ones are undone.
#[test]
fn an_add_that_is_denied_leaves_nothing() -> Result<()> {
    let allowed = |disciplines: &str| format!("{{ disciplines: [{disciplines}] }}");
    let htb = with(json!({"unshapedSubnets": ["10.0.0.0/8"]}));
    for (keys, disciplines, denied) in [
        (both(), "ingress, mirred", "tbf"),
        (both(), "tbf, mirred", "ingress"),
        (both(), "tbf, ingress", "mirred"),
        (htb, "tbf, ingress, mirred", "htb"),
    ] {
        let shaped = ShapedContainer::create()?;
        shaped.may_shape_only(&allowed(disciplines))?;
        shaped
            .0
            .refused(&shaped.add(&keys), 100, &["traffic", denied]);
    }
    Ok(())
}
