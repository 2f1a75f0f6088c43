//! What `firewall` does to connections between containers: each is really made, on both sides where the
//! packaged reference knows the policy.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::probe::{Origin, Probe, Protocol, Server};
use crate::side::{Side, Whose, with_previous};

/// Two containers on one bridge, one on another, and what is outside.
const SERVER: usize = 0;
const NEIGHBOUR: usize = 1;
const STRANGER: usize = 2;
const OUTSIDE: usize = 3;

const PORT: u16 = 80;

/// The networks of the containers, in their order.
const NETWORKS: [(&str, &str, &str); 3] = [
    ("one", "10.1.0.0/24", "fd00:1::/64"),
    ("one", "10.1.0.0/24", "fd00:1::/64"),
    ("two", "10.2.0.0/24", "fd00:2::/64"),
];

fn list(container: usize, firewall: &Value) -> Value {
    let (name, ipv4, ipv6) = NETWORKS[container];
    let mut firewall = firewall.clone();
    firewall["type"] = json!("firewall");
    json!({"cniVersion": "1.0.0", "name": name, "plugins": [
        {
            "type": "bridge", "bridge": format!("br-{name}"), "isDefaultGateway": true,
            "ipam": {"type": "host-local", "ranges": [[{"subnet": ipv4}], [{"subnet": ipv6}]]},
        },
        firewall,
    ]})
}

/// Attaches all containers with this configuration of firewall.
fn attach(side: &Side, firewall: &Value) -> Result<Vec<Value>> {
    side.connect_outside()?;
    let attach = |container| {
        let config = list(container, firewall);
        let result = side.call("ADD", container, &config, None)?.result();
        Ok(with_previous(&config, Some(&result)))
    };
    (0..NETWORKS.len()).map(attach).collect()
}

/// Who reaches the server: neighbour, stranger, host and outside, by both families.
fn reached(side: &Side) -> Result<[bool; 4]> {
    let _server = Server::start(&side.containers[SERVER], PORT)?;
    let places = [
        Origin::Container(NEIGHBOUR),
        Origin::Container(STRANGER),
        Origin::Host,
        Origin::Container(OUTSIDE),
    ];
    let mut reached = [false; 4];
    for (reached, from) in reached.iter_mut().zip(places) {
        let answered = |to| Probe::new(from, Protocol::Tcp, to, PORT).answer(side);
        let (ipv4, ipv6) = (answered("10.1.0.2")?, answered("fd00:1::2")?);
        ensure!(
            ipv4.is_some() == ipv6.is_some(),
            "from {from:?}: IPv4 {ipv4:?}, IPv6 {ipv6:?}"
        );
        *reached = ipv4.is_some();
    }
    Ok(reached)
}

fn check(sides: &[Side], firewall: &Value, expected: [bool; 4]) -> Result<()> {
    for side in sides {
        check_on(side, firewall, expected).with_context(|| format!("{:?}", side.whose))?;
    }
    Ok(())
}

fn check_on(side: &Side, firewall: &Value, expected: [bool; 4]) -> Result<()> {
    let attached = attach(side, firewall)?;
    for (container, config) in attached.iter().enumerate() {
        let checked = side.call("CHECK", container, config, None)?;
        ensure!(checked.succeeded(), "CHECK: {checked:?}");
    }
    let reached = reached(side)?;
    ensure!(
        reached == expected,
        "neighbour, stranger, host, outside: expected {expected:?}, found {reached:?}"
    );
    for (container, config) in attached.iter().enumerate() {
        for _ in 0..2 {
            let deleted = side.call("DEL", container, config, None)?;
            ensure!(deleted.succeeded(), "DEL: {deleted:?}");
        }
    }
    expect_nothing_left(side)
}

fn expect_nothing_left(side: &Side) -> Result<()> {
    if side.whose == Whose::Weir {
        let left = side.node.tool("nft", "list ruleset")?;
        ensure!(!left.contains("differential-"), "after DEL: {left}");
    }
    Ok(())
}

#[test]
fn everybody_reaches_an_open_container() -> Result<()> {
    for policy in [json!({}), json!({"ingressPolicy": "open"})] {
        check(&Side::pair(4)?, &policy, [true; 4])?;
    }
    Ok(())
}

