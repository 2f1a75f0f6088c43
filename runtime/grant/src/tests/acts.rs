//! What each operation does, in words, and how far it reaches.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use weir_cni::owner::{mark_of_attachment, mark_of_network};

use crate::field::Seen;
use crate::operation_names::{Field, Kind, named, of, recorded};
use crate::query::{Need, Query};
use crate::{Capability, Invocation, Severity};

use Severity::{ChangesHost, Contained, DisablesProtection, LeavesContainer, ReachesOthers, Reads};

fn invocation() -> Invocation {
    Invocation {
        container_id: "5f3c".to_owned(),
        ifname: "eth0".to_owned(),
        network: "net".to_owned(),
        ..Invocation::default()
    }
}

/// The mark of this attachment's links.
fn own() -> String {
    mark_of_attachment("net", "5f3c", "eth0")
}

/// A link of the host.
fn host(kind: &str, name: &str, owner: &str) -> Value {
    json!({ "namespace": "host", "index": 7, "name": name, "kind": kind, "owner": owner })
}

fn container(name: &str) -> Value {
    json!({ "namespace": "container", "index": 2, "name": name, "kind": "veth" })
}

#[track_caller]
fn does(name: &str, arguments: Value, act: &str, severity: Severity) {
    let operation = recorded(name, &arguments).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(operation.act(), act, "{arguments}");
    assert_eq!(operation.severity(&invocation()), severity, "{arguments}");
}

#[test]
fn a_link_that_is_moved_is_told_where() {
    let to = |link: &Value, to: &str, name: &str| json!({ "link": link, "to": to, "name": name });
    does(
        "link.move",
        to(&container("eth0"), "host", "eth0"),
        "move veth `eth0` from container to host",
        LeavesContainer,
    );
    does(
        "link.move",
        to(&host("physical", "ens3", ""), "container", "net1"),
        "move physical `ens3` from host to container as `net1`",
        ReachesOthers,
    );
    does(
        "link.move",
        to(&host("veth", "tmp0", &own()), "container", "eth0"),
        "move veth `tmp0` from host to container as `eth0`",
        ChangesHost,
    );
}

#[test]
fn a_change_of_a_link_is_named_and_whose_it_is_counts() {
    let update = |link: &Value, changes: Value| {
        let mut all = json!({ "link": link });
        let members = all.as_object_mut().expect("an object");
        members.extend(changes.as_object().expect("an object").clone());
        all
    };
    let physical = host("physical", "ens3", "");
    let cni0 = host("bridge", "cni0", &mark_of_network("net"));
    let of_other = host("bridge", "br-other", &mark_of_network("other"));
    let veth = host("veth", "veth1", &own());
    for (link, changes, act, severity) in [
        (
            &physical,
            json!({ "up": false }),
            "take physical `ens3` in host down",
            ReachesOthers,
        ),
        (
            &cni0,
            json!({ "up": false }),
            "take bridge `cni0` in host down",
            ReachesOthers,
        ),
        (
            &cni0,
            json!({ "up": true }),
            "bring bridge `cni0` in host up",
            ChangesHost,
        ),
        (
            &of_other,
            json!({ "up": true }),
            "bring bridge `br-other` in host up",
            ReachesOthers,
        ),
        (
            &veth,
            json!({ "up": false }),
            "take veth `veth1` in host down",
            ChangesHost,
        ),
        (
            &veth,
            json!({ "mtu": 1400, "name": "x", "up": false }),
            "take veth `veth1` in host down, rename it to `x` and set its MTU to 1400",
            ChangesHost,
        ),
        (
            &veth,
            json!({ "master": { "link": cni0 } }),
            "make veth `veth1` in host a port of bridge `cni0` in host",
            ChangesHost,
        ),
        (
            &veth,
            json!({ "master": { "link": of_other } }),
            "make veth `veth1` in host a port of bridge `br-other` in host",
            ReachesOthers,
        ),
        (
            &physical,
            json!({ "master": "none" }),
            "take physical `ens3` in host out of its master",
            ReachesOthers,
        ),
        (
            &physical,
            json!({ "promiscuous": true, "mac": "02:00:00:00:00:01" }),
            "set the MAC address of physical `ens3` in host to 02:00:00:00:00:01 and turn on its promiscuous mode",
            ReachesOthers,
        ),
        (
            &container("eth0"),
            json!({ "mtu": 1400, "txqlen": 5, "all_multicast": true }),
            "turn on the reception of all multicast of veth `eth0` in container, set its MTU to 1400 and set its \
             transmit queue length to 5",
            Contained,
        ),
        (
            &physical,
            json!({}),
            "change nothing of physical `ens3` in host",
            ReachesOthers,
        ),
    ] {
        does("link.update", update(link, changes), act, severity);
    }
}

