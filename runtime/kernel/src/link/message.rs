//! Attributes of `RTM_NEWLINK`, for new links and changed ones.

use std::os::fd::AsRawFd;

use netlink_packet_route::link::{
    InfoBridge, InfoData, InfoIpVlan, InfoKind, InfoMacVlan, InfoVlan, InfoVrf, IpVlanMode,
    LinkAttribute, LinkFlags, LinkInfo, LinkMessage, MacVlanMode,
    VlanProtocol as KernelVlanProtocol,
};
use nix::errno::Errno;
use weir_grant::link::{BridgeChanges, Create, IpvlanMode, MacvlanMode, NewKind, VlanProtocol};

use super::name;
use crate::error::{Code, Error, Result};
use crate::namespace::NetworkNamespace;

/// The attributes of a new link that do not depend on its kind.
pub(super) fn attributes(wanted: &Create) -> impl Iterator<Item = LinkAttribute> {
    let mac = wanted
        .mac
        .as_ref()
        .map(|mac| mac.0.clone())
        .or_else(|| needs_mac(&wanted.kind).then(name::random_mac))
        .map(LinkAttribute::Address);
    let mtu = wanted.mtu.map(LinkAttribute::Mtu);
    let txqlen = wanted.txqlen.map(LinkAttribute::TxQueueLen);
    let master = wanted
        .master
        .as_ref()
        .map(|m| LinkAttribute::Controller(m.index));
    [mac, mtu, txqlen, master].into_iter().flatten()
}

/// A bridge without a fixed MAC takes the lowest of its ports', which changes as they come and go: neighbours would lose
/// the gateway each time.
fn needs_mac(kind: &NewKind) -> bool {
    matches!(kind, NewKind::Bridge(_))
}

pub(super) fn set_up(message: &mut LinkMessage, up: bool) {
    message.header.flags.set(LinkFlags::Up, up);
    message.header.change_mask.set(LinkFlags::Up, up);
}

/// `IFLA_NET_NS_FD`.
pub(super) fn into_namespace(namespace: &NetworkNamespace) -> Result<LinkAttribute> {
    let descriptor = namespace.descriptor()?;
    Ok(LinkAttribute::NetNsFd(descriptor.as_raw_fd()))
}

/// `IFLA_LINK` and `IFLA_LINKINFO`.
pub(super) fn of_kind(kind: &NewKind) -> Vec<LinkAttribute> {
    let (word, data) = match kind {
        NewKind::Bridge(settings) => (InfoKind::Bridge, bridge_data(settings)),
        NewKind::Macvlan {
            mode, bc_queue_len, ..
        } => (InfoKind::MacVlan, Some(macvlan_data(*mode, *bc_queue_len))),
        NewKind::Ipvlan { mode, .. } => (
            InfoKind::IpVlan,
            Some(InfoData::IpVlan(vec![InfoIpVlan::Mode(ipvlan_mode(*mode))])),
        ),
        NewKind::Vlan { id, protocol, .. } => (InfoKind::Vlan, Some(vlan_data(*id, *protocol))),
        NewKind::Vrf { table } => (
            InfoKind::Vrf,
            Some(InfoData::Vrf(vec![InfoVrf::TableId(*table)])),
        ),
        NewKind::Veth { .. } => (InfoKind::Veth, None),
        NewKind::Dummy => (InfoKind::Dummy, None),
        NewKind::Tap(_) => (InfoKind::Tun, None),
        NewKind::Ifb => (InfoKind::Ifb, None),
    };
    let lower = kind.lower().map(|lower| LinkAttribute::Link(lower.index));
    lower.into_iter().chain([info(word, data)]).collect()
}

pub(super) fn info(kind: InfoKind, data: Option<InfoData>) -> LinkAttribute {
    let data = data.map(LinkInfo::Data);
    LinkAttribute::LinkInfo([LinkInfo::Kind(kind)].into_iter().chain(data).collect())
}

/// A bridge's settings as the kernel takes them.
pub(super) fn bridge_data(settings: &BridgeChanges) -> Option<InfoData> {
    let filtering = settings.vlan_filtering.map(InfoBridge::VlanFiltering);
    let pvid = settings.default_pvid.map(InfoBridge::VlanDefaultPvid);
    let data: Vec<_> = filtering.into_iter().chain(pvid).collect();
    (!data.is_empty()).then_some(InfoData::Bridge(data))
}

fn macvlan_data(mode: MacvlanMode, bc_queue_len: Option<u32>) -> InfoData {
    let mode = InfoMacVlan::Mode(macvlan_mode(mode));
    let queue = bc_queue_len.map(InfoMacVlan::BcQueueLen);
    InfoData::MacVlan([mode].into_iter().chain(queue).collect())
}

fn vlan_data(id: u16, protocol: VlanProtocol) -> InfoData {
    let protocol = match protocol {
        VlanProtocol::Ieee8021q => KernelVlanProtocol::Ieee8021Q,
        VlanProtocol::Ieee8021ad => KernelVlanProtocol::Ieee8021Ad,
    };
    InfoData::Vlan(vec![InfoVlan::Id(id), InfoVlan::Protocol(protocol)])
}

pub(super) fn macvlan_mode(mode: MacvlanMode) -> MacVlanMode {
    match mode {
        MacvlanMode::Private => MacVlanMode::Private,
        MacvlanMode::Vepa => MacVlanMode::Vepa,
        MacvlanMode::Bridge => MacVlanMode::Bridge,
        MacvlanMode::Passthru => MacVlanMode::Passthrough,
        MacvlanMode::Source => MacVlanMode::Source,
    }
}

pub(super) fn ipvlan_mode(mode: IpvlanMode) -> IpVlanMode {
    match mode {
        IpvlanMode::L2 => IpVlanMode::L2,
        IpvlanMode::L3 => IpVlanMode::L3,
        IpvlanMode::L3s => IpVlanMode::L3S,
    }
}

/// For a link, `EADDRNOTAVAIL` means a bad MAC, not something missing.
pub(super) fn refused_mac(error: Error) -> Error {
    match error.errno {
        Some(Errno::EADDRNOTAVAIL) => Error {
            code: Code::Invalid,
            message: format!(
                "the MAC is not one that an interface can have: {}",
                error.message
            ),
            ..error
        },
        _ => error,
    }
}
