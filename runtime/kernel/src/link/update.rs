//! Changes of a link, each in one message.

use netlink_packet_core::DefaultNla;
use netlink_packet_route::link::{
    InfoKind, LinkAttribute, LinkFlags, LinkMessage, LinkProtoInfoBridge,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::Namespace;
use weir_grant::link::{
    BridgeChanges, Details, LinkFacts, NewMaster, Update, UpdateBridge, UpdatePort,
};

use super::message::{bridge_data, info, refused_mac};
use super::undo::LinkHistory as _;
use super::{about, by_index};
use crate::error::{Code, Error, Result, WhileDoing as _};
use crate::linux::Linux;
use crate::namespace::{Namespaces, NetworkNamespace};
use crate::perform::{Answer, Changes, Perform};

/// `IFLA_BRPORT_MODE`: hairpin.
const PORT_HAIRPIN: u16 = 4;
/// `IFLA_BRPORT_ISOLATED`.
const PORT_ISOLATED: u16 = 33;

/// Changes attributes. Errors: `NotFound`, `Exists` for a taken name, `Invalid`, `Busy` for a new
/// name of a link that is up, on kernels before 6.2.
impl Perform<Update> for Linux {
    fn perform(&mut self, permit: &Permit<Update>, changes: &mut Changes<'_>) -> Result<()> {
        let update = permit.operation();
        let link = &update.link;
        let before = self.before(link);
        let outcome = send_update(&mut self.namespaces, update)
            .map_err(|e| refused_mac(e).while_doing(format_args!("update {link}")));
        if let Some(before) = before {
            self.note_update(update, &before, &outcome, changes);
        }
        outcome
    }
}

fn send_update(namespaces: &mut Namespaces, changes: &Update) -> Result<()> {
    let namespace = namespaces.of(changes.link.namespace)?;
    let message = update_message(changes)?;
    let sent = namespace.change_link(message);
    sent.map_err(|error| match &changes.name {
        Some(name) if error.is(Errno::EEXIST) => namespace.name_taken(name),
        _ => error,
    })
}

fn update_message(changes: &Update) -> Result<LinkMessage> {
    let mut message = by_index(changes.link.index);
    set_flag(&mut message, LinkFlags::Up, changes.up);
    set_flag(&mut message, LinkFlags::Promisc, changes.promiscuous);
    set_flag(&mut message, LinkFlags::Allmulti, changes.all_multicast);
    let master = changes
        .master
        .as_ref()
        .map(|m| master_index(m, changes.link.namespace));
    let attributes = [
        changes.name.clone().map(LinkAttribute::IfName),
        changes
            .mac
            .as_ref()
            .map(|mac| LinkAttribute::Address(mac.0.clone())),
        changes.mtu.map(LinkAttribute::Mtu),
        changes.txqlen.map(LinkAttribute::TxQueueLen),
        changes
            .owner
            .as_ref()
            .or(changes.alias.as_ref())
            .map(|alias| alias_attribute(alias)),
        master.transpose()?.map(LinkAttribute::Controller),
    ];
    message.attributes.extend(attributes.into_iter().flatten());
    Ok(message)
}

/// The index for `IFLA_MASTER`; 0 releases a port.
fn master_index(master: &NewMaster, namespace: Namespace) -> Result<u32> {
    match master {
        NewMaster::None => Ok(0),
        NewMaster::Link(master) if master.namespace == namespace => Ok(master.index),
        NewMaster::Link(master) => Err(Error::invalid(format!(
            "the master, {master}, is in the other namespace"
        ))),
    }
}

fn set_flag(message: &mut LinkMessage, flag: LinkFlags, wanted: Option<bool>) {
    if let Some(on) = wanted {
        message.header.flags.set(flag, on);
        message.header.change_mask.insert(flag);
    }
}

/// `IFLA_IFALIAS`, without the NUL that the kernel would store as part of it. An empty one
/// removes the alias.
pub(super) fn alias_attribute(alias: &str) -> LinkAttribute {
    const IFLA_IFALIAS: u16 = 20;
    LinkAttribute::Other(DefaultNla::new(IFLA_IFALIAS, alias.as_bytes().to_vec()))
}

/// Sets a link's address on the wire. Errors: `Busy` and `Unsupported` for a link that does not let
/// it be set while it is up, or at all.
pub(crate) fn set_address(
    namespace: &mut NetworkNamespace,
    link: &LinkFacts,
    mac: &[u8],
) -> Result<()> {
    namespace.change_link(about(link.index, [LinkAttribute::Address(mac.to_vec())]))
}

/// Changes a bridge port's flags. Errors: `NotFound`; `Invalid` if it is not a bridge's port.
impl Perform<UpdatePort> for Linux {
    fn perform(&mut self, permit: &Permit<UpdatePort>, changes: &mut Changes<'_>) -> Result<()> {
        let update = permit.operation();
        let before = self.before(&update.link);
        let outcome = send_port_update(&mut self.namespaces, update);
        if let Some(before) = before {
            self.note_port(update, &before, &outcome, changes);
        }
        outcome
    }
}

fn send_port_update(namespaces: &mut Namespaces, update: &UpdatePort) -> Result<()> {
    let link = &update.link;
    let flag = |kind, on: bool| LinkProtoInfoBridge::Other(DefaultNla::new(kind, vec![on.into()]));
    let hairpin = update.hairpin.map(|on| flag(PORT_HAIRPIN, on));
    let isolated = update.isolated.map(|on| flag(PORT_ISOLATED, on));
    let flags = hairpin.into_iter().chain(isolated).collect();
    let mut message = about(link.index, [LinkAttribute::ProtoInfoBridge(flags)]);
    // Addressed to bridges: to other kinds of masters these attributes mean something else.
    message.header.interface_family = AddressFamily::Bridge;
    let changed = namespaces.of(link.namespace)?.change_link(message);
    changed.map_err(|error| {
        let error = match error.code {
            Code::Unsupported => Error::invalid(format!("{link} is not a bridge's port")),
            _ => error,
        };
        error.while_doing("change a bridge port's flags")
    })
}

/// Changes a bridge's settings. Errors: `NotFound`; `Invalid` if it is not a bridge; `Unsupported`
/// if the kernel has no bridge VLAN filtering.
impl Answer<UpdateBridge> for Linux {
    fn answer(&mut self, permit: &Permit<UpdateBridge>) -> Result<()> {
        let UpdateBridge { link, changes } = permit.operation();
        if link.kind != "bridge" {
            return Err(Error::invalid(format!("{link} is not a bridge")));
        }
        let Some(data) = bridge_data(changes) else {
            return Ok(());
        };
        let message = about(link.index, [info(InfoKind::Bridge, Some(data))]);
        let namespace = self.namespaces.of(link.namespace)?;
        namespace
            .route()?
            .change(RouteNetlinkMessage::NewLink(message), 0)
            .and_then(|()| check_pvid_now(namespace, permit.operation()))
            .while_doing(format_args!("change {link}"))
    }
}

fn check_pvid_now(namespace: &mut NetworkNamespace, wanted: &UpdateBridge) -> Result<()> {
    if wanted.changes.default_pvid.is_none() {
        return Ok(());
    }
    let now = namespace.link(by_index(wanted.link.index))?;
    check_pvid(&wanted.changes, &now.details)
}

/// A kernel without bridge VLANs ignores a default PVID instead of refusing it.
pub(super) fn check_pvid(wanted: &BridgeChanges, now: &Details) -> Result<()> {
    match (wanted.default_pvid, now) {
        (Some(wanted), Details::Bridge { default_pvid, .. }) if wanted != *default_pvid => {
            Err(Error::unsupported(
                "the kernel has no bridge VLAN filtering (CONFIG_BRIDGE_VLAN_FILTERING)",
            ))
        }
        _ => Ok(()),
    }
}