#[test]
fn protections_of_a_bridge() {
    let (veth, cni0) = (host("veth", "veth1", &own()), host("bridge", "cni0", "net"));
    does(
        "link.update-port",
        json!({ "link": veth, "isolated": false, "hairpin": true }),
        "turn off the isolation from other ports of veth `veth1` in host and turn on its hairpin mode",
        DisablesProtection,
    );
    does(
        "link.update-port",
        json!({ "link": veth, "isolated": true }),
        "turn on the isolation from other ports of veth `veth1` in host",
        ChangesHost,
    );
    does(
        "link.update-bridge",
        json!({ "link": cni0, "vlan_filtering": false }),
        "turn off the VLAN filtering of bridge `cni0` in host",
        DisablesProtection,
    );
    does(
        "link.update-bridge",
        json!({ "link": cni0, "vlan_filtering": true, "default_pvid": 0 }),
        "turn on the VLAN filtering of bridge `cni0` in host and remove its default VLAN",
        ReachesOthers,
    );
    let vlan = |first: u16, last: u16| json!({ "first": first, "last": last, "pvid": false, "untagged": true });
    does(
        "link.add-vlans",
        json!({ "link": veth, "vlans": [vlan(100, 100)] }),
        "add veth `veth1` in host to VLAN 100",
        ChangesHost,
    );
    does(
        "link.delete-vlans",
        json!({ "link": cni0, "vlans": vec![vlan(1, 4094); 9] }),
        &format!(
            "remove bridge `cni0` in host from VLANs {}and 1 more ranges",
            "1-4094, ".repeat(8)
        )
        .replace(", and", " and"),
        ReachesOthers,
    );
}

#[test]
fn a_new_link_is_told_with_what_it_is_tied_to() {
    let (cni0, ens3) = (host("bridge", "cni0", "net"), host("physical", "ens3", ""));
    let veth = json!({
        "namespace": "container", "name": "eth0", "kind": "veth", "up": true,
        "peer": { "namespace": "host", "name": "", "up": true },
    });
    does(
        "link.create",
        veth,
        "create veth `eth0` in container with its other end in host",
        ChangesHost,
    );
    let with = |kind: Value, master: Option<&Value>| {
        let mut all = json!({ "namespace": "container", "name": "eth0", "up": false });
        let members = all.as_object_mut().expect("an object");
        members.extend(kind.as_object().expect("an object").clone());
        members.extend(master.map(|master| ("master".to_owned(), master.clone())));
        all
    };
    for (kind, master, act, severity) in [
        (
            json!({ "kind": "dummy" }),
            None,
            "create dummy `eth0` in container",
            Contained,
        ),
        (
            json!({ "kind": "tap", "multi_queue": false, "user": 107, "group": 36 }),
            Some(&cni0),
            "create tun `eth0` in container as a port of bridge `cni0` in host",
            ChangesHost,
        ),
        (
            json!({ "kind": "dummy" }),
            Some(&ens3),
            "create dummy `eth0` in container as a port of physical `ens3` in host",
            ReachesOthers,
        ),
        (
            json!({ "kind": "macvlan", "lower": ens3, "mode": "bridge" }),
            None,
            "create macvlan `eth0` in container over physical `ens3` in host, in mode bridge",
            ReachesOthers,
        ),
        (
            json!({ "kind": "macvlan", "lower": ens3, "mode": "passthru" }),
            None,
            "create macvlan `eth0` in container over physical `ens3` in host, in mode passthru",
            ReachesOthers,
        ),
        (
            json!({ "kind": "ipvlan", "lower": ens3, "mode": "l3s" }),
            None,
            "create ipvlan `eth0` in container over physical `ens3` in host, in mode l3s",
            ReachesOthers,
        ),
        (
            json!({ "kind": "vlan", "lower": ens3, "id": 7, "protocol": "802.1Q" }),
            None,
            "create vlan `eth0` in container for VLAN 7 of physical `ens3` in host",
            ReachesOthers,
        ),
        (
            json!({ "kind": "vrf", "table": 100 }),
            None,
            "create vrf `eth0` in container for routing table 100",
            Contained,
        ),
    ] {
        does("link.create", with(kind, master), act, severity);
    }
    does(
        "link.delete",
        json!({ "link": ens3 }),
        "delete physical `ens3` in host",
        ReachesOthers,
    );
    does(
        "link.list",
        json!({ "namespace": "host" }),
        "list the links in host",
        Reads,
    );
    does(
        "link.get",
        json!({ "link": ens3 }),
        "read physical `ens3` in host",
        Reads,
    );
}

