//! What `portmap` does to connections: each is really made, from each place, on both sides. Those reach it
//! by different means, iptables and nftables, so that it is the effect that is compared: whether the
//! container answers, and as whom it sees the client.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::probe::{Origin, Probe, Protocol, Server};
use crate::side::{Side, Whose, with_previous};

use Protocol::{Tcp, Udp};

/// The container that ports lead to, another one on its bridge, and what is outside.
const SERVER: usize = 0;
const NEIGHBOUR: usize = 1;
const OUTSIDE: usize = 2;

/// The container's port, and the host's.
const CONTAINER_PORT: u16 = 80;
const HOST_PORT: u16 = 8080;

/// What a probe is to find: the source that the container sees, or no answer.
type Expected = Option<&'static str>;

fn list(portmap: Value) -> Value {
    let bridge = json!({
        "type": "bridge", "bridge": "br", "isDefaultGateway": true, "hairpinMode": true,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]],
        },
    });
    after(bridge, portmap)
}

/// A list of the plugin that makes the interface, and of portmap with these keys.
fn after(plugin: Value, mut portmap: Value) -> Value {
    portmap["type"] = json!("portmap");
    json!({"cniVersion": "1.0.0", "name": "net", "plugins": [plugin, portmap]})
}

/// TCP and UDP of the same port.
fn mapped() -> Value {
    json!({"portMappings": [
        {"hostPort": HOST_PORT, "containerPort": CONTAINER_PORT, "protocol": "tcp"},
        {"hostPort": HOST_PORT, "containerPort": CONTAINER_PORT, "protocol": "udp"},
    ]})
}

fn mapped_at(host_ip: &str) -> Value {
    json!({"portMappings": [
        {"hostPort": HOST_PORT, "containerPort": CONTAINER_PORT, "protocol": "tcp", "hostIP": host_ip},
        {"hostPort": HOST_PORT, "containerPort": CONTAINER_PORT, "protocol": "udp", "hostIP": host_ip},
    ]})
}

/// A list whose portmap has these keys and the mappings of both protocols.
fn with(keys: Value) -> Value {
    let mut portmap = keys;
    portmap["runtimeConfig"] = mapped();
    list(portmap)
}

fn at(host_ip: &str) -> Value {
    list(json!({"runtimeConfig": mapped_at(host_ip)}))
}

fn probe(from: Origin, protocol: Protocol, to: &str) -> Probe {
    Probe::new(from, protocol, to, HOST_PORT)
}

/// Attaches server and neighbour, and makes the connections. The mappings are gone afterwards, and so
/// are the connections that they allowed.
fn check(sides: &[Side], config: &Value, probes: &[(Origin, &str, Expected)]) -> Result<()> {
    for side in sides {
        check_on(side, config, probes).with_context(|| format!("{:?}", side.whose))?;
    }
    Ok(())
}

fn check_on(side: &Side, config: &Value, probes: &[(Origin, &str, Expected)]) -> Result<()> {
    side.connect_outside()?;
    side.node.inside(bridge_alone)?;
    let result = side.call("ADD", SERVER, config, None)?.result();
    attach_neighbour(side, config)?;
    let known = with_previous(config, Some(&result));
    // The packaged reference looks for each family's rules in both.
    if side.whose == Whose::Weir {
        let checked = side.call("CHECK", SERVER, &known, None)?;
        ensure!(checked.succeeded(), "CHECK: {checked:?}");
    }
    let _server = Server::start(&side.containers[SERVER], CONTAINER_PORT)?;
    for protocol in [Tcp, Udp] {
        for (from, to, expected) in probes {
            let seen = probe(*from, protocol, to).answer(side)?;
            ensure!(
                seen.as_deref() == *expected,
                "{protocol:?} from {from:?} to {to}: expected {expected:?}, seen {seen:?}"
            );
        }
    }
    for _ in 0..2 {
        let deleted = side.call("DEL", SERVER, &known, None)?;
        ensure!(deleted.succeeded(), "DEL: {deleted:?}");
    }
    expect_gone(side)
}

/// Has frames between ports of a bridge pass nothing but the bridge, as on a host that does not load
/// `br_netfilter`: where they pass iptables as well, answers find their way back by themselves.
fn bridge_alone() -> Result<()> {
    for parameter in ["bridge-nf-call-iptables", "bridge-nf-call-ip6tables"] {
        let path = Path::new("/proc/sys/net/bridge").join(parameter);
        if path.exists() {
            fs::write(path, "0")?;
        }
    }
    Ok(())
}

