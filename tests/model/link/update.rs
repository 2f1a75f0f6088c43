//! Changes of links.

use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::link::{
    Details, Link, LinkFacts, Mac, NewMaster, Port, Update, UpdateBridge, UpdatePort,
};
use weir_kernel::inverses::LinkHistory as _;
use weir_kernel::{Answer, Changes, Code, Error, Perform, Result, WhileDoing as _, checks};

use super::create::unsupported;
use super::state::settle;
use super::{by_index, by_index_mut, check_free, find};
use crate::kernel::Model;
use crate::state::{Machine, NetworkState};
use crate::{address, route, sysctl};

impl Perform<Update> for Model {
    fn perform(&mut self, permit: &Permit<Update>, changes: &mut Changes<'_>) -> Result<()> {
        let wanted = permit.operation();
        let act = |machine: &mut Machine| {
            let doing = format_args!("update {}", wanted.link);
            update(machine, wanted).map_err(|e| refused_mac(e).while_doing(doing))
        };
        self.change_link(&wanted.link, act, |model, before, outcome| {
            model.note_update(wanted, before, outcome, changes);
        })
    }
}

impl Model {
    /// Changes a link, and has what it was before noted, if it is there.
    fn change_link(
        &mut self,
        link: &LinkFacts,
        act: impl FnOnce(&mut Machine) -> Result<()>,
        note: impl FnOnce(&mut Self, &Link, &Result<()>),
    ) -> Result<()> {
        let before = self.before(link);
        let outcome = self.change(act);
        if let Some(before) = before {
            note(self, &before, &outcome);
        }
        outcome
    }
}

fn update(machine: &mut Machine, wanted: &Update) -> Result<()> {
    check(wanted)?;
    let network = machine.state.of(wanted.link.namespace)?;
    let index = find(network, &wanted.link)?.link.index;
    set_plain(network, index, wanted)?;
    if let Some(name) = &wanted.name {
        rename(network, index, name)?;
    }
    match &wanted.master {
        None => {}
        Some(NewMaster::None) => enslave(network, index, None)?,
        Some(NewMaster::Link(master)) => enslave(network, index, Some(master.index))?,
    }
    if let Some(up) = wanted.up {
        set_up(network, index, up)?;
    }
    settle(&mut machine.state);
    Ok(())
}

fn check(wanted: &Update) -> Result<()> {
    wanted.name.as_deref().map_or(Ok(()), checks::link_name)?;
    if let Some(NewMaster::Link(master)) = &wanted.master
        && master.namespace != wanted.link.namespace
    {
        return Err(Error::invalid("the master is in the other namespace"));
    }
    check_mac(wanted.mac.as_ref())?;
    check_mtu(wanted.mtu)
}

/// Fails for what is not the address of one interface. Errors: `Invalid`.
pub(super) fn check_mac(mac: Option<&Mac>) -> Result<()> {
    let Some(Mac(bytes)) = mac else {
        return Ok(());
    };
    let is_group = bytes.first().is_some_and(|first| first & 1 != 0);
    if bytes.len() != 6 {
        Err(Errno::EINVAL.into())
    } else if is_group || bytes.iter().all(|byte| *byte == 0) {
        Err(Errno::EADDRNOTAVAIL.into())
    } else {
        Ok(())
    }
}

/// Errors: `Invalid`.
pub(super) fn check_mtu(mtu: Option<u32>) -> Result<()> {
    match mtu {
        Some(mtu) if !(68..=65535).contains(&mtu) => Err(Errno::EINVAL.into()),
        _ => Ok(()),
    }
}

/// For a link, "cannot assign requested address" is about its MAC.
pub(super) fn refused_mac(error: Error) -> Error {
    match error.errno {
        Some(Errno::EADDRNOTAVAIL) => error.with_code(Code::Invalid),
        _ => error,
    }
}

/// What has no consequences.
fn set_plain(network: &mut NetworkState, index: u32, wanted: &Update) -> Result<()> {
    let device = by_index_mut(network, index)?;
    device.has_own_mtu |= wanted.mtu.is_some() && device.link.kind == "bridge";
    let link = &mut device.link;
    set(&mut link.mac, wanted.mac.as_ref());
    set(&mut link.mtu, wanted.mtu.as_ref());
    set(&mut link.txqlen, wanted.txqlen.as_ref());
    set(&mut link.promiscuous, wanted.promiscuous.as_ref());
    set(&mut link.all_multicast, wanted.all_multicast.as_ref());
    set(
        &mut link.alias,
        wanted.owner.as_ref().or(wanted.alias.as_ref()),
    );
    Ok(())
}