#[test]
fn addresses() {
    let add = |link: Value, overlap: Value| {
        json!({
            "link": link, "address": "10.1.0.2/24", "peer": "10.1.0.3", "broadcast": "10.1.0.255",
            "no_duplicate_detection": false, "no_prefix_route": false, "overlap": overlap,
        })
    };
    let act = |to: &str| {
        format!("add address 10.1.0.2/24 to {to}, peer 10.1.0.3, broadcast address 10.1.0.255")
    };
    let cni0 = || host("bridge", "cni0", "net");
    does(
        "address.add",
        add(container("eth0"), Value::Null),
        &act("veth `eth0` in container"),
        Contained,
    );
    does(
        "address.add",
        add(cni0(), Value::Null),
        &act("bridge `cni0` in host"),
        ChangesHost,
    );
    does(
        "address.add",
        add(host("physical", "ens3", ""), Value::Null),
        &act("physical `ens3` in host"),
        ReachesOthers,
    );
    let overlap = |owner: &str| json!({ "destination": "10.0.0.0/8", "link": "x", "owner": owner });
    let overlapping = format!(
        "{}, which overlaps what the host has",
        act("bridge `cni0` in host")
    );
    does(
        "address.add",
        add(cni0(), overlap("net")),
        &overlapping,
        ChangesHost,
    );
    does(
        "address.add",
        add(cni0(), overlap("")),
        &overlapping,
        ReachesOthers,
    );
    does(
        "address.delete",
        json!({ "link": cni0(), "address": "10.1.0.1/24" }),
        "remove address 10.1.0.1/24 from bridge `cni0` in host",
        ReachesOthers,
    );
    does(
        "address.list",
        json!({ "link": cni0() }),
        "read the addresses of bridge `cni0` in host",
        Reads,
    );
}

