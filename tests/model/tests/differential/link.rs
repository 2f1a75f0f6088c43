//! Capability `link`.

use weir_grant::Namespace::{Container, Host};
use weir_grant::link::{
    BridgeChanges, Create, Delete, GetPeer, LinkFacts, Mac, Move, NewKind, NewMaster, NewPeer,
    Update, UpdatePort, WaitUp,
};

use crate::side::{Side, compare};

/// A veth pair that is up: `host0` on the host and `eth0` in the container.
pub(crate) fn pair(side: &mut Side) -> (LinkFacts, LinkFacts) {
    pair_named(side, "host0", "eth0");
    (side.link(Host, "host0"), side.link(Container, "eth0"))
}

fn pair_named(side: &mut Side, name: &str, peer: &str) {
    let peer = NewPeer {
        namespace: Container,
        name: peer.to_owned(),
        mac: None,
        mtu: None,
        up: true,
        owner: None,
    };
    let pair = Create {
        up: true,
        ..Create::new(Host, name, NewKind::Veth { peer })
    };
    side.perform(pair);
}

pub(crate) fn bridge(side: &mut Side, name: &str) -> LinkFacts {
    let bridge = Create {
        up: true,
        ..Create::new(Host, name, NewKind::Bridge(BridgeChanges::default()))
    };
    side.perform(bridge);
    side.link(Host, name)
}

pub(crate) fn nothing_of(link: &LinkFacts) -> Update {
    Update::nothing_of(link.clone())
}

#[test]
fn a_pair_is_up_when_both_ends_are() {
    compare(|side| {
        let (host, eth0) = pair(side);
        side.show("both");
        side.perform(Update {
            up: Some(false),
            ..nothing_of(&eth0)
        });
        side.show("one");
        side.perform(WaitUp {
            link: host.clone(),
            timeout_ms: 1,
        });
        let peer = side.perform(GetPeer { link: host });
        side.say(format!("{:?}", peer.and_then(|peer| peer.namespace)));
        side.say(format!(
            "{}",
            peer.is_some_and(|peer| peer.index == eth0.index)
        ));
    });
}

#[test]
fn a_name_is_taken_once() {
    compare(|side| {
        let (host, _) = pair(side);
        pair_named(side, "host0", "eth1");
        pair_named(side, "host1", "eth0");
        bridge(side, "host0");
        bridge(side, "br0");
        side.perform(Update {
            name: Some("br0".to_owned()),
            ..nothing_of(&host)
        });
        pair_named(side, "a name", "eth1");
        pair_named(side, "longer-than-15-b", "eth1");
    });
}

#[test]
fn a_bridge_follows_its_ports() {
    compare(|side| {
        let (host, eth0) = pair(side);
        let bridge = bridge(side, "br0");
        side.show("without ports");
        side.perform(Update {
            master: Some(NewMaster::Link(bridge.clone())),
            mtu: Some(1400),
            ..nothing_of(&host)
        });
        side.show("with a port");
        side.perform(UpdatePort {
            link: host.clone(),
            hairpin: Some(true),
            isolated: Some(true),
        });
        side.perform(UpdatePort {
            link: bridge.clone(),
            hairpin: Some(true),
            isolated: None,
        });
        side.perform(Update {
            up: Some(false),
            ..nothing_of(&eth0)
        });
        side.show("with a port that is down");
        side.perform(Update {
            master: Some(NewMaster::None),
            ..nothing_of(&host)
        });
        side.show("without ports again");
        side.perform(Update {
            master: Some(NewMaster::Link(host)),
            ..nothing_of(&bridge)
        });
    });
}

#[test]
fn a_bridge_that_is_set_up_later() {
    compare(|side| {
        side.perform(Create::new(
            Host,
            "br0",
            NewKind::Bridge(BridgeChanges::default()),
        ));
        side.show("down");
        let bridge = side.link(Host, "br0");
        side.perform(Update {
            up: Some(true),
            ..nothing_of(&bridge)
        });
    });
}

#[test]
fn what_was_changed_in_the_container_comes_back() {
    compare(|side| {
        let (_, eth0) = pair(side);
        side.perform(Update {
            name: Some("net1".to_owned()),
            mtu: Some(1300),
            txqlen: Some(7),
            promiscuous: Some(true),
            all_multicast: Some(true),
            alias: Some("changed".to_owned()),
            ..nothing_of(&eth0)
        });
        let lo = side.link(Container, "lo");
        side.perform(Update {
            up: Some(true),
            ..nothing_of(&lo)
        });
    });
}

#[test]
fn values_that_no_link_can_have_are_refused() {
    compare(|side| {
        let (host, _) = pair(side);
        for mtu in [0, 67, 68, 65535, 65536] {
            side.perform(Update {
                mtu: Some(mtu),
                ..nothing_of(&host)
            });
        }
        for mac in [vec![], vec![2, 0, 0], vec![0; 6], vec![1, 0, 0, 0, 0, 1]] {
            side.perform(Update {
                mac: Some(Mac(mac)),
                ..nothing_of(&host)
            });
        }
    });
}

#[test]
fn a_link_moves_and_comes_back() {
    compare(|side| {
        let (host, _) = pair(side);
        let lo = side.link(Host, "lo");
        let bridge = bridge(side, "br0");
        let to_container = |link: &LinkFacts, name: &str| Move {
            link: link.clone(),
            to: Container,
            name: name.to_owned(),
            alias: None,
            strands_host: false,
        };
        for (link, name) in [(&lo, "lo1"), (&bridge, "br0"), (&host, "eth0")] {
            side.perform(to_container(link, name));
        }
        side.perform(to_container(&host, "net1"));
        side.show("moved");
        let moved = side.link(Container, "net1");
        side.perform(to_container(&moved, "net1"));
    });
}

#[test]
fn a_link_goes_once_and_its_peer_with_it() {
    compare(|side| {
        let (host, eth0) = pair(side);
        side.perform(Delete { link: eth0.clone() });
        side.perform(Delete { link: host });
        side.perform(nothing_of(&eth0));
        let lo = side.link(Container, "lo");
        side.perform(Delete { link: lo });
    });
}
