//! New links.

use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::Namespace;
use weir_grant::link::{Create, Details, Link, LinkFacts, Mac, NewKind, NewPeer, OperState};
use weir_kernel::inverses::LinkHistory as _;
use weir_kernel::{Changes, Error, Perform, Result, checks};

use super::state::settle;
use super::update::{check_mac, check_mtu, enslave, refused_mac, set_up};
use super::{by_index, by_index_mut, check_free, find};
use crate::kernel::Model;
use crate::state::{Device, Machine};
use crate::sysctl;
use crate::traffic::Traffic;

/// The MTU of what has no lower device, and the longest queue of most.
const MTU: u32 = 1500;
const TXQLEN: u32 = 1000;

impl Perform<Create, Link> for Model {
    fn perform(&mut self, permit: &Permit<Create>, changes: &mut Changes<'_>) -> Result<Link> {
        let wanted = permit.operation();
        let link = self
            .change(|machine| create(machine, wanted))
            .map_err(|e| {
                let (kind, name) = (wanted.kind.word(), &wanted.name);
                let doing = format_args!("create {kind} `{name}` in {}", wanted.namespace);
                refused_mac(e).while_doing(doing)
            })?;
        self.note_created(wanted, &link, changes);
        Ok(link)
    }
}

fn create(machine: &mut Machine, wanted: &Create) -> Result<Link> {
    check(wanted)?;
    let index = match &wanted.kind {
        NewKind::Veth { peer } => pair(machine, wanted, peer)?,
        kind => {
            let lower = lower_of(machine, kind.lower())?;
            put(
                machine,
                wanted.namespace,
                new_device(wanted, lower.as_ref()),
            )?
        }
    };
    let network = machine.state.of(wanted.namespace)?;
    if let Some(master) = &wanted.master {
        enslave(network, index, Some(master.index))?;
    }
    if wanted.up {
        set_up(network, index, true)?;
    }
    settle(&mut machine.state);
    let network = machine.state.of(wanted.namespace)?;
    Ok(by_index(network, index)?.link.clone())
}

fn check(wanted: &Create) -> Result<()> {
    let peer = match &wanted.kind {
        NewKind::Veth { peer } => Some(peer),
        _ => None,
    };
    let may_be_empty = peer.is_some();
    check_name(&wanted.name, may_be_empty)?;
    check_mac(wanted.mac.as_ref())?;
    check_mtu(wanted.mtu)?;
    if let Some(peer) = peer {
        check_name(&peer.name, true)?;
        check_mac(peer.mac.as_ref())?;
        check_mtu(peer.mtu)?;
    }
    match &wanted.master {
        Some(master) if master.namespace != wanted.namespace => {
            Err(Error::invalid("the master is in the other namespace"))
        }
        _ => Ok(()),
    }
}

fn check_name(name: &str, may_be_empty: bool) -> Result<()> {
    if may_be_empty && name.is_empty() {
        return Ok(());
    }
    checks::link_name(name)
}

fn lower_of(machine: &mut Machine, lower: Option<&LinkFacts>) -> Result<Option<Device>> {
    let Some(lower) = lower else {
        return Ok(None);
    };
    let network = machine.state.of(lower.namespace)?;
    Ok(Some(find(network, lower)?.clone()))
}

/// Both ends of a pair of veths. Returns the index of the first.
fn pair(machine: &mut Machine, wanted: &Create, peer: &NewPeer) -> Result<u32> {
    let other = Create {
        mac: peer.mac.clone(),
        mtu: peer.mtu,
        up: peer.up,
        owner: peer.owner.clone(),
        ..Create::new(peer.namespace, &peer.name, wanted.kind.clone())
    };
    let far = put(machine, peer.namespace, new_device(&other, None))?;
    let near = put(machine, wanted.namespace, new_device(wanted, None))?;
    connect(machine, (wanted.namespace, near), (peer.namespace, far))?;
    connect(machine, (peer.namespace, far), (wanted.namespace, near))?;
    if peer.up {
        set_up(machine.state.of(peer.namespace)?, far, true)?;
    }
    Ok(near)
}