#[test]
fn routes() {
    let route = |namespace: &str, destination: &str, more: Value| {
        let mut route = json!({ "destination": destination, "table": 254, "kind": "unicast", "on_link": false });
        let members = route.as_object_mut().expect("an object");
        members.extend(more.as_object().expect("an object").clone());
        json!({ "namespace": namespace, "route": route })
    };
    let over = |owner: &str| json!({ "link": host("veth", "veth1", owner) });
    does(
        "route.add",
        route(
            "container",
            "0.0.0.0/0",
            json!({ "gateway": "10.1.0.1", "link": container("eth0") }),
        ),
        "add the default route (0.0.0.0/0) via 10.1.0.1 over veth `eth0` in container",
        Contained,
    );
    does(
        "route.add",
        route("host", "10.1.0.2/32", over(&own())),
        "add the route to 10.1.0.2/32 over veth `veth1` in host",
        ChangesHost,
    );
    does(
        "route.add",
        route("host", "10.1.0.2/32", over("")),
        "add the route to 10.1.0.2/32 over veth `veth1` in host",
        ReachesOthers,
    );
    does(
        "route.add",
        route("host", "10.1.0.0/24", over(&own())),
        "add the route to 10.1.0.0/24 over veth `veth1` in host",
        ReachesOthers,
    );
    does(
        "route.replace",
        route(
            "host",
            "::/0",
            json!({ "gateway": "fe80::1", "table": 100 }),
        ),
        "set the default route (::/0) via fe80::1 in routing table 100 in host",
        ReachesOthers,
    );
    does(
        "route.delete",
        route("host", "0.0.0.0/0", json!({})),
        "delete the default route (0.0.0.0/0) in host",
        ReachesOthers,
    );
    does(
        "route.add",
        route("host", "192.0.2.1/32", json!({ "kind": "blackhole" })),
        "add the route to 192.0.2.1/32 that drops its packets (blackhole) in host",
        ReachesOthers,
    );
    let hop = |gateway: &str, owner: &str| json!({ "gateway": gateway, "weight": 1, "on_link": false, "link": host("veth", "veth1", owner) });
    does(
        "route.add",
        route(
            "host",
            "10.1.0.2/32",
            json!({ "next_hops": [hop("10.1.0.1", &own()), hop("10.1.0.3", "")] }),
        ),
        "add the route to 10.1.0.2/32 via 10.1.0.1 over veth `veth1` and via 10.1.0.3 over veth `veth1` in host",
        ReachesOthers,
    );
    let rule = |rule: Value| json!({ "namespace": "host", "rule": rule });
    does(
        "policy-rule.add",
        rule(json!({ "family": "ipv4", "table": 100, "priority": 7 })),
        "add the routing rule in host, priority 7: every ipv4 packet by routing table 100",
        ReachesOthers,
    );
    does(
        "policy-rule.delete",
        rule(
            json!({ "family": "ipv4", "table": 100, "source": "10.1.0.2/32", "input_link": "eth0", "mark": 1 }),
        ),
        "delete the routing rule in host: ipv4 packets from 10.1.0.2/32, coming in on `eth0`, with mark 0x1/0xffffffff by \
         routing table 100",
        ReachesOthers,
    );
}

#[test]
fn neighbours() {
    let add = |link: Value, proxy: bool| json!({ "link": link, "address": "10.1.0.1", "mac": "02:00:00:00:00:01", "state": "permanent", "proxy": proxy });
    does(
        "neighbour.add",
        add(container("eth0"), false),
        "set neighbour 10.1.0.1 at MAC address 02:00:00:00:00:01 on veth `eth0` in container",
        Contained,
    );
    let veth = || host("veth", "veth1", &own());
    does(
        "neighbour.add",
        add(veth(), true),
        "answer for 10.1.0.1 on veth `veth1` in host (proxy neighbour)",
        ReachesOthers,
    );
    does(
        "neighbour.delete",
        json!({ "link": veth(), "address": "10.1.0.1" }),
        "delete neighbour 10.1.0.1 on veth `veth1` in host",
        ChangesHost,
    );
    does(
        "neighbour.announce",
        json!({ "link": container("eth0"), "addresses": ["10.1.0.1", "fd00::1"] }),
        "announce 10.1.0.1 and fd00::1 as its own on veth `eth0` in container",
        ReachesOthers,
    );
}

#[test]
fn traffic() {
    let (veth, ens3) = (host("veth", "veth1", &own()), host("physical", "ens3", ""));
    let filter = |target: &Value, parent: &str| json!({ "link": veth, "parent": parent, "priority": 1, "source": "10.1.0.2/32", "action": { "redirect": target } });
    does(
        "traffic.add-filter",
        filter(&host("ifb", "bwp1", &own()), "ffff:"),
        "redirect what enters veth `veth1` in host from 10.1.0.2/32 out of ifb `bwp1` in host (`mirred`)",
        ChangesHost,
    );
    does(
        "traffic.add-filter",
        filter(&ens3, "ffff:fff3"),
        "redirect what leaves veth `veth1` in host from 10.1.0.2/32 out of physical `ens3` in host (`mirred`)",
        ReachesOthers,
    );
    let tbf = |link: &Value| json!({ "link": link, "handle": "1:", "parent": "root", "discipline": "tbf", "rate": 1000, "burst": 1, "latency": 1 });
    does(
        "traffic.add-qdisc",
        tbf(&veth),
        "limit what leaves veth `veth1` in host to 1000 bytes a second (`tbf`)",
        ChangesHost,
    );
    does(
        "traffic.add-qdisc",
        tbf(&ens3),
        "limit what leaves physical `ens3` in host to 1000 bytes a second (`tbf`)",
        ReachesOthers,
    );
    does(
        "traffic.delete-qdisc",
        json!({ "link": ens3, "parent": "root", "handle": "1:", "discipline": "fq_codel" }),
        "remove `fq_codel`, with its classes and filters, from physical `ens3` in host",
        ReachesOthers,
    );
}

