//! What configurations do to packets: masquerading and the check of source MACs. The two sides reach
//! them by different means, iptables and nftables, so that it is their effect that is compared.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::{Container, patiently};

use crate::side::{Side, with_previous};

/// How long a datagram may take.
const LIMIT: Duration = Duration::from_secs(10);

/// A socket at a port of its own: the one before may live on for a moment, in a process that another
/// test is starting.
fn socket(place: &Container, to_family_of: IpAddr) -> Result<UdpSocket> {
    let any = if to_family_of.is_ipv4() {
        "0.0.0.0"
    } else {
        "::"
    };
    let address = SocketAddr::new(any.parse()?, 0);
    let socket = place.inside(|| Ok(UdpSocket::bind(address)?))?;
    socket.set_read_timeout(Some(LIMIT))?;
    Ok(socket)
}

/// Sends a datagram from one place to an address of another; the source that it comes with.
pub fn source_seen(from: &Container, to: &Container, address: IpAddr) -> Result<IpAddr> {
    let receiver = socket(to, address)?;
    send(from, at(address, &receiver)?, "here")?;
    let mut buffer = [0; 16];
    let (_, source) = patiently(|| receiver.recv_from(&mut buffer)).context("no datagram came")?;
    Ok(source.ip())
}

fn send(from: &Container, to: SocketAddr, text: &str) -> Result<()> {
    let sender = socket(from, to.ip())?;
    sender.send_to(text.as_bytes(), to)?;
    Ok(())
}

/// Where a socket is reached at an address.
fn at(address: IpAddr, socket: &UdpSocket) -> Result<SocketAddr> {
    Ok(SocketAddr::new(address, socket.local_addr()?.port()))
}

pub fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn routed(ip_masq: bool) -> Value {
    json!({
        "cniVersion": "1.0.0", "name": "net", "type": "bridge", "bridge": "br",
        "isDefaultGateway": true, "ipMasq": ip_masq,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]],
        },
    })
}

/// Where a container's datagrams seem to come from: outside, of both families, and at another
/// container.
fn sources(side: &Side, config: &Value) -> Result<[IpAddr; 4]> {
    let outside = side.connect_outside()?;
    let (one, two) = (&side.containers[0], &side.containers[1]);
    let mut results = Vec::new();
    for container in 0..2 {
        results.push(side.call("ADD", container, config, None)?.result());
    }
    let sources = [
        source_seen(one, outside, ip("192.0.2.2"))?,
        source_seen(one, outside, ip("2001:db8::2"))?,
        source_seen(one, two, ip("10.1.0.3"))?,
        source_seen(one, two, ip("fd00:1::3"))?,
    ];
    for (container, result) in results.iter().enumerate() {
        let deleted = side.call("DEL", container, &with_previous(config, Some(result)), None)?;
        ensure!(deleted.succeeded(), "DEL: {deleted:?}");
    }
    Ok(sources)
}

fn check_sources(ip_masq: bool, expected: [&str; 4]) -> Result<()> {
    for side in Side::pair(3)? {
        let whose = side.whose;
        let seen = sources(&side, &routed(ip_masq)).with_context(|| format!("{whose:?}"))?;
        ensure!(
            seen == expected.map(ip),
            "{whose:?}: expected {expected:?}, seen {seen:?}"
        );
    }
    Ok(())
}

#[test]
fn masqueraded_to_the_outside_and_not_between_containers() -> Result<()> {
    check_sources(true, ["192.0.2.1", "2001:db8::1", "10.1.0.2", "fd00:1::2"])
}

#[test]
fn not_masqueraded_without_the_key() -> Result<()> {
    check_sources(false, ["10.1.0.2", "fd00:1::2", "10.1.0.2", "fd00:1::2"])
}

/// An address that was masqueraded for a container that is gone is not for the next one, whose
/// configuration does not ask for it.
#[test]
fn not_masqueraded_after_del() -> Result<()> {
    for side in Side::pair(2)? {
        let outside = side.connect_outside()?;
        let container = &side.containers[0];
        let at = ip("192.0.2.2");
        let mut config = routed(true);
        config["runtimeConfig"] = json!({"ips": ["10.1.0.7"]});
        let result = side.call("ADD", 0, &config, None)?.result();
        ensure!(
            source_seen(container, outside, at)? == ip("192.0.2.1"),
            "{:?}",
            side.whose
        );
        let deleted = side.call("DEL", 0, &with_previous(&config, Some(&result)), None)?;
        ensure!(deleted.succeeded(), "DEL: {deleted:?}");
        config["ipMasq"] = json!(false);
        side.call("ADD", 0, &config, None)?.result();
        ensure!(
            source_seen(container, outside, at)? == ip("10.1.0.7"),
            "{:?}",
            side.whose
        );
    }
    Ok(())
}

