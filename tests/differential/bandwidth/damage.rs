//! CHECK of an attachment that something was done to. What the packaged reference sees weir must see,
//! and more: it looks at no filter, at no class, and at the root only where a `tbf` is there.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{Attached, both_directions, must_succeed};
use crate::side::Whose;

/// Who must see a damage by CHECK.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Both,
    /// The reference may or may not.
    Weir,
    Neither,
}

/// Attaches, checks, runs lines of tools, checks again, and deletes, on each side.
fn check_after(lines: &[&str], seen: Seen) -> Result<()> {
    for whose in [Whose::Reference, Whose::Weir] {
        let attached = Attached::create(whose, both_directions())?;
        must_succeed(&attached.call("CHECK")?)?;
        for line in lines {
            attached.tool(line)?;
        }
        let after = attached.call("CHECK")?;
        match (whose, seen) {
            (_, Seen::Neither) => must_succeed(&after)?,
            (Whose::Weir, _) => assert_eq!(after.code(), 106, "{after:?}"),
            (_, Seen::Both) => drop(after.error()),
            (_, Seen::Weir) => {}
        }
        must_succeed(&attached.call("DEL")?)?;
        must_succeed(&attached.call("DEL")?)?;
    }
    Ok(())
}

macro_rules! damages {
    ($($(#[$doc:meta])* $name:ident: $lines:expr, $seen:ident;)+) => {$(
        $(#[$doc])*
        #[test]
        fn $name() -> Result<()> {
            check_after(&$lines, Seen::$seen)
        }
    )+};
}

damages! {
    the_rate_of_ingress: [
        "tc qdisc change dev {port} root handle 1: tbf rate 50mbit burst 1000000 latency 25ms",
    ], Both;
    the_burst_of_ingress: [
        "tc qdisc change dev {port} root handle 1: tbf rate 100mbit burst 500000 latency 25ms",
    ], Both;
    the_latency_of_ingress: [
        "tc qdisc change dev {port} root handle 1: tbf rate 100mbit burst 1000000 latency 50ms",
    ], Both;
    the_rate_of_egress: [
        "tc qdisc change dev {ifb} root handle 1: tbf rate 50mbit burst 1000000 latency 25ms",
    ], Both;
    the_ifb_is_gone: ["ip link delete {ifb}"], Both;
    the_port_has_another_name: [
        "ip link set {port} down", "ip link set {port} name elsewhere", "ip link set elsewhere up",
    ], Both;
    ingress_is_not_shaped: ["tc qdisc delete dev {port} root"], Weir;
    egress_is_not_shaped: ["tc qdisc delete dev {ifb} root"], Weir;
    ingress_is_shaped_by_something_else: [
        "tc qdisc delete dev {port} root", "tc qdisc add dev {port} root handle 1: pfifo limit 9",
    ], Weir;
    egress_is_not_redirected: ["tc filter delete dev {port} ingress"], Weir;
    egress_has_no_ingress_hook: ["tc qdisc delete dev {port} ingress"], Weir;
    egress_is_redirected_elsewhere: [
        "ip link add elsewhere type ifb",
        "tc filter delete dev {port} ingress",
        "tc filter add dev {port} parent ffff: protocol all prio 1 u32 match u32 0 0 \
            action mirred egress redirect dev elsewhere",
    ], Weir;
    a_part_of_egress_is_redirected: [
        "tc filter delete dev {port} ingress",
        "tc filter add dev {port} parent ffff: protocol ip prio 1 u32 match ip dst 10.0.0.0/8 \
            action mirred egress redirect dev {ifb}",
    ], Weir;
    the_ifb_is_down: ["ip link set {ifb} down"], Weir;
    the_ifb_has_another_mtu: ["ip link set {ifb} mtu 1400"], Weir;
    the_ifb_has_a_longer_queue: ["ip link set {ifb} txqlen 5000"], Neither;
}

/// 100 Mbit/s for some networks, which the packaged reference does not know.
fn for_some() -> Value {
    let mut keys = both_directions();
    keys["shapedSubnets"] = json!(["10.2.0.0/16", "fd00:2::/32"]);
    keys
}

/// What is done to classes and filters of weir's, each on an attachment of its own.
#[test]
fn damage_to_classes_and_filters() -> Result<()> {
    let damages = [
        "tc class change dev {port} parent 1: classid 1:30 htb rate 50mbit burst 1000000 \
            cburst 1000000",
        "tc class change dev {ifb} parent 1: classid 1:30 htb rate 100mbit burst 500000 \
            cburst 500000",
        "tc class change dev {ifb} parent 1: classid 1:1 htb rate 100mbit burst 500000 \
            cburst 500000",
        "tc class delete dev {ifb} classid 1:1",
        "tc filter delete dev {ifb} parent 1: protocol ip prio 16",
        "tc filter delete dev {port} parent 1: protocol ipv6 prio 15",
        "tc filter add dev {ifb} parent 1: protocol ip prio 16 u32 match ip dst 10.3.0.0/16 \
            flowid 1:30",
        "tc qdisc delete dev {port} root",
        "tc qdisc delete dev {ifb} root",
    ];
    for damage in damages {
        let attached = Attached::create(Whose::Weir, for_some())?;
        must_succeed(&attached.call("CHECK")?)?;
        attached.tool(damage)?;
        let after = attached.call("CHECK")?;
        assert_eq!(after.code(), 106, "{damage}: {after:?}");
        must_succeed(&attached.call("DEL")?)?;
    }
    Ok(())
}

/// The configuration asks for something else than it did in ADD.
#[test]
fn another_configuration_than_that_of_add() -> Result<()> {
    let mut unshaped = for_some();
    unshaped["unshapedSubnets"] = unshaped["shapedSubnets"].take();
    let mut other_network = for_some();
    other_network["shapedSubnets"] = json!(["10.2.0.0/17", "fd00:2::/32"]);
    let slower = json!({"egressRate": 99_000_000, "egressBurst": 8_000_000});
    for (of_add, of_check) in [
        (for_some(), both_directions()),
        (both_directions(), for_some()),
        (for_some(), unshaped),
        (for_some(), other_network),
        (both_directions(), slower),
        (
            json!({"egressRate": 100_000_000, "egressBurst": 8_000_000}),
            both_directions(),
        ),
        (
            json!({"ingressRate": 100_000_000, "ingressBurst": 8_000_000}),
            both_directions(),
        ),
    ] {
        let mut attached = Attached::create(Whose::Weir, of_add.clone())?;
        attached.keys = of_check.clone();
        let checked = attached.call("CHECK")?;
        ensure!(!checked.succeeded(), "{of_add} and then {of_check}");
        assert_eq!(checked.code(), 106, "{checked:?}");
    }
    Ok(())
}

/// Newer versions of the reference shape everything with classes: with a limit of twice the rate that
/// nothing reaches, and no burst where there is no limit.
#[test]
fn what_newer_references_make_is_accepted() -> Result<()> {
    let attached = Attached::create(Whose::Weir, both_directions())?;
    for link in ["{port}", "{ifb}"] {
        for line in [
            "tc qdisc delete dev LINK root",
            "tc qdisc add dev LINK root handle 1: htb default 0x30",
            "tc class add dev LINK parent 1: classid 1:30 htb rate 100mbit ceil 200mbit \
                burst 1000000 cburst 2000000",
            "tc class add dev LINK parent 1: classid 1:1 htb rate 800gbit",
        ] {
            attached.tool(&line.replace("LINK", link))?;
        }
    }
    must_succeed(&attached.call("CHECK")?)?;
    attached
        .tool("tc class change dev {ifb} parent 1: classid 1:30 htb rate 99mbit burst 1000000")?;
    assert_eq!(attached.call("CHECK")?.code(), 106);
    must_succeed(&attached.call("DEL")?)
}