fn apply(namespace: &str, commands: Value) -> Value {
    json!({ "namespace": namespace, "family": "inet", "table": "weir_x", "commands": commands })
}

fn chain(hook: &str, policy: &str) -> Value {
    let base = json!({ "chain-type": "filter", "hook": hook, "priority": 0, "policy": policy });
    json!({ "add-chain": { "name": "c", "base": base } })
}

fn rule(conditions: Value, statements: Value) -> Value {
    json!({ "append-rule": { "chain": "c", "conditions": conditions, "statements": statements } })
}

#[test]
fn a_packet_filter_says_what_it_does_where() {
    let table = "in nftables table `inet weir_x` in host";
    let source = json!({ "within": { "field": "ipv4-source", "network": "10.1.0.0/16" } });
    let port = json!({ "equals": { "field": "destination-port", "value": 8080 } });
    let tcp = json!({ "equals": { "field": "transport-protocol", "value": 6 } });
    let out = json!({ "equals": { "field": "output-link-name", "value": "cni0", "negate": true } });
    let dnat = json!({ "dnat": { "target": { "fixed": { "address": "10.1.0.2", "port": 80 } }, "options": {} } });
    for (commands, act, severity) in [
        (
            json!([chain("input", "accept"), rule(json!([]), json!(["drop"]))]),
            "drop every packet on hook input and add chain `c` on hook input",
            ReachesOthers,
        ),
        (
            json!([chain("input", "drop")]),
            "drop every packet on hook input that no rule of chain `c` accepts",
            ReachesOthers,
        ),
        (
            json!([rule(json!([source, out]), json!([{ "masquerade": {} }]))]),
            "masquerade packets from 10.1.0.0/16 not going out of `cni0` in chain `c`",
            ReachesOthers,
        ),
        (
            json!([
                chain("prerouting", "accept"),
                rule(json!([tcp, port]), json!(["counter", dnat]))
            ]),
            "count packets of tcp to port 8080 on hook prerouting and redirect them to 10.1.0.2 port 80 and add chain `c` \
             on hook prerouting",
            ReachesOthers,
        ),
        (
            json!([rule(json!([]), json!(["accept"]))]),
            "accept every packet in chain `c`",
            ChangesHost,
        ),
        (
            json!([rule(json!([]), json!([{ "jump": "d" }]))]),
            "send every packet in chain `c` through chain `d`",
            ChangesHost,
        ),
        (
            json!([rule(
                json!([]),
                json!(["notrack", { "set-mark": { "mask": 255, "value": 1 } }])
            )]),
            "exempt every packet in chain `c` from connection tracking and mark them with mark 0x1/0xff",
            ReachesOthers,
        ),
        (
            json!([{ "create-elements": { "set": "ports4", "elements": [
                { "key": [6, 8080], "data": { "values": ["10.1.0.2", 80] } }] } }]),
            "put 6 . 8080 to 10.1.0.2 . 80 into `ports4`",
            ReachesOthers,
        ),
        (
            json!(["delete-table"]),
            "delete every chain and rule",
            ReachesOthers,
        ),
        (
            json!([{ "delete-elements": { "set": "s", "elements": [{ "key": ["10.1.0.2"] }] } }]),
            "take 10.1.0.2 out of set `s`",
            ChangesHost,
        ),
    ] {
        does(
            "firewall.apply",
            apply("host", commands),
            &format!("{act}, {table}"),
            severity,
        );
    }
    does(
        "firewall.apply",
        apply("container", json!([chain("input", "drop")])),
        "drop every packet on hook input that no rule of chain `c` accepts, in nftables table `inet weir_x` in container",
        Contained,
    );
}

