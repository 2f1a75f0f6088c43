//! New links.

use super::update::{check_mac, check_mtu, enslave, set_up};
use super::{check_alias, check_free, settle, vlan};
use crate::bindings::fake::error::{Result, error, invalid};
use crate::bindings::fake::state::{Device, Machine, check_name, new_link};
use crate::bindings::fake::{Call, sysctl};
use crate::bindings::weir::cni::link::{Bridge, Details, Link, NewKind, NewLink, NewPeer, NewVlan};
use crate::bindings::weir::cni::types::{ErrorCode, LinkReference, MacAddress, Namespace};

pub fn create(new: &NewLink) -> Result<Link> {
    let text = match &new.kind {
        NewKind::Veth(peer) => {
            let namespace = crate::bindings::fake::state::word(peer.namespace);
            format!("veth {} peer {namespace} {}", new.name, peer.name)
        }
        kind => format!("{} {}", word(kind), new.name),
    };
    let call = Call::of("link.create").within(new.namespace).with(text);
    call.run(|machine| create_on(machine, new))
}

fn create_on(machine: &mut Machine, new: &NewLink) -> Result<Link> {
    check(new)?;
    let index = match &new.kind {
        NewKind::Veth(peer) => pair(machine, new, peer)?,
        kind => {
            let device = match lower_of(kind) {
                None => device(new),
                Some((namespace, link)) => {
                    let lower = machine.look(namespace)?.find(link)?.clone();
                    check_beside(machine, kind, (namespace, lower.link.index))?;
                    upper(new, namespace, &lower)
                }
            };
            put(machine, new.namespace, device)?
        }
    };
    mark(machine, new.namespace, index, is_shared(new))?;
    let network = machine.network(new.namespace)?;
    if let Some(master) = &new.master {
        let master = network.index(master)?;
        enslave(network, index, Some(master))?;
    }
    if new.up {
        set_up(network, index, true)?;
    }
    settle::all(machine);
    Ok(machine.look(new.namespace)?.device(index)?.link.clone())
}

fn check(new: &NewLink) -> Result<()> {
    check_alias(new.namespace, new.alias.as_ref())?;
    let peer = match &new.kind {
        NewKind::Veth(peer) => Some(peer),
        _ => None,
    };
    if !(peer.is_some() && new.name.is_empty()) {
        check_name(&new.name)?;
    }
    check_mac(new.mac.as_ref())?;
    check_mtu(new.mtu)?;
    if let Some(peer) = peer {
        if !peer.name.is_empty() {
            check_name(&peer.name)?;
        }
        check_mac(peer.mac.as_ref())?;
        check_mtu(peer.mtu)?;
    }
    match &new.kind {
        NewKind::Vlan(NewVlan { id, .. }) if !(1..=4094).contains(id) => {
            Err(invalid(format!("VLAN id {id}: expected 1 to 4094")))
        }
        _ => Ok(()),
    }
}

/// Whether all attachments to a network share the link: a bridge, and a pair with both ends on the host.
fn is_shared(new: &NewLink) -> bool {
    match &new.kind {
        NewKind::Bridge(_) => true,
        NewKind::Veth(peer) => {
            (new.namespace, peer.namespace) == (Namespace::Host, Namespace::Host)
        }
        _ => false,
    }
}

/// Gives a link on the host the mark of its owner, as weir does.
fn mark(machine: &mut Machine, namespace: Namespace, index: u32, is_shared: bool) -> Result<()> {
    if namespace == Namespace::Host {
        let marks = &machine.marks;
        let mark = if is_shared {
            &marks.network
        } else {
            &marks.attachment
        };
        let mark = mark.clone();
        machine.host.device_mut(index)?.link.alias = mark;
    }
    Ok(())
}

/// Both ends of a pair. Returns the index of the first.
fn pair(machine: &mut Machine, new: &NewLink, peer: &NewPeer) -> Result<u32> {
    let other = NewLink {
        mac: peer.mac.clone(),
        mtu: peer.mtu,
        ..NewLink::new(peer.namespace, &peer.name, new.kind.clone())
    };
    let far = put(machine, peer.namespace, device(&other))?;
    let near = put(machine, new.namespace, device(new))?;
    connect(machine, (new.namespace, near), (peer.namespace, far))?;
    connect(machine, (peer.namespace, far), (new.namespace, near))?;
    mark(machine, peer.namespace, far, is_shared(new))?;
    if peer.up {
        set_up(machine.network(peer.namespace)?, far, true)?;
    }
    Ok(near)
}

fn connect(machine: &mut Machine, end: (Namespace, u32), to: (Namespace, u32)) -> Result<()> {
    let device = machine.network(end.0)?.device_mut(end.1)?;
    device.peer = Some(to);
    device.link.lower = Some(to.1);
    Ok(())
}