/// Which of three datagrams arrive at another container: an honest one, one under a forged source
/// MAC, and an honest one again.
fn arriving(side: &Side, check: bool) -> Result<Vec<String>> {
    let mut config = routed(false);
    config["macspoofchk"] = json!(check);
    for container in 0..2 {
        side.call("ADD", container, &config, None)?.result();
    }
    let (from, to) = (&side.containers[0], &side.containers[1]);
    let address = ip("10.1.0.3");
    let receiver = socket(to, address)?;
    let own = mac(from)?;
    // Known beforehand, so that nothing but the datagrams is sent.
    let neighbour = format!(
        "neigh replace 10.1.0.3 lladdr {} dev eth0 nud permanent",
        mac(to)?
    );
    for (mac, text) in [
        (&*own, "honest"),
        ("02:00:00:00:00:66", "forged"),
        (&*own, "last"),
    ] {
        from.ip(&format!("link set eth0 address {mac}"))?;
        from.ip(&neighbour)?;
        send(from, at(address, &receiver)?, text)?;
    }
    // The path is one queue: what has not come before the last one does not come.
    let mut arrived = Vec::new();
    while arrived.last().is_none_or(|text| text != "last") {
        let mut buffer = [0; 16];
        let (length, _) =
            patiently(|| receiver.recv_from(&mut buffer)).context("the last one did not come")?;
        arrived.push(String::from_utf8_lossy(&buffer[..length]).into_owned());
    }
    Ok(arrived)
}

fn mac(container: &Container) -> Result<String> {
    let link = container.ip_json("link show eth0")?;
    Ok(link[0]["address"].as_str().context("a MAC")?.to_owned())
}

fn check_arriving(check: bool, expected: &[&str]) -> Result<()> {
    for side in Side::pair(2)? {
        let whose = side.whose;
        let arrived = arriving(&side, check).with_context(|| format!("{whose:?}"))?;
        ensure!(
            arrived == expected,
            "{whose:?}: expected {expected:?}, arrived {arrived:?}"
        );
    }
    Ok(())
}

#[test]
fn a_forged_source_mac_does_not_pass_the_check() -> Result<()> {
    check_arriving(true, &["honest", "last"])
}

#[test]
fn a_forged_source_mac_passes_without_the_key() -> Result<()> {
    check_arriving(false, &["honest", "forged", "last"])
}

/// A container reaches itself through its port where hairpin mode is on, as it must behind a
/// service's address; here the host sends its datagram back to it.
#[test]
fn hairpin_mode_lets_a_container_reach_itself() -> Result<()> {
    for side in Side::pair(1)? {
        let mut config = routed(false);
        config["hairpinMode"] = json!(true);
        side.call("ADD", 0, &config, None)?.result();
        side.node.tool("nft", "add table ip service")?;
        let hook = "add chain ip service prerouting { type nat hook prerouting priority -100 ; }";
        side.node.tool("nft", hook)?;
        let rule = "add rule ip service prerouting ip daddr 10.96.0.1 dnat to 10.1.0.2";
        side.node.tool("nft", rule)?;
        let hook = "add chain ip service postrouting { type nat hook postrouting priority 100 ; }";
        side.node.tool("nft", hook)?;
        let rule = "add rule ip service postrouting ip saddr 10.1.0.2 ip daddr 10.1.0.2 masquerade";
        side.node.tool("nft", rule)?;
        let container = &side.containers[0];
        let receiver = socket(container, ip("10.1.0.2"))?;
        send(container, at(ip("10.96.0.1"), &receiver)?, "round")?;
        let mut buffer = [0; 16];
        let (_, source) =
            patiently(|| receiver.recv_from(&mut buffer)).context("no datagram came back")?;
        ensure!(
            source.ip() == ip("10.1.0.1"),
            "{:?}: from {source}",
            side.whose
        );
    }
    Ok(())
}
