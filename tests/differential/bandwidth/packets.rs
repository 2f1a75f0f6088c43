//! What limits do to packets: TCP's throughput through a shaped interface, and whose packets have no
//! limit.

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use weir_kit::{Container, Node, patiently, throughput};

use super::{Attached, alone, both_directions, bridge};
use crate::side::Whose;

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(10);

/// How often, where the machine is busy with something else.
const TRIES: usize = 5;

/// Which way the data of a connection goes that the shaped container has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// To the shaped container.
    Ingress,
    /// From it.
    Egress,
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// The shaped container, and one without limits on the same bridge, at 10.1.0.3 and fd00:1::3, and at
/// 10.2.0.3 and fd00:2::3.
fn neighbours(whose: Whose, keys: Value) -> Result<Attached> {
    let attached = Attached::create(whose, keys)?;
    let (shaped, other) = both_containers(&attached)?;
    attached
        .side
        .call("ADD", 1, &alone(bridge(), None), None)?
        .result();
    for line in [
        "address add 10.2.0.3/24 dev eth0",
        "address add fd00:2::3/64 dev eth0 nodad",
    ] {
        other.ip(line)?;
    }
    for line in [
        "route add 10.2.0.0/24 dev eth0",
        "-6 route add fd00:2::/64 dev eth0",
    ] {
        shaped.ip(line)?;
    }
    Ok(attached)
}

/// The shaped one first.
fn both_containers(attached: &Attached) -> Result<(&Container, &Container)> {
    match attached.side.containers.as_slice() {
        [shaped, other] => Ok((shaped, other)),
        _ => bail!("there are two containers"),
    }
}

/// A connection from the shaped container to an address of the other: the end that sends and the one
/// that receives.
fn connect(attached: &Attached, to: IpAddr, way: Way) -> Result<(TcpStream, TcpStream)> {
    let (shaped, other) = both_containers(attached)?;
    let listener = other.inside(|| Ok(TcpListener::bind((to, 0))?))?;
    let address = listener.local_addr()?;
    let near = shaped.inside(|| Ok(TcpStream::connect_timeout(&address, LIMIT)?))?;
    let (far, _) = listener.accept()?;
    Ok(match way {
        Way::Ingress => (far, near),
        Way::Egress => (near, far),
    })
}

/// The bits of payload that arrive in a second.
fn throughput(attached: &Attached, to: IpAddr, way: Way) -> Result<f64> {
    let (sender, receiver) = connect(attached, to, way)?;
    throughput::throughput(sender, receiver)
}

/// Whether the throughput to 10.1.0.3 is within 5 % of a rate in each direction. A limit counts frames,
/// of which 4.4 % is not payload.
fn check_throughput(attached: &Attached, expected: f64) -> Result<()> {
    for way in [Way::Ingress, Way::Egress] {
        let mut seen = Vec::new();
        let is_near = |rate: &f64| (rate / expected - 1.0).abs() <= 0.05;
        while !seen.last().is_some_and(is_near) {
            let whose = attached.side.whose;
            ensure!(
                seen.len() < TRIES,
                "{whose:?}: {way:?}: expected {expected}, seen {seen:?}"
            );
            seen.push(throughput(attached, ip("10.1.0.3"), way)?);
        }
    }
    Ok(())
}

/// Of the reference's token bucket, of weir's, and of weir's class: at once, as none takes much of a processor.
#[test]
fn the_throughput_with_a_limit() -> Result<()> {
    let mut of_subnet = both_directions();
    of_subnet["shapedSubnets"] = json!(["10.1.0.0/24"]);
    let limits = [
        (Whose::Reference, both_directions()),
        (Whose::Weir, both_directions()),
        (Whose::Weir, of_subnet),
    ];
    at_once(limits, |(whose, keys)| {
        check_throughput(&neighbours(whose, keys)?, 100e6)
    })
}

/// Calls a function with each value, each in a thread of its own.
fn at_once<T: Send>(
    values: impl IntoIterator<Item = T>,
    call: impl Fn(T) -> Result<()> + Sync,
) -> Result<()> {
    thread::scope(|scope| {
        let call = &call;
        let started: Vec<_> = values
            .into_iter()
            .map(|value| scope.spawn(move || call(value)))
            .collect();
        started
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no panic"))
    })
}

/// A burst that is smaller than a frame must not stop all frames.
#[test]
fn a_small_burst_lets_packets_through() -> Result<()> {
    let keys = json!({
        "ingressRate": 20_000_000, "ingressBurst": 800, "egressRate": 20_000_000, "egressBurst": 800,
    });
    let attached = neighbours(Whose::Weir, keys)?;
    for way in [Way::Ingress, Way::Egress] {
        let seen = throughput(&attached, ip("10.1.0.3"), way)?;
        // Each frame waits for a timer of its own, which may come late.
        ensure!((1e5..21e6).contains(&seen), "{way:?}: {seen}");
    }
    Ok(())
}