/// The neighbour's attachment maps nothing.
fn attach_neighbour(side: &Side, config: &Value) -> Result<()> {
    let plain = after(config["plugins"][0].clone(), json!({}));
    side.call("ADD", NEIGHBOUR, &plain, None)?.result();
    Ok(())
}

fn expect_gone(side: &Side) -> Result<()> {
    for to in ["192.0.2.1", "2001:db8::1"] {
        let seen = probe(Origin::Container(OUTSIDE), Tcp, to).answer(side)?;
        ensure!(seen.is_none(), "after DEL: {to} is answered: {seen:?}");
    }
    if side.whose == Whose::Weir {
        let left = side.node.tool("nft", "list ruleset")?;
        let mentions = left.matches("differential-1").count();
        ensure!(mentions == 0, "after DEL: {left}");
    }
    Ok(())
}

const HOST: Origin = Origin::Host;
const SELF: Origin = Origin::Container(SERVER);
const NEXT: Origin = Origin::Container(NEIGHBOUR);
const OUT: Origin = Origin::Container(OUTSIDE);

#[test]
fn every_way_in_by_ipv4() -> Result<()> {
    check(
        &Side::pair(3)?,
        &with(json!({})),
        &[
            (OUT, "192.0.2.1", Some("192.0.2.2")),
            (HOST, "192.0.2.1", Some("192.0.2.1")),
            (HOST, "10.1.0.1", Some("10.1.0.1")),
            (HOST, "127.0.0.1", Some("10.1.0.1")),
            (NEXT, "192.0.2.1", Some("10.1.0.1")),
            (NEXT, "10.1.0.1", Some("10.1.0.1")),
            (SELF, "192.0.2.1", Some("10.1.0.1")),
            (SELF, "10.1.0.1", Some("10.1.0.1")),
            // The container's own loopback is its own.
            (SELF, "127.0.0.1", None),
        ],
    )
}

#[test]
fn every_way_in_by_ipv6() -> Result<()> {
    check(
        &Side::pair(3)?,
        &with(json!({})),
        &[
            (OUT, "2001:db8::1", Some("2001:db8::2")),
            (HOST, "2001:db8::1", Some("2001:db8::1")),
            (HOST, "fd00:1::1", Some("fd00:1::1")),
            (NEXT, "2001:db8::1", Some("fd00:1::1")),
            (NEXT, "fd00:1::1", Some("fd00:1::1")),
            (SELF, "2001:db8::1", Some("fd00:1::1")),
        ],
    )
}

/// A link of its own for each container, without a bridge between them.
#[test]
fn every_way_in_over_ptp() -> Result<()> {
    let ptp = json!({
        "type": "ptp",
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]],
            "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}],
        },
    });
    check(
        &Side::pair(3)?,
        &after(ptp, json!({"runtimeConfig": mapped()})),
        &[
            (OUT, "192.0.2.1", Some("192.0.2.2")),
            (OUT, "2001:db8::1", Some("2001:db8::2")),
            (HOST, "192.0.2.1", Some("192.0.2.1")),
            (HOST, "127.0.0.1", Some("10.1.0.1")),
            (NEXT, "192.0.2.1", Some("10.1.0.1")),
            (SELF, "192.0.2.1", Some("10.1.0.1")),
        ],
    )
}

/// GKE's `noSnat`, which no version has, and a backend by name; a port that is mapped twice leads where it is mapped
/// first; the arguments' key in another case, with what is another plugin's.
#[test]
fn what_runs_today() -> Result<()> {
    let mut mappings = mapped()["portMappings"].clone();
    let mut again = mappings[0].clone();
    again["containerPort"] = json!(CONTAINER_PORT + 1);
    mappings.as_array_mut().context("a list")?.push(again);
    let portmap = json!({
        "noSnat": true, "backend": "iptables",
        "RuntimeConfig": { "portMappings": mappings, "ips": ["10.1.0.2"] },
    });
    check(
        &Side::pair(3)?,
        &list(portmap),
        &[
            (OUT, "192.0.2.1", Some("192.0.2.2")),
            (HOST, "127.0.0.1", Some("10.1.0.1")),
        ],
    )
}

#[test]
fn one_address_of_the_host() -> Result<()> {
    check(
        &Side::pair(3)?,
        &at("192.0.2.1"),
        &[
            (OUT, "192.0.2.1", Some("192.0.2.2")),
            (OUT, "2001:db8::1", None),
            (HOST, "192.0.2.1", Some("192.0.2.1")),
            (HOST, "10.1.0.1", None),
            (HOST, "127.0.0.1", None),
            (NEXT, "192.0.2.1", Some("10.1.0.1")),
            (NEXT, "10.1.0.1", None),
        ],
    )
}