/// Puts a new device into its namespace, and returns its index. Errors: `exists`.
fn put(machine: &mut Machine, namespace: Namespace, mut device: Device) -> Result<u32> {
    machine.last_index += 1;
    let index = machine.last_index;
    let link = &mut device.link;
    link.index = index;
    if link.name.is_empty() {
        link.name = format!("veth{index}");
    }
    if link.mac.is_empty() {
        let [.., high, low] = index.to_be_bytes();
        link.mac = vec![0x02, 0, 0, 0, high, low];
    }
    let network = machine.network(namespace)?;
    check_free(network, &link.name)?;
    sysctl::add_link(network, &link.name);
    network.links.push(device);
    Ok(index)
}

/// A device that is down, without index and master.
fn device(new: &NewLink) -> Device {
    let mut device = Device::new(Link {
        mtu: new.mtu.unwrap_or(1500),
        txqlen: new.txqlen.unwrap_or(default_txqlen(&new.kind)),
        alias: new.alias.clone().unwrap_or_default(),
        details: details(&new.kind),
        ..new_link(&new.name, word(&new.kind), MacAddress::new())
    });
    device.link.mac = new.mac.clone().unwrap_or_default();
    device.has_own_mtu = new.mtu.is_some() && device.is_bridge();
    device.vlans = vlan::of_bridge(&device.link.details);
    device
}

/// Fails for a second VLAN of one id on a lower device, and for an ipvlan of another mode than those that are there.
fn check_beside(machine: &Machine, kind: &NewKind, lower: (Namespace, u32)) -> Result<()> {
    let networks = [Some(&machine.host), machine.container.as_ref()];
    let all = networks
        .into_iter()
        .flatten()
        .flat_map(|network| &network.links);
    let mut beside = all.filter(|device| device.lower == Some(lower));
    match kind {
        NewKind::Vlan(new) => beside.try_for_each(|device| match device.link.details {
            Details::Vlan(id) if id == new.id => {
                Err(error(ErrorCode::Exists, "VLAN device already exists"))
            }
            _ => Ok(()),
        }),
        NewKind::Ipvlan(new) => beside.try_for_each(|device| match device.link.details {
            Details::Ipvlan(mode) if mode != new.mode => Err(error(
                ErrorCode::Busy,
                "the device has ipvlan links in another mode",
            )),
            _ => Ok(()),
        }),
        _ => Ok(()),
    }
}

/// The same on a lower device, whose MTU it takes, and whose MAC unless it has one of its own.
fn upper(new: &NewLink, namespace: Namespace, lower: &Device) -> Device {
    let mut device = device(new);
    device.link.mtu = new.mtu.unwrap_or(lower.link.mtu);
    device.link.lower = Some(lower.link.index);
    device.lower = Some((namespace, lower.link.index));
    if new.mac.is_none() && !matches!(new.kind, NewKind::Macvlan(_)) {
        device.link.mac.clone_from(&lower.link.mac);
    }
    device
}

fn lower_of(kind: &NewKind) -> Option<(Namespace, &LinkReference)> {
    match kind {
        NewKind::Macvlan(new) => Some((new.lower_namespace, &new.lower)),
        NewKind::Ipvlan(new) => Some((new.lower_namespace, &new.lower)),
        NewKind::Vlan(new) => Some((new.lower_namespace, &new.lower)),
        _ => None,
    }
}

fn default_txqlen(kind: &NewKind) -> u32 {
    if matches!(kind, NewKind::Ifb) {
        32
    } else {
        1000
    }
}

fn details(kind: &NewKind) -> Details {
    match kind {
        NewKind::Bridge(new) => Details::Bridge(Bridge {
            vlan_filtering: new.vlan_filtering.unwrap_or(false),
            default_pvid: new.default_pvid.unwrap_or(1),
        }),
        NewKind::Macvlan(new) => Details::Macvlan(new.mode),
        NewKind::Ipvlan(new) => Details::Ipvlan(new.mode),
        NewKind::Vlan(new) => Details::Vlan(new.id),
        NewKind::Vrf(table) => Details::Vrf(*table),
        NewKind::Veth(_) | NewKind::Dummy | NewKind::Tap(_) | NewKind::Ifb => Details::None,
    }
}

/// The kind as the kernel reports it.
fn word(kind: &NewKind) -> &'static str {
    match kind {
        NewKind::Veth(_) => "veth",
        NewKind::Bridge(_) => "bridge",
        NewKind::Macvlan(_) => "macvlan",
        NewKind::Ipvlan(_) => "ipvlan",
        NewKind::Vlan(_) => "vlan",
        NewKind::Dummy => "dummy",
        NewKind::Tap(_) => "tun",
        NewKind::Vrf(_) => "vrf",
        NewKind::Ifb => "ifb",
    }
}
