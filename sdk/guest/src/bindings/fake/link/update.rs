//! Changes of links.

use super::{check_alias, check_free, settle, vlan};
use crate::bindings::OperationError;
use crate::bindings::fake::error::{
    EADDRNOTAVAIL, EINVAL, ELOOP, EOPNOTSUPP, Result, invalid, refuse,
};
use crate::bindings::fake::state::{Machine, Network, check_name};
use crate::bindings::fake::{Call, address, route, sysctl};
use crate::bindings::weir::cni::link::{
    BridgeChanges, Changes, Details, NewMaster, Port, PortChanges,
};
use crate::bindings::weir::cni::types::{ErrorCode, LinkReference, MacAddress, Namespace};

pub fn update(namespace: Namespace, link: &LinkReference, changes: &Changes) -> Result<()> {
    let call = Call::of("link.update").on(namespace, link);
    call.with(shown(changes))
        .run(|machine| update_on(machine, namespace, link, changes))
}

/// What changes, in words.
fn shown(changes: &Changes) -> String {
    fn word<T: std::fmt::Debug>(key: &str, value: Option<T>) -> Option<String> {
        value.map(|value| format!("{key}={value:?}"))
    }
    let master = changes.master.as_ref().map(|master| match master {
        NewMaster::None => "none".to_owned(),
        NewMaster::Link(LinkReference::Name(name)) => name.clone(),
        NewMaster::Link(LinkReference::Index(index)) => format!("#{index}"),
    });
    let mac = changes.mac.as_deref().and_then(weir_cni::Mac::from_bytes);
    let words = [
        word("name", changes.name.as_ref()),
        word("up", changes.up),
        mac.map(|mac| format!("mac={mac}")),
        word("mtu", changes.mtu),
        word("txqlen", changes.txqlen),
        word("promiscuous", changes.promiscuous),
        word("all-multicast", changes.all_multicast),
        word("alias", changes.alias.as_ref()),
        word("master", master),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn update_on(
    machine: &mut Machine,
    namespace: Namespace,
    link: &LinkReference,
    changes: &Changes,
) -> Result<()> {
    check_alias(namespace, changes.alias.as_ref())?;
    changes.name.as_deref().map_or(Ok(()), check_name)?;
    check_mac(changes.mac.as_ref())?;
    check_mtu(changes.mtu)?;
    let network = machine.network(namespace)?;
    let index = network.index(link)?;
    let master = match &changes.master {
        None => None,
        Some(NewMaster::None) => Some(None),
        Some(NewMaster::Link(master)) => Some(Some(network.index(master)?)),
    };
    set_plain(network, index, changes)?;
    if let Some(name) = &changes.name {
        rename(network, index, name)?;
    }
    if let Some(master) = master {
        enslave(network, index, master)?;
    }
    if let Some(up) = changes.up {
        set_up(network, index, up)?;
    }
    settle::all(machine);
    Ok(())
}

/// Fails for what is not the address of one interface. Errors: `invalid`.
pub(super) fn check_mac(mac: Option<&MacAddress>) -> Result<()> {
    let Some(mac) = mac else {
        return Ok(());
    };
    let is_group = mac.first().is_some_and(|first| first & 1 != 0);
    if mac.len() != 6 {
        refuse(EINVAL)
    } else if is_group || mac.iter().all(|byte| *byte == 0) {
        Err(OperationError {
            code: ErrorCode::Invalid,
            ..EADDRNOTAVAIL.into()
        })
    } else {
        Ok(())
    }
}

/// Errors: `invalid`.
pub(super) fn check_mtu(mtu: Option<u32>) -> Result<()> {
    match mtu {
        Some(mtu) if !(68..=65535).contains(&mtu) => refuse(EINVAL),
        _ => Ok(()),
    }
}

/// What has no consequences.
fn set_plain(network: &mut Network, index: u32, changes: &Changes) -> Result<()> {
    let device = network.device_mut(index)?;
    device.has_own_mtu |= changes.mtu.is_some() && device.is_bridge();
    let link = &mut device.link;
    set(&mut link.mac, changes.mac.as_ref());
    set(&mut link.mtu, changes.mtu.as_ref());
    set(&mut link.txqlen, changes.txqlen.as_ref());
    set(&mut link.promiscuous, changes.promiscuous.as_ref());
    set(&mut link.all_multicast, changes.all_multicast.as_ref());
    set(&mut link.alias, changes.alias.as_ref());
    Ok(())
}

fn set<T: Clone>(attribute: &mut T, value: Option<&T>) {
    if let Some(value) = value {
        attribute.clone_from(value);
    }
}

/// Gives a link another name, and its parameters with it.
fn rename(network: &mut Network, index: u32, name: &str) -> Result<()> {
    let former = network.device(index)?.link.name.clone();
    if former == name {
        return Ok(());
    }
    check_free(network, name)?;
    network.device_mut(index)?.link.name = name.to_owned();
    sysctl::rename_link(network, &former, name);
    Ok(())
}

/// Makes a link the port of a master, or of none.
pub(super) fn enslave(network: &mut Network, index: u32, master: Option<u32>) -> Result<()> {
    if network.device(index)?.link.master == master {
        return Ok(());
    }
    let details = match master {
        None => Details::None,
        Some(master) => details_of_master(network, index, master)?,
    };
    let device = network.device_mut(index)?;
    device.link.master = master;
    device.link.port = matches!(details, Details::Bridge(_)).then_some(Port {
        hairpin: false,
        isolated: false,
    });
    device.vlans = vlan::of_bridge(&details);
    Ok(())
}

fn details_of_master(network: &Network, port: u32, master: u32) -> Result<Details> {
    let master = &network.device(master)?.link;
    let port = &network.device(port)?.link;
    match (master.details, &*port.kind) {
        (Details::Bridge(_), "bridge") => refuse(ELOOP),
        (Details::Bridge(_), "loopback") => refuse(EINVAL),
        (details @ (Details::Bridge(_) | Details::Vrf(_)), _) => Ok(details),
        _ => refuse(EOPNOTSUPP),
    }
}

/// Sets a link up or down. Down, it loses its routes, its neighbours and its IPv6 addresses.
pub(super) fn set_up(network: &mut Network, index: u32, up: bool) -> Result<()> {
    let link = &mut network.device_mut(index)?.link;
    let was_up = std::mem::replace(&mut link.up, up);
    let is_loopback = link.kind == "loopback";
    if up && !was_up {
        if is_loopback {
            address::add_loopback(network, index);
        }
        route::of_link_up(network, index);
    } else if was_up && !up {
        route::drop_of_link(network, index);
        sysctl::drop_ipv6(network, index);
        network.neighbours.retain(|(link, _)| *link != index);
    }
    Ok(())
}

pub fn update_port(namespace: Namespace, link: &LinkReference, changes: PortChanges) -> Result<()> {
    let call = Call::of("link.update-port").on(namespace, link);
    let text = format!(
        "hairpin={:?} isolated={:?}",
        changes.hairpin, changes.isolated
    );
    call.with(text).run(|machine| {
        let network = machine.network(namespace)?;
        let index = network.index(link)?;
        let port = network.device_mut(index)?.link.port.as_mut();
        let port = port.ok_or_else(|| invalid("it is not a bridge's port"))?;
        set(&mut port.hairpin, changes.hairpin.as_ref());
        set(&mut port.isolated, changes.isolated.as_ref());
        Ok(())
    })
}

pub fn update_bridge(
    namespace: Namespace,
    link: &LinkReference,
    changes: BridgeChanges,
) -> Result<()> {
    let call = Call::of("link.update-bridge").on(namespace, link);
    call.with(format_args!("{changes:?}").to_string())
        .run(|machine| {
            let network = machine.network(namespace)?;
            let index = network.index(link)?;
            let Details::Bridge(bridge) = &mut network.device_mut(index)?.link.details else {
                return Err(invalid("it is not a bridge"));
            };
            set(&mut bridge.vlan_filtering, changes.vlan_filtering.as_ref());
            set(&mut bridge.default_pvid, changes.default_pvid.as_ref());
            Ok(())
        })
}