/// A plugin may hide one rule among a thousand.
#[test]
fn a_long_transaction_is_short_and_tells_the_gravest() {
    let harmless = (0..1000).map(|n| rule(json!([]), json!([{ "jump": format!("c{n}") }])));
    let mut commands: Vec<Value> = harmless.collect();
    commands.insert(700, rule(json!([]), json!(["reject"])));
    let operation = recorded("firewall.apply", &apply("host", commands.into())).expect("one");
    let act = operation.act();
    assert!(
        act.starts_with("reject every packet in chain `c`, send "),
        "{act}"
    );
    assert!(
        act.contains("do 997 more things") && act.len() < 400,
        "{act}"
    );
    assert_eq!(operation.severity(&invocation()), ReachesOthers);
    let elements: Vec<Value> = (0..1000)
        .map(|n| json!({ "key": [n], "data": { "verdict": if n == 500 { "drop" } else { "accept" } } }))
        .collect();
    let elements = json!([{ "add-elements": { "set": "m", "elements": elements } }]);
    let operation = recorded("firewall.apply", &apply("host", elements)).expect("one");
    let act = operation.act();
    assert!(act.starts_with("put 500 to drop, 0 to accept"), "{act}");
    assert_eq!(operation.severity(&invocation()), ReachesOthers);
}

#[test]
fn zones_of_firewalld() {
    let source = |zone: &str| json!({ "zone": zone, "source": "10.1.0.2" });
    does(
        "firewalld.add-source",
        source("trusted"),
        "bind 10.1.0.2 to firewalld's zone `trusted`, which accepts every connection",
        DisablesProtection,
    );
    does(
        "firewalld.add-source",
        source("pods"),
        "bind 10.1.0.2 to firewalld's zone `pods`",
        ReachesOthers,
    );
    does(
        "firewalld.remove-source",
        source("drop"),
        "take 10.1.0.2 out of firewalld's zone `drop`, which accepts no connection",
        DisablesProtection,
    );
    does(
        "firewalld.is-running",
        json!({}),
        "read whether firewalld runs",
        Reads,
    );
}

#[test]
fn kernel_parameters() {
    let set = |namespace: &str, key: &str, value: &str, owner: &str| json!({ "namespace": namespace, "key": key, "value": value, "owner": owner });
    let forged = ", which turns off the check for forged source addresses";
    for (namespace, key, value, owner, effect, severity) in [
        (
            "host",
            "net.ipv4.conf.all.rp_filter",
            "0",
            "",
            forged,
            DisablesProtection,
        ),
        (
            "host",
            "net.ipv4.conf.all.rp_filter",
            "1",
            "",
            "",
            ReachesOthers,
        ),
        (
            "host",
            "net.ipv4.conf.veth1.arp_notify",
            "1",
            &*own(),
            "",
            ChangesHost,
        ),
        (
            "host",
            "net.ipv4.conf.ens3.arp_notify",
            "1",
            "",
            "",
            ReachesOthers,
        ),
        (
            "host",
            "net.ipv4.ip_forward",
            "1",
            "",
            ", which forwards packets between all links",
            ReachesOthers,
        ),
        ("host", "net.core.somaxconn", "1", "", "", ChangesHost),
        (
            "container",
            "net.ipv4.conf.eth0.rp_filter",
            "0",
            "",
            forged,
            DisablesProtection,
        ),
        (
            "container",
            "net.ipv4.conf.eth0.arp_notify",
            "1",
            "",
            "",
            Contained,
        ),
        (
            "container",
            "net.ipv4.ip_forward",
            "1",
            "",
            ", which forwards packets between all links",
            Contained,
        ),
    ] {
        let act = format!("set {key} to {value} in {namespace}{effect}");
        does(
            "sysctl.write",
            set(namespace, key, value, owner),
            &act,
            severity,
        );
    }
}

