//! What follows from the settings of links: whether they are connected, and the MTU of bridges.

use crate::bindings::fake::state::{BOTH, Device, Machine};
use crate::bindings::weir::cni::link::{Link, OperState};
use crate::bindings::weir::cni::types::Namespace;

/// Brings what follows from other links up to date: of bridges last, after their ports.
pub(super) fn all(machine: &mut Machine) {
    for is_bridge in [false, true] {
        for namespace in BOTH {
            let Ok(network) = machine.look(namespace) else {
                continue;
            };
            let devices = network.links.iter();
            let devices = devices.filter(|device| device.is_bridge() == is_bridge);
            let settled = devices.map(|device| {
                let state = oper_state(machine, namespace, device);
                (device.link.index, state, mtu(machine, namespace, device))
            });
            let settled: Vec<(u32, OperState, u32)> = settled.collect();
            for (index, state, mtu) in settled {
                let network = machine.network(namespace);
                if let Ok(device) = network.and_then(|network| network.device_mut(index)) {
                    device.link.oper_state = state;
                    device.link.mtu = mtu;
                }
            }
        }
    }
}

fn oper_state(machine: &Machine, namespace: Namespace, device: &Device) -> OperState {
    if !device.link.up {
        return OperState::Down;
    }
    match (&*device.link.kind, device.peer.or(device.lower)) {
        ("bridge", _) if has_live_port(machine, namespace, device) => OperState::Up,
        ("bridge" | "tun", _) => OperState::Down,
        ("vrf", _) => OperState::Up,
        (_, None) => OperState::Unknown,
        (_, Some(under)) if is_up(machine, under) => OperState::Up,
        _ => OperState::LowerLayerDown,
    }
}

fn is_up(machine: &Machine, (namespace, index): (Namespace, u32)) -> bool {
    let network = machine.look(namespace);
    let device = network.and_then(|network| network.device(index));
    device.is_ok_and(|device| device.link.up)
}

fn has_live_port(machine: &Machine, namespace: Namespace, bridge: &Device) -> bool {
    let is_live = |port: &Link| matches!(port.oper_state, OperState::Up | OperState::Unknown);
    ports(machine, namespace, bridge).any(is_live)
}

/// A bridge takes the least MTU of its ports, unless somebody has given it one.
fn mtu(machine: &Machine, namespace: Namespace, device: &Device) -> u32 {
    if !device.is_bridge() || device.has_own_mtu {
        return device.link.mtu;
    }
    let mtus = ports(machine, namespace, device).map(|port| port.mtu);
    mtus.min().unwrap_or(1500)
}

fn ports<'a>(
    machine: &'a Machine,
    namespace: Namespace,
    bridge: &Device,
) -> impl Iterator<Item = &'a Link> {
    let master = Some(bridge.link.index);
    let network = machine.look(namespace).into_iter();
    let links = network.flat_map(|network| &network.links);
    let links = links.map(|device| &device.link);
    links.filter(move |port| port.master == master)
}