fn set<T: Clone>(attribute: &mut T, value: Option<&T>) {
    if let Some(value) = value {
        attribute.clone_from(value);
    }
}

/// Gives a link another name, and its parameters with it.
pub(super) fn rename(network: &mut NetworkState, index: u32, name: &str) -> Result<()> {
    let former = by_index(network, index)?.link.name.clone();
    if former == name {
        return Ok(());
    }
    check_free(network, name)?;
    by_index_mut(network, index)?.link.name = name.to_owned();
    sysctl::rename_link(network, &former, name);
    Ok(())
}

/// Makes a link the port of a master, or of none.
pub(super) fn enslave(network: &mut NetworkState, index: u32, master: Option<u32>) -> Result<()> {
    if by_index(network, index)?.link.master == master {
        return Ok(());
    }
    let details = master
        .map(|master| check_master(network, index, master))
        .transpose()?;
    let vlans = super::vlan::of_port(details.as_ref());
    let device = by_index_mut(network, index)?;
    device.link.master = master;
    device.link.port = matches!(details, Some(Details::Bridge { .. })).then(Port::default);
    device.vlans = vlans;
    Ok(())
}

fn check_master(network: &NetworkState, port: u32, master: u32) -> Result<Details> {
    // To the kernel, a master that is not there is a wrong argument.
    let found = by_index(network, master).map_err(|_| Errno::EINVAL)?;
    let port = &by_index(network, port)?.link;
    match (&found.link.details, port.kind.as_str()) {
        (Details::Bridge { .. }, "bridge") => Err(Errno::ELOOP.into()),
        (Details::Bridge { .. }, "loopback") => Err(Errno::EINVAL.into()),
        (details @ (Details::Bridge { .. } | Details::Vrf(_)), _) => Ok(details.clone()),
        _ => Err(unsupported()),
    }
}

/// Sets a link up or down. Down, it loses its routes, its neighbours and its IPv6 addresses.
pub(super) fn set_up(network: &mut NetworkState, index: u32, up: bool) -> Result<()> {
    let device = by_index_mut(network, index)?;
    let was_up = std::mem::replace(&mut device.link.up, up);
    match (was_up, up) {
        (false, true) => {
            address::add_loopback(network, index);
            route::of_link_up(network, index);
        }
        (true, false) => {
            route::drop_of_link(network, index);
            address::drop_ipv6(network, index);
            network.neighbours.retain(|(link, _)| *link != index);
        }
        _ => {}
    }
    Ok(())
}

impl Perform<UpdatePort> for Model {
    fn perform(&mut self, permit: &Permit<UpdatePort>, changes: &mut Changes<'_>) -> Result<()> {
        let wanted = permit.operation();
        let doing = format_args!("change a bridge port's flags of {}", wanted.link);
        let act = |machine: &mut Machine| update_port(machine, wanted).while_doing(doing);
        self.change_link(&wanted.link, act, |model, before, outcome| {
            model.note_port(wanted, before, outcome, changes);
        })
    }
}

fn update_port(machine: &mut Machine, wanted: &UpdatePort) -> Result<()> {
    let network = machine.state.of(wanted.link.namespace)?;
    let device = by_index_mut(network, wanted.link.index)?;
    let port = device.link.port.as_mut();
    let port = port.ok_or_else(|| Error::invalid("it is not a bridge's port"))?;
    set(&mut port.hairpin, wanted.hairpin.as_ref());
    set(&mut port.isolated, wanted.isolated.as_ref());
    Ok(())
}

impl Answer<UpdateBridge> for Model {
    fn answer(&mut self, permit: &Permit<UpdateBridge>) -> Result<()> {
        let UpdateBridge { link, changes } = permit.operation();
        self.change(|machine| {
            let network = machine.state.of(link.namespace)?;
            let details = match link.kind.as_str() {
                "bridge" => &mut by_index_mut(network, link.index)?.link.details,
                _ => return Err(Error::invalid(format!("{link} is not a bridge"))),
            };
            if let Details::Bridge {
                vlan_filtering,
                default_pvid,
            } = details
            {
                set(vlan_filtering, changes.vlan_filtering.as_ref());
                set(default_pvid, changes.default_pvid.as_ref());
            }
            Ok(())
        })
    }
}
