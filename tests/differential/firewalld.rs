//! `firewall` where firewalld runs, which drops what no zone lets pass.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::assert_contains;
use weir_kit::firewalld::{Bus, Firewalld};

use crate::probe::{Origin, Probe, Protocol, Server};
use crate::side::{Side, Whose, must_succeed, with_previous};

const POD: usize = 0;
const OUTSIDE: usize = 1;

const PORT: u16 = 80;

/// The addresses of the pod, as firewalld gets them.
const SOURCES: [&str; 2] = ["10.1.0.2/32", "fd00:1::2/128"];

fn list(firewall: Option<Value>) -> Value {
    let bridge = json!({
        "type": "bridge", "bridge": "br-pods", "isDefaultGateway": true,
        "ipam": {"type": "host-local", "ranges": [
            [{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}],
        ]},
    });
    let firewall = firewall.map(|mut firewall| {
        firewall["type"] = json!("firewall");
        firewall
    });
    let plugins: Vec<Value> = [bridge].into_iter().chain(firewall).collect();
    json!({"cniVersion": "1.0.0", "name": "pods", "plugins": plugins})
}

/// Attaches the pod, and returns the list with the result.
fn attach(side: &Side, list: &Value) -> Result<Value> {
    let result = side.call("ADD", POD, list, None)?.result();
    Ok(with_previous(list, Some(&result)))
}

/// Whether the pod reaches what is outside, by both families.
fn reaches_outside(side: &Side) -> Result<bool> {
    let _server = Server::start(&side.containers[OUTSIDE], PORT)?;
    let answered = |to| Probe::new(Origin::Container(POD), Protocol::Tcp, to, PORT).answer(side);
    let (ipv4, ipv6) = (answered("192.0.2.2")?, answered("2001:db8::2")?);
    ensure!(
        ipv4.is_some() == ipv6.is_some(),
        "IPv4 {ipv4:?}, IPv6 {ipv6:?}"
    );
    Ok(ipv4.is_some())
}

/// A node of weir's with a firewalld, and what is outside it.
fn side() -> Result<Side> {
    let side = Side::create(Whose::Weir, 2)?;
    side.connect_outside()?;
    Ok(side)
}

/// The execution configuration of a list's `firewall`, for commands that need no previous result.
fn firewall_alone(list: &Value) -> Value {
    let mut alone = list["plugins"][1].clone();
    alone["cniVersion"] = json!("1.1.0");
    alone["name"] = json!("pods");
    alone
}

fn expect_sources(firewalld: &Firewalld, zone: &str, expected: &[&str]) -> Result<()> {
    let mut found = firewalld.sources(zone)?;
    found.sort_unstable();
    ensure!(found == expected, "zone {zone}: {found:?}");
    Ok(())
}

fn succeeds(side: &Side, command: &str, attached: &Value) -> Result<()> {
    must_succeed(&side.call(command, POD, attached, None)?).with_context(|| command.to_owned())
}

fn is_detached(side: &Side, attached: &Value) -> Result<()> {
    succeeds(side, "CHECK", attached)?;
    succeeds(side, "DEL", attached)
}

#[test]
fn the_pods_packets_pass_while_it_is_attached() -> Result<()> {
    for side in Side::pair(2)? {
        passes_while_attached(&side).with_context(|| format!("{:?}", side.whose))?;
    }
    Ok(())
}

fn passes_while_attached(side: &Side) -> Result<()> {
    side.connect_outside()?;
    let firewalld = Firewalld::start(&side.node)?;
    let bare = list(None);
    let attached = attach(side, &bare)?;
    ensure!(!reaches_outside(side)?, "firewalld drops nothing");
    side.call("DEL", POD, &attached, None)?;

    for backend in [json!({}), json!({"backend": "firewalld"})] {
        let attached = attach(side, &list(Some(backend.clone())))?;
        succeeds(side, "CHECK", &attached).with_context(|| backend.to_string())?;
        let [ipv4, ipv6] = bound(&attached);
        expect_sources(&firewalld, "trusted", &[&ipv4, &ipv6])?;
        ensure!(reaches_outside(side)?, "{backend}: it does not pass");
        for _ in 0..2 {
            succeeds(side, "DEL", &attached).with_context(|| backend.to_string())?;
        }
        expect_sources(&firewalld, "trusted", &[])?;
    }
    Ok(())
}

/// The addresses of an attached list, as firewalld gets them.
fn bound(attached: &Value) -> [String; 2] {
    [0, 1].map(|number| {
        let address = attached["prevResult"]["ips"][number]["address"].as_str();
        let (address, _) = address.and_then(|a| a.split_once('/')).expect("an address");
        let length = if address.contains(':') { 128 } else { 32 };
        format!("{address}/{length}")
    })
}

#[test]
fn the_zone_is_the_configurations() -> Result<()> {
    for side in Side::pair(2)? {
        let firewalld = Firewalld::start(&side.node)?;
        let attached = attach(&side, &list(Some(json!({"firewalldZone": "internal"}))))?;
        expect_sources(&firewalld, "internal", &SOURCES)?;
        expect_sources(&firewalld, "trusted", &[])?;
        succeeds(&side, "DEL", &attached)?;
        expect_sources(&firewalld, "internal", &[])?;
    }
    Ok(())
}

