//! A link as the kernel reports it, in the words of the contract.

use std::fmt;

use netlink_packet_route::link::{
    InfoBridge, InfoBridgePort, InfoData, InfoIpVlan, InfoMacVlan, InfoPortData, InfoVlan, InfoVrf,
    IpVlanMode, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, MacVlanMode, Prop, State,
};
use weir_grant::Namespace;
use weir_grant::link::{IpvlanMode, LinkFacts, Mac, MacvlanMode};

/// One link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    pub index: u32,
    pub name: String,
    pub alternative_names: Vec<String>,
    /// `IFLA_INFO_KIND`; `loopback` and `physical` for devices that have none.
    pub kind: String,
    pub mac: Mac,
    /// Bytes.
    pub mtu: u32,
    /// Packets.
    pub txqlen: u32,
    /// `IFF_UP`.
    pub up: bool,
    pub oper_state: OperState,
    pub promiscuous: bool,
    pub all_multicast: bool,
    /// The index of the link that it is a port of.
    pub master: Option<u32>,
    /// `IFLA_LINK`: the lower device, or a veth's peer; an index where that one is.
    pub lower: Option<u32>,
    pub alias: String,
    pub details: Details,
    /// Of a bridge's port.
    pub port: Option<Port>,
}

/// RFC 2863 operational state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperState {
    Unknown,
    NotPresent,
    Down,
    LowerLayerDown,
    Testing,
    Dormant,
    Up,
}

impl fmt::Display for OperState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "unknown",
            Self::NotPresent => "not-present",
            Self::Down => "down",
            Self::LowerLayerDown => "lower-layer-down",
            Self::Testing => "testing",
            Self::Dormant => "dormant",
            Self::Up => "up",
        })
    }
}

/// What only links of one kind have.
#[derive(Clone, Debug, PartialEq)]
pub enum Details {
    None,
    Bridge {
        vlan_filtering: bool,
        /// 0 for none.
        default_pvid: u16,
    },
    Macvlan(MacvlanMode),
    Ipvlan(IpvlanMode),
    /// The VLAN's id.
    Vlan(u16),
    /// The VRF's routing table.
    Vrf(u32),
}

/// A bridge port's flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Port {
    pub hairpin: bool,
    pub isolated: bool,
}

impl From<LinkMessage> for Link {
    fn from(message: LinkMessage) -> Self {
        let flags = message.header.flags;
        let mut link = Self {
            index: message.header.index,
            name: name(&message),
            alternative_names: Vec::new(),
            kind: kind(&message),
            mac: Mac(Vec::new()),
            mtu: 0,
            txqlen: 0,
            up: flags.contains(LinkFlags::Up),
            oper_state: OperState::Unknown,
            promiscuous: flags.contains(LinkFlags::Promisc),
            all_multicast: flags.contains(LinkFlags::Allmulti),
            master: None,
            lower: None,
            alias: String::new(),
            details: Details::None,
            port: None,
        };
        for attribute in message.attributes {
            link.take(attribute);
        }
        link
    }
}

impl Link {
    /// What the gate matches of a link in `namespace`.
    pub fn facts(&self, namespace: Namespace) -> LinkFacts {
        LinkFacts {
            namespace,
            index: self.index,
            name: self.name.clone(),
            kind: self.kind.clone(),
            // What stands in a container is whoever's is in it.
            by_index: false,
            owner: match namespace {
                Namespace::Host => self.alias.clone(),
                Namespace::Container => String::new(),
            },
        }
    }

    fn take(&mut self, attribute: LinkAttribute) {
        match attribute {
            LinkAttribute::Address(mac) => self.mac = Mac(mac),
            LinkAttribute::Mtu(bytes) => self.mtu = bytes,
            LinkAttribute::TxQueueLen(packets) => self.txqlen = packets,
            LinkAttribute::OperState(state) => self.oper_state = state.into(),
            LinkAttribute::Controller(index) => self.master = Some(index).filter(|i| *i != 0),
            LinkAttribute::Link(index) => self.lower = Some(index).filter(|i| *i != 0),
            LinkAttribute::IfAlias(alias) => self.alias = alias,
            LinkAttribute::PropList(properties) => self.alternative_names = names(properties),
            LinkAttribute::LinkInfo(info) => self.take_info(info),
            _ => {}
        }
    }

    fn take_info(&mut self, info: Vec<LinkInfo>) {
        for part in info {
            match part {
                LinkInfo::Data(data) => self.details = details(&data),
                LinkInfo::PortData(InfoPortData::BridgePort(flags)) => {
                    self.port = Some(port(&flags));
                }
                _ => {}
            }
        }
    }
}

/// `IFLA_IFNAME`.
pub(super) fn name(message: &LinkMessage) -> String {
    let name = message.attributes.iter().find_map(|a| match a {
        LinkAttribute::IfName(name) => Some(name.clone()),
        _ => None,
    });
    name.unwrap_or_default()
}

/// `IFLA_INFO_KIND`; `loopback` and `physical` for devices that have none.
pub(super) fn kind(message: &LinkMessage) -> String {
    let info = message.attributes.iter().find_map(|a| match a {
        LinkAttribute::LinkInfo(info) => Some(info),
        _ => None,
    });
    let kind = info.into_iter().flatten().find_map(|i| match i {
        LinkInfo::Kind(kind) => Some(kind.to_string()),
        _ => None,
    });
    let is_loopback = message.header.flags.contains(LinkFlags::Loopback);
    kind.unwrap_or_else(|| if is_loopback { "loopback" } else { "physical" }.to_owned())
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
        InfoData::Vlan(data) => data.iter().find_map(vlan_id).map(Details::Vlan),
        InfoData::Vrf(data) => data.iter().find_map(vrf_table).map(Details::Vrf),
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
    let InfoMacVlan::Mode(mode) = data else {
        return None;
    };
    match mode {
        MacVlanMode::Private => Some(MacvlanMode::Private),
        MacVlanMode::Vepa => Some(MacvlanMode::Vepa),
        MacVlanMode::Bridge => Some(MacvlanMode::Bridge),
        MacVlanMode::Passthrough => Some(MacvlanMode::Passthru),
        MacVlanMode::Source => Some(MacvlanMode::Source),
        _ => None,
    }
}

fn ipvlan_mode(data: &InfoIpVlan) -> Option<IpvlanMode> {
    let InfoIpVlan::Mode(mode) = data else {
        return None;
    };
    match mode {
        IpVlanMode::L2 => Some(IpvlanMode::L2),
        IpVlanMode::L3 => Some(IpvlanMode::L3),
        IpVlanMode::L3S => Some(IpvlanMode::L3s),
        _ => None,
    }
}

fn vlan_id(data: &InfoVlan) -> Option<u16> {
    match data {
        InfoVlan::Id(id) => Some(*id),
        _ => None,
    }
}

fn vrf_table(data: &InfoVrf) -> Option<u32> {
    match data {
        InfoVrf::TableId(table) => Some(*table),
        _ => None,
    }
}

impl From<State> for OperState {
    fn from(state: State) -> Self {
        match state {
            State::NotPresent => Self::NotPresent,
            State::Down => Self::Down,
            State::LowerLayerDown => Self::LowerLayerDown,
            State::Testing => Self::Testing,
            State::Dormant => Self::Dormant,
            State::Up => Self::Up,
            _ => Self::Unknown,
        }
    }
}