/// What has no limit is many times faster than what has one.
#[test]
fn the_throughput_without_a_limit() -> Result<()> {
    let mut keys = json!({
        "ingressRate": 8_000_000, "ingressBurst": 800_000, "egressRate": 8_000_000,
        "egressBurst": 800_000,
    });
    keys["unshapedSubnets"] = json!(["10.2.0.0/16"]);
    let attached = neighbours(Whose::Weir, keys)?;
    at_once([Way::Ingress, Way::Egress], |way| {
        let limited = throughput(&attached, ip("10.1.0.3"), way)?;
        ensure!(limited < 8.5e6, "{way:?}: {limited}");
        Ok(())
    })?;
    for way in [Way::Ingress, Way::Egress] {
        let unlimited = throughput(&attached, ip("10.2.0.3"), way)?;
        ensure!(unlimited > 80e6, "{way:?}: {unlimited}");
    }
    Ok(())
}

/// How many datagrams are sent, and of how many bytes.
const DATAGRAMS: u64 = 20;
const LENGTH: usize = 1000;

/// Sends datagrams between the shaped container and an address of the other, until they have come.
fn exchange(attached: &Attached, other_address: IpAddr, way: Way) -> Result<()> {
    let (shaped, other) = both_containers(attached)?;
    let own = match other_address {
        IpAddr::V4(_) => ip("10.1.0.2"),
        IpAddr::V6(_) => ip("fd00:1::2"),
    };
    let socket = |place: &Container, address: IpAddr| -> Result<UdpSocket> {
        let socket = place.inside(|| Ok(UdpSocket::bind(SocketAddr::new(address, 0))?))?;
        socket.set_read_timeout(Some(LIMIT))?;
        Ok(socket)
    };
    let (near, far) = (socket(shaped, own)?, socket(other, other_address)?);
    let (sender, receiver) = match way {
        Way::Ingress => (far, near),
        Way::Egress => (near, far),
    };
    let mut buffer = [0; LENGTH];
    for _ in 0..DATAGRAMS {
        sender.send_to(&[1; LENGTH], receiver.local_addr()?)?;
        // One after the other: nothing is lost in a queue.
        patiently(|| receiver.recv_from(&mut buffer)).context("a datagram did not come")?;
    }
    Ok(())
}

/// The bytes that a class of a link has sent.
fn sent(node: &Node, link: &str, class: &str) -> Result<u64> {
    let shown = node.tool("tc", &format!("-s class show dev {link}"))?;
    let of_class = shown
        .split("class htb ")
        .find(|text| text.starts_with(&format!("{class} ")));
    let words = of_class.context("the class")?.split_whitespace();
    let bytes = words.skip_while(|word| *word != "Sent").nth(1);
    Ok(bytes.context("what it has sent")?.parse()?)
}

/// By how many bytes the classes `1:1` and `1:30` of a link grow with an exchange.
fn growth(attached: &Attached, link: &str, address: IpAddr, way: Way) -> Result<[u64; 2]> {
    let sent = || -> Result<[u64; 2]> {
        let of = |class| sent(attached.node(), link, class);
        Ok([of("1:1")?, of("1:30")?])
    };
    // The first exchange asks for addresses, too.
    exchange(attached, address, way)?;
    let before = sent()?;
    exchange(attached, address, way)?;
    let after = sent()?;
    Ok([after[0] - before[0], after[1] - before[1]])
}

/// Which of the two classes an exchange must go through.
#[derive(Clone, Copy, Debug)]
enum Class {
    Unshaped,
    Shaped,
}

/// Whether datagrams go through the right class, in both directions and families: those that are
/// exchanged with the networks of a key, and those with others.
fn check_classes(key: &str, with_networks: Class, with_others: Class) -> Result<()> {
    let mut keys = both_directions();
    keys[key] = json!(["10.2.0.0/16", "fd00:2::/32"]);
    let attached = neighbours(Whose::Weir, keys)?;
    for (address, expected) in [
        ("10.1.0.3", with_others),
        ("fd00:1::3", with_others),
        ("10.2.0.3", with_networks),
        ("fd00:2::3", with_networks),
    ] {
        let (port, ifb) = (attached.port()?, attached.ifb()?);
        for (way, link) in [(Way::Ingress, port), (Way::Egress, ifb)] {
            let grown = growth(&attached, link, ip(address), way)?;
            let (through, beside) = match expected {
                Class::Unshaped => (grown[0], grown[1]),
                Class::Shaped => (grown[1], grown[0]),
            };
            let datagrams = DATAGRAMS * LENGTH as u64;
            ensure!(
                through >= datagrams && beside < datagrams / 4,
                "{key}: {way:?} with {address}: expected {expected:?}, classes grew by {grown:?}"
            );
        }
    }
    Ok(())
}

#[test]
fn subnets_without_a_limit() -> Result<()> {
    check_classes("unshapedSubnets", Class::Unshaped, Class::Shaped)
}

#[test]
fn subnets_with_a_limit() -> Result<()> {
    check_classes("shapedSubnets", Class::Shaped, Class::Unshaped)
}
