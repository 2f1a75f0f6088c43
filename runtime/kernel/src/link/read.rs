//! A link as the kernel reports it, in the words of the contract.

use netlink_packet_route::link::{
    InfoBridge, InfoBridgePort, InfoData, InfoIpVlan, InfoMacVlan, InfoPortData, InfoVlan, InfoVrf,
    LinkAttribute, LinkFlags, LinkInfo, LinkMessage, Prop, State,
};
use weir_grant::link::{Details, IpvlanMode, Link, Mac, MacvlanMode, OperState, Port};

use super::message;

/// A link that the kernel has described.
pub(crate) fn link(message: LinkMessage) -> Link {
    let flags = message.header.flags;
    let mut link = Link {
        index: message.header.index,
        up: flags.contains(LinkFlags::Up),
        promiscuous: flags.contains(LinkFlags::Promisc),
        all_multicast: flags.contains(LinkFlags::Allmulti),
        ..Link::default()
    };
    for attribute in message.attributes {
        take(&mut link, attribute);
    }
    if link.kind.is_empty() {
        let is_loopback = flags.contains(LinkFlags::Loopback);
        link.kind = if is_loopback { "loopback" } else { "physical" }.to_owned();
    }
    link
}

fn take(link: &mut Link, attribute: LinkAttribute) {
    match attribute {
        LinkAttribute::IfName(name) => link.name = name,
        LinkAttribute::Address(mac) => link.mac = Mac(mac),
        LinkAttribute::Mtu(bytes) => link.mtu = bytes,
        LinkAttribute::TxQueueLen(packets) => link.txqlen = packets,
        LinkAttribute::OperState(state) => link.oper_state = oper_state(&state),
        LinkAttribute::Controller(index) => link.master = Some(index).filter(|i| *i != 0),
        LinkAttribute::Link(index) => link.lower = Some(index).filter(|i| *i != 0),
        LinkAttribute::IfAlias(alias) => link.alias = alias,
        LinkAttribute::PropList(properties) => link.alternative_names = names(properties),
        LinkAttribute::LinkInfo(info) => take_info(link, info),
        _ => {}
    }
}

fn take_info(link: &mut Link, info: Vec<LinkInfo>) {
    for part in info {
        match part {
            LinkInfo::Kind(kind) => link.kind = kind.to_string(),
            LinkInfo::Data(data) => link.details = details(&data),
            LinkInfo::PortData(InfoPortData::BridgePort(flags)) => {
                link.port = Some(port(&flags));
            }
            _ => {}
        }
    }
}

fn names(properties: Vec<Prop>) -> Vec<String> {
    let name = |property| match property {
        Prop::AltIfName(name) => Some(name),
        _ => None,
    };
    properties.into_iter().filter_map(name).collect()
}

fn details(data: &InfoData) -> Details {
    let found = match data {
        InfoData::Bridge(settings) => Some(bridge(settings)),
        InfoData::MacVlan(data) => data.iter().find_map(macvlan_mode).map(Details::Macvlan),
        InfoData::IpVlan(data) => data.iter().find_map(ipvlan_mode).map(Details::Ipvlan),
        InfoData::Vlan(data) => data.iter().find_map(|info| match info {
            InfoVlan::Id(id) => Some(Details::Vlan(*id)),
            _ => None,
        }),
        InfoData::Vrf(data) => data.iter().find_map(|info| match info {
            InfoVrf::TableId(table) => Some(Details::Vrf(*table)),
            _ => None,
        }),
        _ => None,
    };
    found.unwrap_or(Details::None)
}

fn bridge(settings: &[InfoBridge]) -> Details {
    let (mut vlan_filtering, mut default_pvid) = (false, 0);
    for setting in settings {
        match setting {
            InfoBridge::VlanFiltering(on) => vlan_filtering = *on,
            InfoBridge::VlanDefaultPvid(id) => default_pvid = *id,
            _ => {}
        }
    }
    Details::Bridge {
        vlan_filtering,
        default_pvid,
    }
}

fn port(flags: &[InfoBridgePort]) -> Port {
    let mut port = Port::default();
    for flag in flags {
        match flag {
            InfoBridgePort::HairpinMode(on) => port.hairpin = *on,
            InfoBridgePort::Isolated(on) => port.isolated = *on,
            _ => {}
        }
    }
    port
}

fn macvlan_mode(data: &InfoMacVlan) -> Option<MacvlanMode> {
    use MacvlanMode::{Bridge, Passthru, Private, Source, Vepa};
    let InfoMacVlan::Mode(mode) = data else {
        return None;
    };
    let mut all = [Private, Vepa, Bridge, Passthru, Source].into_iter();
    all.find(|known| message::macvlan_mode(*known) == *mode)
}

fn ipvlan_mode(data: &InfoIpVlan) -> Option<IpvlanMode> {
    let InfoIpVlan::Mode(mode) = data else {
        return None;
    };
    let mut all = [IpvlanMode::L2, IpvlanMode::L3, IpvlanMode::L3s].into_iter();
    all.find(|known| message::ipvlan_mode(*known) == *mode)
}

fn oper_state(state: &State) -> OperState {
    match state {
        State::NotPresent => OperState::NotPresent,
        State::Down => OperState::Down,
        State::LowerLayerDown => OperState::LowerLayerDown,
        State::Testing => OperState::Testing,
        State::Dormant => OperState::Dormant,
        State::Up => OperState::Up,
        _ => OperState::Unknown,
    }
}
