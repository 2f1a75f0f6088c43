//! What operations on links do.

use serde_json::{Value, json};
use weir_cni::owner::mark_of_network;

use super::{container, does, host, own};
use crate::Severity::{
    ChangesHost, Contained, DisablesProtection, LeavesContainer, ReachesOthers, Reads,
};

#[test]
fn a_move_names_where_the_link_goes() {
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
fn a_new_link_is_described_with_what_it_is_tied_to() {
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