/// Denied attempts are recorded with whatever key the plugin wrote.
#[test]
fn parameters_outside_net_are_the_gravest() {
    for key in [
        "net.../../kernel.core_pattern",
        "kernel.core_pattern",
        "kernel.net.x",
    ] {
        for namespace in ["host", "container"] {
            let arguments = json!({ "namespace": namespace, "key": key, "value": "|/tmp/x" });
            let outside = ", which is not a parameter below net.";
            let act = format!("set {key} to |/tmp/x in {namespace}{outside}");
            does("sysctl.write", arguments, &act, LeavesContainer);
        }
    }
}

#[test]
fn what_has_no_namespace() {
    does(
        "conntrack.delete",
        json!({ "namespace": "host", "family": "ipv4", "protocol": "tcp" }),
        "delete the tracked ipv4 connections to tcp every port in host",
        ReachesOthers,
    );
    does(
        "store.put",
        json!({ "location": "private", "key": "a" }),
        "set `a` in the plugin's own store",
        Contained,
    );
    does(
        "store.delete",
        json!({ "location": { "directory": "/var/lib/cni" }, "key": "a" }),
        "delete `a` from the store in `/var/lib/cni`",
        ChangesHost,
    );
    for (location, severity) in [
        (json!({ "directory": "/etc/cron.d" }), LeavesContainer),
        (json!({ "shared-directory": "/root" }), LeavesContainer),
        (
            json!({ "directory": "/var/lib/cni/../../etc" }),
            LeavesContainer,
        ),
        (json!({ "directory": "/var/lib/cnis" }), LeavesContainer),
        (json!({ "directory": "/run/cni/state" }), ChangesHost),
        (
            json!({ "configured-directory": "/data/leases" }),
            ChangesHost,
        ),
        (json!("private"), Contained),
    ] {
        let open = json!({ "access": "write", "location": location });
        let open = recorded("store.open", &open).expect("arguments");
        assert_eq!(open.severity(&invocation()), severity, "{location}");
        let read = json!({ "access": "read", "location": location });
        let read = recorded("store.open", &read).expect("arguments");
        assert_eq!(read.severity(&invocation()), Reads, "{location}");
    }
    does(
        "store.claim",
        json!({ "location": "private", "keys": ["a", "b"] }),
        "claim the first free key of `a` and `b` in the plugin's own store",
        Contained,
    );
    does(
        "ipam.run",
        json!({ "plugin": "host-local", "command": "ADD" }),
        "run IPAM plugin `host-local` for ADD",
        Contained,
    );
    let digest = format!("sha256:{}", "0a".repeat(32));
    does(
        "native.execute",
        json!({ "plugin": "flannel", "digest": digest, "command": "ADD" }),
        &format!("run native plugin `flannel` ({digest}) for ADD, outside the sandbox"),
        LeavesContainer,
    );
    does(
        "packet.open-raw",
        json!({ "link": "eth0", "ether_type": 2048 }),
        "send and receive any frame of EtherType 0x0800 on `eth0` in container",
        ReachesOthers,
    );
    does(
        "packet.open-udp",
        json!({ "link": "eth0", "local_port": 68, "broadcast": true }),
        "send and receive UDP from port 68 on `eth0` in container, also for broadcasts",
        Contained,
    );
}

/// Whether something of the host is required.
fn is_of_host(operation: &dyn Query) -> bool {
    let invocation = invocation();
    let seen = Seen {
        invocation: &invocation,
        networks: &[],
    };
    let of_host = |need: Need| need.draft(&seen).rule.names("namespace", "host");
    operation.needs().into_iter().any(of_host)
}