#[test]
fn one_ipv6_address_of_the_host() -> Result<()> {
    check(
        &Side::pair(3)?,
        &at("2001:db8::1"),
        &[
            (OUT, "2001:db8::1", Some("2001:db8::2")),
            (OUT, "192.0.2.1", None),
            (HOST, "fd00:1::1", None),
            (NEXT, "2001:db8::1", Some("fd00:1::1")),
        ],
    )
}

#[test]
fn the_loopback_address_alone() -> Result<()> {
    check(
        &Side::pair(3)?,
        &at("127.0.0.1"),
        &[
            (HOST, "127.0.0.1", Some("10.1.0.1")),
            (HOST, "192.0.2.1", None),
            (OUT, "192.0.2.1", None),
        ],
    )
}

#[test]
fn all_addresses_of_one_family() -> Result<()> {
    check(
        &Side::pair(3)?,
        &at("0.0.0.0"),
        &[
            (OUT, "192.0.2.1", Some("192.0.2.2")),
            (HOST, "127.0.0.1", Some("10.1.0.1")),
            (OUT, "2001:db8::1", None),
        ],
    )?;
    check(
        &Side::pair(3)?,
        &at("::"),
        &[
            (OUT, "2001:db8::1", Some("2001:db8::2")),
            (OUT, "192.0.2.1", None),
        ],
    )
}

/// Who came from 127.0.0.1 or from the container's network cannot be answered then.
#[test]
fn without_snat() -> Result<()> {
    check(
        &Side::pair(3)?,
        &with(json!({"snat": false})),
        &[
            (OUT, "192.0.2.1", Some("192.0.2.2")),
            (OUT, "2001:db8::1", Some("2001:db8::2")),
            (HOST, "192.0.2.1", Some("192.0.2.1")),
            (HOST, "127.0.0.1", None),
            (NEXT, "192.0.2.1", None),
        ],
    )
}

#[test]
fn conditions_in_the_words_of_iptables() -> Result<()> {
    let config = with(json!({
        "conditionsV4": ["!", "-s", "192.0.2.2"], "conditionsV6": ["-s", "2001:db8::/64"],
    }));
    check(
        &Side::pair(3)?,
        &config,
        &[
            (OUT, "192.0.2.1", None),
            (HOST, "192.0.2.1", Some("192.0.2.1")),
            (NEXT, "192.0.2.1", Some("10.1.0.1")),
            (OUT, "2001:db8::1", Some("2001:db8::2")),
            (NEXT, "2001:db8::1", None),
        ],
    )
}

/// The packaged reference has no backend that understands them.
#[test]
fn conditions_in_the_words_of_nft() -> Result<()> {
    let config = with(json!({
        "conditionsV4": ["ip", "saddr", "!=", "192.0.2.2"], "conditionsV6": ["iifname", "out"],
    }));
    check(
        &[Side::create(Whose::Weir, 3)?],
        &config,
        &[
            (OUT, "192.0.2.1", None),
            (NEXT, "192.0.2.1", Some("10.1.0.1")),
            (OUT, "2001:db8::1", Some("2001:db8::2")),
            (NEXT, "2001:db8::1", None),
        ],
    )
}

#[test]
fn another_bit_of_the_mark() -> Result<()> {
    check(
        &Side::pair(3)?,
        &with(json!({"markMasqBit": 5})),
        &[
            (OUT, "192.0.2.1", Some("192.0.2.2")),
            (HOST, "127.0.0.1", Some("10.1.0.1")),
            (NEXT, "192.0.2.1", Some("10.1.0.1")),
        ],
    )
}

/// As kube-proxy sets it up.
#[test]
fn the_mark_of_kubernetes() -> Result<()> {
    let sides = Side::pair(3)?;
    for side in &sides {
        for line in [
            "-t nat -N KUBE-MARK-MASQ",
            "-t nat -A KUBE-MARK-MASQ -j MARK --or-mark 0x4000",
            "-t nat -A POSTROUTING -m mark --mark 0x4000/0x4000 -j MASQUERADE",
        ] {
            side.node.tool("iptables", line)?;
            side.node.tool("ip6tables", line)?;
        }
    }
    check(
        &sides,
        &with(json!({"externalSetMarkChain": "KUBE-MARK-MASQ"})),
        &[
            (OUT, "192.0.2.1", Some("192.0.2.2")),
            (HOST, "127.0.0.1", Some("10.1.0.1")),
            (NEXT, "192.0.2.1", Some("10.1.0.1")),
            (NEXT, "2001:db8::1", Some("fd00:1::1")),
        ],
    )
}

