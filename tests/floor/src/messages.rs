//! The messages of one attachment.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsRawFd;

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoIpVlan, InfoKind, InfoMacVlan, InfoVeth, InfoVlan, IpVlanMode, LinkAttribute,
    LinkFlags, LinkInfo, LinkMessage, MacVlanMode,
};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, route::RouteAddress};

use crate::netlink::Link;
use crate::request::{Bridge, Interface, Request};

/// Each end of a veth pair uses one queue. The kernel makes room for more unless told, and waits for
/// RCU grace periods to leave that unused.
const ONE_QUEUE: [LinkAttribute; 2] =
    [LinkAttribute::NumTxQueues(1), LinkAttribute::NumRxQueues(1)];

/// A link by its name.
pub fn named(name: &str) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.attributes.push(LinkAttribute::IfName(name.to_owned()));
    link
}

/// A new bridge, up. It has an address of its own, so that it does not change with its ports.
pub fn bridge(name: &str, gateway: Ipv4Addr) -> RouteNetlinkMessage {
    let mut link = with_up(named(name));
    let [a, b, c, d] = gateway.octets();
    link.attributes
        .push(LinkAttribute::Address(vec![2, 0, a, b, c, d]));
    let kind = LinkInfo::Kind(InfoKind::Bridge);
    link.attributes.push(LinkAttribute::LinkInfo(vec![kind]));
    RouteNetlinkMessage::NewLink(link)
}

/// A new veth pair: the host's end on the bridge and up, the container's in its namespace. The
/// kernel refuses to make the container's end up at once, as its peer is not there yet.
pub fn veth(
    request: &Request,
    bridge: &Bridge,
    controller: u32,
    namespace: &File,
) -> RouteNetlinkMessage {
    let mut peer = named(&request.interface);
    peer.attributes
        .push(LinkAttribute::NetNsFd(namespace.as_raw_fd()));
    peer.attributes.extend(ONE_QUEUE);
    let mut link = with_up(named(&bridge.host_interface));
    link.attributes.push(LinkAttribute::Controller(controller));
    link.attributes.extend(ONE_QUEUE);
    link.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
    ]));
    RouteNetlinkMessage::NewLink(link)
}

/// A new link in the container over one of the host.
pub fn over(
    request: &Request,
    interface: &Interface,
    lower: u32,
    namespace: &File,
) -> RouteNetlinkMessage {
    let mut link = named(&request.interface);
    link.attributes.extend([
        LinkAttribute::Link(lower),
        LinkAttribute::NetNsFd(namespace.as_raw_fd()),
        LinkAttribute::LinkInfo(kind(interface)),
    ]);
    RouteNetlinkMessage::NewLink(link)
}

/// A new link over no other, up.
pub fn dummy(name: &str) -> RouteNetlinkMessage {
    let mut link = with_up(named(name));
    link.attributes
        .push(LinkAttribute::LinkInfo(kind(&Interface::Dummy)));
    RouteNetlinkMessage::NewLink(link)
}

fn kind(interface: &Interface) -> Vec<LinkInfo> {
    let (kind, data) = match interface {
        Interface::Macvlan(_) => {
            let mode = InfoMacVlan::Mode(MacVlanMode::Bridge);
            (InfoKind::MacVlan, InfoData::MacVlan(vec![mode]))
        }
        Interface::Ipvlan(_) => {
            let mode = InfoIpVlan::Mode(IpVlanMode::L2);
            (InfoKind::IpVlan, InfoData::IpVlan(vec![mode]))
        }
        Interface::Vlan(_, id) => (InfoKind::Vlan, InfoData::Vlan(vec![InfoVlan::Id(*id)])),
        Interface::Dummy => return vec![LinkInfo::Kind(InfoKind::Dummy)],
    };
    vec![LinkInfo::Kind(kind), LinkInfo::Data(data)]
}

/// A new address with its subnet's broadcast address.
pub fn address(link: u32, address: Ipv4Addr, prefix: u8) -> RouteNetlinkMessage {
    let broadcast = Ipv4Addr::from_bits(address.to_bits() | (u32::MAX >> prefix));
    let mut message = addresses_of(link);
    message.header.prefix_len = prefix;
    message.attributes = vec![
        AddressAttribute::Local(IpAddr::V4(address)),
        AddressAttribute::Address(IpAddr::V4(address)),
        AddressAttribute::Broadcast(broadcast),
    ];
    RouteNetlinkMessage::NewAddress(message)
}

/// All IPv4 addresses of a link.
pub fn addresses_of(link: u32) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.index = link;
    message
}

/// A new default route.
pub fn default_route(link: u32, gateway: Ipv4Addr) -> RouteNetlinkMessage {
    let mut message = routes_of(link);
    message.header.protocol = RouteProtocol::Boot;
    message.header.scope = RouteScope::Universe;
    message.header.kind = RouteType::Unicast;
    let gateway = RouteAttribute::Gateway(RouteAddress::Inet(gateway));
    message.attributes.push(gateway);
    RouteNetlinkMessage::NewRoute(message)
}

/// All IPv4 routes of the main table over a link.
pub fn routes_of(link: u32) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = AddressFamily::Inet;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.attributes.push(RouteAttribute::Oif(link));
    message
}

/// The change of a link to up.
pub fn up(link: u32) -> LinkMessage {
    let mut message = with_up(LinkMessage::default());
    message.header.index = link;
    message
}

/// The change of a link's hardware address to the one that it has.
pub fn hardware_address(link: &Link) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = link.index;
    let address = link.hardware_address.to_vec();
    message.attributes.push(LinkAttribute::Address(address));
    message
}

fn with_up(mut link: LinkMessage) -> LinkMessage {
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
    link
}