/// A value that a field may have, chosen by a number.
fn value(field: &Field, choice: usize) -> String {
    let one_of = |values: &[&str]| values[choice % values.len()].to_owned();
    let own = own();
    match field.kind {
        Kind::OneOf(words) => one_of(words),
        Kind::Number => one_of(&["0", "1", "254", "8080"]),
        Kind::Flag => one_of(&["true", "false"]),
        Kind::Address => one_of(&["10.1.0.2", "fd00::2"]),
        Kind::Network => one_of(&["10.1.0.2/32", "10.1.0.0/16", "0.0.0.0/0", "fd00::2/128"]),
        Kind::ListOf(words) => one_of(words),
        Kind::Addresses => one_of(&["10.1.0.2", "10.1.0.2,10.1.0.3"]),
        Kind::List => one_of(&["eth0", "eth0,eth1"]),
        Kind::Text => match field.name {
            "access" => one_of(&["read", "write"]),
            "discipline" => one_of(&["tbf", "htb", "ingress", "clsact", "fq_codel"]),
            "protocol" => one_of(&["tcp", "udp", "sctp"]),
            "owner" => one_of(&["net", "other", &own]),
            "mac" => "02:00:00:00:00:01".to_owned(),
            "key" => one_of(&["net.ipv4.ip_forward", "net.ipv4.conf.eth0.rp_filter"]),
            "value" => one_of(&["0", "1"]),
            "command" => "ADD".to_owned(),
            name if name.ends_with("kind") => one_of(&[
                "veth", "bridge", "macvlan", "vlan", "dummy", "tap", "physical",
            ]),
            _ => one_of(&["x", "eth0", "/var/lib/x"]),
        },
    }
}

/// Operations of all sorts: those that the fields of a person's question can make.
fn operations(rounds: usize) -> Vec<Box<dyn Query>> {
    let mut state = 1_u64;
    let mut choose = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let mut all = Vec::new();
    for known in Capability::ALL.into_iter().flat_map(of) {
        for _ in 0..rounds {
            let chosen = known
                .fields
                .iter()
                .filter(|field| field.required || choose() % 2 == 0);
            let fields: Vec<_> = chosen.collect();
            let given: Vec<_> = fields
                .into_iter()
                .map(|field| (field.name.to_owned(), value(field, choose())))
                .collect();
            all.extend(named(known.asked_as, &given).ok());
        }
    }
    all
}

#[test]
fn what_changes_the_host_is_never_less_than_that() {
    let mut changes = BTreeSet::new();
    for operation in operations(300) {
        let severity = operation.severity(&invocation());
        let arguments = operation.arguments();
        let (name, act) = (operation.name(), operation.act());
        assert_eq!(operation.is_read(), severity == Reads, "{name} {arguments}");
        assert!(!act.is_empty() && !act.contains("  "), "{name}: {act:?}");
        if is_of_host(&*operation) && !operation.is_read() {
            assert!(severity >= ChangesHost, "{severity}: {name} {arguments}");
            changes.insert(name);
        }
    }
    // It was tried with every operation that can.
    for name in [
        "link.create",
        "link.update",
        "link.update-port",
        "link.update-bridge",
        "link.add-vlans",
        "link.delete-vlans",
        "link.delete",
        "link.move",
        "address.add",
        "address.delete",
        "route.add",
        "route.replace",
        "route.delete",
        "policy-rule.add",
        "policy-rule.delete",
        "neighbour.add",
        "neighbour.delete",
        "neighbour.announce",
        "traffic.add-qdisc",
        "traffic.delete-qdisc",
        "traffic.add-class",
        "traffic.delete-class",
        "traffic.add-filter",
        "traffic.delete-filter",
        "firewall.apply",
        "firewall.remove-reference-rules",
        "conntrack.delete",
        "sysctl.write",
    ] {
        assert!(changes.contains(name), "{name} was not tried on the host");
    }
}

/// Nothing is called an update or a write: the words name the act.
#[test]
fn no_words_are_those_of_a_verb_alone() {
    for operation in operations(100)
        .iter()
        .filter(|operation| !operation.is_read())
    {
        let (name, act) = (operation.name(), operation.act());
        assert!(!act.starts_with("update "), "{name}: {act}");
        let is_bare = act.starts_with("write ");
        let is_empty = act.starts_with("write nftables table") || act.starts_with("write the ");
        assert!(!is_bare || is_empty, "{name}: {act}");
    }
}
