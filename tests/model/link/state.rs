//! What follows from the links' settings: whether they are connected, and the MTU of bridges.

use weir_grant::Namespace;
use weir_grant::link::{Link, Mac, OperState};

use crate::state::{Device, State};
use crate::traffic::Traffic;

/// The link that every namespace has.
pub(crate) fn loopback() -> Device {
    Device {
        link: Link {
            index: 1,
            name: "lo".to_owned(),
            kind: "loopback".to_owned(),
            mac: Mac(vec![0; 6]),
            mtu: 65536,
            txqlen: 1000,
            oper_state: OperState::Down,
            ..Link::default()
        },
        peer: None,
        lower: None,
        vlans: Vec::new(),
        traffic: Traffic::default(),
        has_own_mtu: false,
    }
}

/// Brings up to date what follows from other links.
pub(super) fn settle(state: &mut State) {
    // Bridges come after their ports.
    for is_bridge in [false, true] {
        for namespace in [Namespace::Host, Namespace::Container] {
            settle_in(state, namespace, is_bridge);
        }
    }
}

fn settle_in(state: &mut State, namespace: Namespace, is_bridge: bool) {
    let Some(network) = state.network(namespace) else {
        return;
    };
    let count = network.links.len();
    for at in 0..count {
        let Some(device) = state
            .network(namespace)
            .and_then(|n| n.links.get(at))
            .cloned()
        else {
            continue;
        };
        if (device.link.kind == "bridge") != is_bridge {
            continue;
        }
        let oper_state = oper_state(state, namespace, &device);
        let mtu = mtu(state, namespace, &device);
        if let Some(device) = state.network(namespace).and_then(|n| n.links.get_mut(at)) {
            device.link.oper_state = oper_state;
            device.link.mtu = mtu;
        }
    }
}

fn oper_state(state: &mut State, namespace: Namespace, device: &Device) -> OperState {
    if !device.link.up {
        return OperState::Down;
    }
    let under = device.peer.or(device.lower);
    match device.link.kind.as_str() {
        "bridge" if has_live_port(state, namespace, device) => OperState::Up,
        "bridge" | "tun" => OperState::Down,
        "vrf" => OperState::Up,
        _ if under.is_none() => OperState::Unknown,
        _ if is_under_up(state, device) => OperState::Up,
        _ => OperState::LowerLayerDown,
    }
}

fn is_under_up(state: &mut State, device: &Device) -> bool {
    let Some((namespace, index)) = device.peer.or(device.lower) else {
        return false;
    };
    let network = state.network(namespace);
    let mut links = network.into_iter().flat_map(|network| &network.links);
    links.any(|under| under.link.index == index && under.link.up)
}

fn has_live_port(state: &mut State, namespace: Namespace, bridge: &Device) -> bool {
    let is_live = |port: &Link| matches!(port.oper_state, OperState::Up | OperState::Unknown);
    ports(state, namespace, bridge).iter().any(is_live)
}

/// A bridge takes the least MTU of its ports, unless somebody has given it one.
fn mtu(state: &mut State, namespace: Namespace, device: &Device) -> u32 {
    if device.link.kind != "bridge" || device.has_own_mtu {
        return device.link.mtu;
    }
    let ports = ports(state, namespace, device);
    ports.iter().map(|port| port.mtu).min().unwrap_or(1500)
}

fn ports(state: &mut State, namespace: Namespace, bridge: &Device) -> Vec<Link> {
    let network = state.network(namespace);
    let links = network.into_iter().flat_map(|network| &network.links);
    let ports = links.filter(|port| port.link.master == Some(bridge.link.index));
    ports.map(|port| port.link.clone()).collect()
}