/// A key that the packaged reference does not know.
#[test]
fn everything_is_masqueraded() -> Result<()> {
    check(
        &[Side::create(Whose::Weir, 3)?],
        &with(json!({"masqAll": true})),
        &[
            (OUT, "192.0.2.1", Some("10.1.0.1")),
            (OUT, "2001:db8::1", Some("fd00:1::1")),
            (HOST, "192.0.2.1", Some("10.1.0.1")),
            (HOST, "127.0.0.1", Some("10.1.0.1")),
            (NEXT, "192.0.2.1", Some("10.1.0.1")),
        ],
    )
}

/// What comes to the container itself and not by a mapped port is not masqueraded.
#[test]
fn a_connection_to_the_containers_own_address_keeps_its_source() -> Result<()> {
    let side = Side::create(Whose::Weir, 3)?;
    side.connect_outside()?;
    side.call("ADD", SERVER, &with(json!({"masqAll": true})), None)?
        .result();
    let _server = Server::start(&side.containers[SERVER], CONTAINER_PORT)?;
    for (to, expected) in [("10.1.0.2", "192.0.2.2"), ("fd00:1::2", "2001:db8::2")] {
        for protocol in [Tcp, Udp] {
            let seen = Probe::new(OUT, protocol, to, CONTAINER_PORT).answer(&side)?;
            ensure!(
                seen.as_deref() == Some(expected),
                "{protocol:?} to {to}: {seen:?}"
            );
        }
    }
    Ok(())
}

/// What is marked can be seen behind the translation.
#[test]
fn the_mark_is_set_on_what_is_masqueraded() -> Result<()> {
    let side = Side::create(Whose::Weir, 3)?;
    side.connect_outside()?;
    side.call("ADD", SERVER, &with(json!({"markMasqBit": 5})), None)?
        .result();
    for line in [
        "add table ip seen",
        "add chain ip seen post { type filter hook postrouting priority 150 ; }",
        "add rule ip seen post ip daddr 10.1.0.2 meta mark 0x20 counter",
    ] {
        side.node.tool("nft", line)?;
    }
    let _server = Server::start(&side.containers[SERVER], CONTAINER_PORT)?;
    let counted = |side: &Side| -> Result<bool> {
        Ok(!side
            .node
            .tool("nft", "list chain ip seen post")?
            .contains("packets 0 "))
    };
    probe(OUT, Tcp, "192.0.2.1")
        .answer(&side)?
        .context("no answer")?;
    ensure!(
        !counted(&side)?,
        "a packet that is not masqueraded is marked"
    );
    probe(HOST, Tcp, "127.0.0.1")
        .answer(&side)?
        .context("no answer")?;
    ensure!(counted(&side)?, "no packet is marked");
    Ok(())
}

/// The port goes to the last one that asks, and stays with it when the first one is deleted.
#[test]
fn the_last_one_has_the_port() -> Result<()> {
    for side in Side::pair(3)? {
        side.connect_outside()?;
        let config = with(json!({}));
        let first = side.call("ADD", SERVER, &config, None)?.result();
        let second = side.call("ADD", NEIGHBOUR, &config, None)?.result();
        let _server = Server::start(&side.containers[NEIGHBOUR], CONTAINER_PORT)?;
        if side.whose == Whose::Weir {
            // The packaged reference still lets the first one have it.
            let seen = probe(OUT, Tcp, "192.0.2.1").answer(&side)?;
            ensure!(seen.is_some(), "the second does not have the port");
        }
        let deleted = side.call("DEL", SERVER, &with_previous(&config, Some(&first)), None)?;
        ensure!(deleted.succeeded(), "{:?}: DEL: {deleted:?}", side.whose);
        let seen = probe(OUT, Tcp, "192.0.2.1").answer(&side)?;
        ensure!(seen.is_some(), "{:?}: after DEL of the first", side.whose);
        let deleted = side.call(
            "DEL",
            NEIGHBOUR,
            &with_previous(&config, Some(&second)),
            None,
        )?;
        ensure!(deleted.succeeded(), "{:?}: DEL: {deleted:?}", side.whose);
        expect_gone(&side)?;
    }
    Ok(())
}