fn connect(
    machine: &mut Machine,
    (namespace, index): (Namespace, u32),
    to: (Namespace, u32),
) -> Result<()> {
    let device = by_index_mut(machine.state.of(namespace)?, index)?;
    device.peer = Some(to);
    device.link.lower = Some(to.1);
    Ok(())
}

/// Puts a new device into its namespace, and returns its index.
fn put(machine: &mut Machine, namespace: Namespace, mut device: Device) -> Result<u32> {
    machine.last_index += 1;
    let index = machine.last_index;
    let link = &mut device.link;
    link.index = index;
    if link.name.is_empty() {
        link.name = format!("veth{index:08x}");
    }
    if link.mac.0.is_empty() {
        let [_, _, c, d] = index.to_be_bytes();
        link.mac = Mac(vec![0x02, 0, 0, 0, c, d]);
    }
    let name = link.name.clone();
    let network = machine.state.of(namespace)?;
    check_free(network, &name)?;
    sysctl::add_link(network, &name);
    network.links.push(device);
    Ok(index)
}

/// A device that is down, without index and master.
fn new_device(wanted: &Create, lower: Option<&Device>) -> Device {
    let namespace = wanted.kind.lower().map(|lower| lower.namespace);
    let mtu = lower.map_or(MTU, |lower| lower.link.mtu);
    let alias = wanted.owner.as_ref().or(wanted.alias.as_ref());
    Device {
        link: Link {
            name: wanted.name.clone(),
            kind: wanted.kind.word().to_owned(),
            mac: mac(wanted, lower),
            mtu: wanted.mtu.unwrap_or(mtu),
            txqlen: wanted.txqlen.unwrap_or(default_txqlen(&wanted.kind)),
            oper_state: OperState::Down,
            lower: lower.map(|lower| lower.link.index),
            alias: alias.cloned().unwrap_or_default(),
            details: details(&wanted.kind),
            ..Link::default()
        },
        peer: None,
        lower: namespace.zip(lower.map(|lower| lower.link.index)),
        vlans: super::vlan::of_new(&wanted.kind),
        traffic: Traffic::default(),
        has_own_mtu: wanted.mtu.is_some() && matches!(wanted.kind, NewKind::Bridge(_)),
    }
}

/// Empty for one that is made up.
fn mac(wanted: &Create, lower: Option<&Device>) -> Mac {
    let lowers =
        lower.filter(|_| matches!(wanted.kind, NewKind::Vlan { .. } | NewKind::Ipvlan { .. }));
    let own = wanted.mac.clone();
    own.or_else(|| lowers.map(|lower| lower.link.mac.clone()))
        .unwrap_or_default()
}

fn default_txqlen(kind: &NewKind) -> u32 {
    match kind {
        NewKind::Ifb => 32,
        _ => TXQLEN,
    }
}

fn details(kind: &NewKind) -> Details {
    match kind {
        NewKind::Bridge(settings) => Details::Bridge {
            vlan_filtering: settings.vlan_filtering.unwrap_or(false),
            default_pvid: settings.default_pvid.unwrap_or(1),
        },
        NewKind::Macvlan { mode, .. } => Details::Macvlan(*mode),
        NewKind::Ipvlan { mode, .. } => Details::Ipvlan(*mode),
        NewKind::Vlan { id, .. } => Details::Vlan(*id),
        NewKind::Vrf { table } => Details::Vrf(*table),
        NewKind::Veth { .. } | NewKind::Dummy | NewKind::Tap(_) | NewKind::Ifb => Details::None,
    }
}

/// That something is impossible for a link of its kind.
pub(super) fn unsupported() -> Error {
    Errno::EOPNOTSUPP.into()
}