/// As Nomad's network has it.
#[test]
fn the_backend_may_be_called_iptables() -> Result<()> {
    let firewall = json!({"backend": "iptables", "iptablesAdminChainName": "NOMAD-ADMIN"});
    check(&Side::pair(4)?, &firewall, [true; 4])
}

#[test]
fn containers_of_another_bridge_do_not_reach_same_bridge() -> Result<()> {
    let policy = json!({"ingressPolicy": "same-bridge"});
    check(&Side::pair(4)?, &policy, [true, false, true, true])
}

/// A policy that the packaged reference does not know.
#[test]
fn no_container_reaches_an_isolated_one() -> Result<()> {
    let policy = json!({"ingressPolicy": "isolated"});
    let sides = [Side::create(Whose::Weir, 4)?];
    check(&sides, &policy, [false, false, true, true])
}

#[test]
fn the_administrators_rules_come_first() -> Result<()> {
    for (config, chain) in [
        (json!({}), "CNI-ADMIN"),
        (json!({"iptablesAdminChainName": "MINE"}), "MINE"),
    ] {
        let side = Side::create(Whose::Weir, 4)?;
        attach(&side, &config)?;
        let rule = format!("add rule inet weir_firewall {chain} ip saddr 10.2.0.0/24 drop");
        side.node.tool("nft", &rule)?;
        let rule = format!("add rule inet weir_firewall {chain} ip6 saddr fd00:2::/64 drop");
        side.node.tool("nft", &rule)?;
        ensure!(reached(&side)? == [true, false, true, true], "{chain}");
    }
    Ok(())
}

/// What containers send, and the answers to it, passes also where the administrator drops the rest.
#[test]
fn the_chains_policy_can_be_drop() -> Result<()> {
    let side = Side::create(Whose::Weir, 4)?;
    attach(&side, &json!({}))?;
    let base = "chain inet weir_firewall forward { policy drop ; }";
    side.node.tool("nft", base)?;
    assert_eq!(reached(&side)?, [true, true, true, false]);
    Ok(())
}

#[test]
fn check_sees_what_is_gone() -> Result<()> {
    for (policy, damage) in [
        ("open", "flush ruleset"),
        ("open", "flush set inet weir_firewall pods4"),
        ("open", "flush chain inet weir_firewall forward"),
        ("same-bridge", "flush set inet weir_firewall within"),
        ("isolated", "flush set inet weir_firewall bridges"),
        ("isolated", "flush set bridge weir_firewall isolated"),
        ("isolated", "flush chain bridge weir_firewall forward"),
    ] {
        let side = Side::create(Whose::Weir, 4)?;
        let attached = attach(&side, &json!({"ingressPolicy": policy}))?;
        side.node.tool("nft", damage)?;
        let checked = side.call("CHECK", SERVER, &attached[SERVER], None)?;
        ensure!(checked.code() == 106, "{damage}: {checked:?}");
        let deleted = side.call("DEL", SERVER, &attached[SERVER], None)?;
        ensure!(deleted.succeeded(), "{damage}: DEL: {deleted:?}");
    }
    Ok(())
}

/// GC removes what belongs to attachments of the network that are not valid, and nothing else.
#[test]
fn gc_keeps_what_is_valid() -> Result<()> {
    let side = Side::create(Whose::Weir, 4)?;
    let attached = attach(&side, &json!({"ingressPolicy": "isolated"}))?;
    let id = |container: usize| side.containers[container].id.clone();
    let mut config = attached[SERVER]["plugins"][1].clone();
    config["cniVersion"] = json!("1.1.0");
    config["name"] = json!("one");
    config["cni.dev/valid-attachments"] = json!([{"containerID": id(NEIGHBOUR), "ifname": "eth0"}]);
    let collected = side.call("GC", SERVER, &config, None)?;
    ensure!(collected.succeeded(), "GC: {collected:?}");
    let left = side.node.tool("nft", "list ruleset")?;
    ensure!(!left.contains(&id(SERVER)), "GC left: {left}");
    for container in [NEIGHBOUR, STRANGER] {
        ensure!(left.matches(&id(container)).count() == 3, "GC took: {left}");
    }
    Ok(())
}