/// A client that never pauses, and whose datagrams came before the mapping, reaches the container; and
/// no longer after DEL.
#[test]
fn datagrams_before_the_mapping_do_not_stick() -> Result<()> {
    for side in Side::pair(3)? {
        side.connect_outside()?;
        let config = with(json!({}));
        // Another mapping, without which connections are not tracked.
        attach_neighbour(&side, &config)?;
        let mut other = config.clone();
        other["plugins"][1]["runtimeConfig"]["portMappings"][0]["hostPort"] = json!(9999);
        other["plugins"][1]["runtimeConfig"]["portMappings"][1]["hostPort"] = json!(9999);
        let client = probe(OUT, Udp, "192.0.2.1").client(&side)?;
        ensure!(client.ask()?.is_none(), "nobody is there yet");
        let result = side.call("ADD", SERVER, &config, None)?.result();
        let _server = Server::start(&side.containers[SERVER], CONTAINER_PORT)?;
        let seen = client.ask()?;
        ensure!(seen.is_some(), "{:?}: the mapping is missed", side.whose);
        let deleted = side.call("DEL", SERVER, &with_previous(&config, Some(&result)), None)?;
        ensure!(deleted.succeeded(), "{:?}: DEL: {deleted:?}", side.whose);
        ensure!(client.ask()?.is_none(), "{:?}: after DEL", side.whose);
    }
    Ok(())
}

/// A list without mappings hands the result on, and one without a previous result is refused.
#[test]
fn nothing_is_mapped() -> Result<()> {
    for side in Side::pair(1)? {
        let plain = list(json!({}));
        let result = side.call("ADD", 0, &plain, None)?.result();
        let bridge = &plain["plugins"][0];
        ensure!(
            result["ips"].as_array().is_some_and(|ips| ips.len() == 2),
            "{result}"
        );
        ensure!(bridge["type"] == "bridge");
        let known = with_previous(&plain, Some(&result));
        for command in ["CHECK", "DEL", "DEL"] {
            let outcome = side.call(command, 0, &known, None)?;
            ensure!(
                outcome.succeeded(),
                "{:?}: {command}: {outcome:?}",
                side.whose
            );
        }
        let alone = json!({
            "cniVersion": "1.0.0", "name": "net", "type": "portmap", "runtimeConfig": mapped(),
        });
        side.call("ADD", 0, &alone, None)?.error();
    }
    Ok(())
}

/// A reload of the host's nftables that flushes everything is seen by CHECK, and the next ADD repairs it.
#[test]
fn a_flushed_ruleset_is_seen_and_repaired() -> Result<()> {
    let side = Side::create(Whose::Weir, 3)?;
    side.connect_outside()?;
    let mut config = with(json!({}));
    config["plugins"][0]["ipMasq"] = json!(true);
    for flush in [
        "flush ruleset",
        "flush chain inet weir_portmap prerouting",
        "flush map inet weir_portmap ports4",
    ] {
        let result = side.call("ADD", SERVER, &config, None)?.result();
        let known = with_previous(&config, Some(&result));
        ensure!(
            side.call("CHECK", SERVER, &known, None)?.succeeded(),
            "CHECK before"
        );
        side.node.tool("nft", flush)?;
        let seen = side.call("CHECK", SERVER, &known, None)?;
        ensure!(seen.code() == 106, "{flush}: CHECK after: {seen:?}");
        let deleted = side.call("DEL", SERVER, &known, None)?;
        ensure!(deleted.succeeded(), "{flush}: DEL: {deleted:?}");
        side.node.tool("nft", "flush ruleset")?;
    }
    side.call("ADD", SERVER, &config, None)?.result();
    let _server = Server::start(&side.containers[SERVER], CONTAINER_PORT)?;
    let seen = probe(OUT, Tcp, "192.0.2.1").answer(&side)?;
    ensure!(seen.is_some(), "the port is not mapped again");
    Ok(())
}

/// This kernel has no SCTP to connect with: what is set up is looked at instead.
#[test]
fn a_port_of_sctp() -> Result<()> {
    let config = list(json!({"runtimeConfig": {"portMappings": [
        {"hostPort": HOST_PORT, "containerPort": CONTAINER_PORT, "protocol": "sctp"},
    ]}}));
    for side in Side::pair(1)? {
        side.call("ADD", SERVER, &config, None)?.result();
        let (tool, words, expected) = match side.whose {
            Whose::Reference => (
                "iptables",
                "-t nat -S",
                "-p sctp -m sctp --dport 8080 -j DNAT --to-destination 10.1.0.2:80",
            ),
            Whose::Weir | Whose::Floor => (
                "nft",
                "list map inet weir_portmap ports4",
                "sctp . 8080 comment \"net differential-1 eth0\" : 10.1.0.2 . 80",
            ),
        };
        let told = side.node.tool(tool, words)?;
        ensure!(told.contains(expected), "{expected} is not in {told}");
    }
    Ok(())
}
