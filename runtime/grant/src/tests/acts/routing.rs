//! What operations on addresses, routes, neighbours and queueing disciplines do.

use serde_json::{Value, json};

use super::{container, does, host, own};
use crate::Severity::{ChangesHost, Contained, ReachesOthers, Reads};

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