#[test]
fn with_nftables_alone_firewalld_is_told_nothing() -> Result<()> {
    let side = side()?;
    let firewalld = Firewalld::start(&side.node)?;
    let attached = attach(&side, &list(Some(json!({"backend": "nftables"}))))?;
    expect_sources(&firewalld, "trusted", &[])?;
    ensure!(!reaches_outside(&side)?, "firewalld drops nothing");
    is_detached(&side, &attached)
}

/// A bus on which nobody is firewalld is as no bus, and nobody is started by asking.
#[test]
fn without_firewalld_the_backend_is_nftables() -> Result<()> {
    for has_bus in [false, true] {
        let side = side()?;
        let _bus = has_bus.then(|| Bus::start(&side.node)).transpose()?;
        let attached = attach(&side, &list(Some(json!({}))))?;
        ensure!(reaches_outside(&side)?, "with a bus: {has_bus}");
        is_detached(&side, &attached)?;
    }
    Ok(())
}

/// It changes nothing, and says what to do.
#[test]
fn a_firewalld_that_is_asked_for_must_run() -> Result<()> {
    let side = side()?;
    let list = list(Some(json!({"backend": "firewalld"})));
    let error = side.call("ADD", POD, &list, None)?.error();
    ensure!(error["code"] == 104, "{error}");
    let text = error.to_string();
    assert_contains(
        &text,
        &[
            "firewall",
            "backend",
            "firewalld does not run",
            "start firewalld",
        ],
    );
    let rules = side.node.tool("nft", "list ruleset")?;
    ensure!(!rules.contains("differential-"), "{rules}");
    let alone = firewall_alone(&list);
    ensure!(side.call("STATUS", POD, &alone, None)?.code() == 50);
    succeeds(&side, "DEL", &alone)
}

/// A host's reload is seen by CHECK, and repaired by the next ADD.
#[test]
fn check_sees_a_reload() -> Result<()> {
    let side = side()?;
    let firewalld = Firewalld::start(&side.node)?;
    let attached = attach(&side, &list(Some(json!({}))))?;
    firewalld.reload()?;
    let checked = side.call("CHECK", POD, &attached, None)?;
    ensure!(checked.code() == 106, "{checked:?}");
    assert_contains(&checked.stdout, &["10.1.0.2", "trusted"]);
    let mut firewall = attached["plugins"][1].clone();
    for key in ["cniVersion", "name", "prevResult"] {
        firewall[key] = attached[key].clone();
    }
    side.call("ADD", POD, &firewall, None)?.result();
    expect_sources(&firewalld, "trusted", &SOURCES)?;
    succeeds(&side, "CHECK", &attached)
}

/// An address of another zone is left there, and what was bound before it is taken back.
#[test]
fn a_refused_address_leaves_nothing_behind() -> Result<()> {
    let side = side()?;
    let firewalld = Firewalld::start(&side.node)?;
    firewalld.add_source("internal", SOURCES[1])?;
    let failed = side.call("ADD", POD, &list(Some(json!({}))), None)?;
    ensure!(failed.code() == 102, "{failed:?}");
    assert_contains(
        &failed.stdout,
        &["fd00:1::2", "trusted", "internal", "firewalldZone"],
    );
    expect_sources(&firewalld, "trusted", &[])?;
    expect_sources(&firewalld, "internal", &SOURCES[1..])?;
    let records = side.node.audit();
    let is_undone = |record: &&Value| {
        record["operation"] == "firewalld.remove-source" && record["verdict"] == "undo"
    };
    ensure!(records.iter().filter(is_undone).count() == 1, "{records:?}");
    Ok(())
}

#[test]
fn a_zone_that_there_is_not_is_an_error() -> Result<()> {
    let side = side()?;
    let _firewalld = Firewalld::start(&side.node)?;
    let failed = side.call(
        "ADD",
        POD,
        &list(Some(json!({"firewalldZone": "none"}))),
        None,
    )?;
    ensure!(failed.code() == 101, "{failed:?}");
    ensure!(failed.stdout.contains("firewalldZone"), "{failed:?}");
    Ok(())
}

/// DEL without the previous result, and GC, find the addresses in the plugin's own sets.
#[test]
fn sources_go_without_a_previous_result() -> Result<()> {
    for command in ["DEL", "GC"] {
        let side = side()?;
        let firewalld = Firewalld::start(&side.node)?;
        let attached = attach(&side, &list(Some(json!({}))))?;
        let mut alone = firewall_alone(&attached);
        if command == "GC" {
            alone["cni.dev/valid-attachments"] = json!([]);
        }
        let called = side.call(command, POD, &alone, None)?;
        ensure!(called.succeeded(), "{command}: {called:?}");
        expect_sources(&firewalld, "trusted", &[])?;
    }
    Ok(())
}
