//! Parses only those of a link's dozens of attributes that weir uses. The others would take longer than the kernel needs
//! to answer, and one that a newer kernel writes differently would make the whole link unreadable.

use netlink_packet_core::{DecodeError, NlasIterator, ParseableParametrized};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::link::{LinkAttribute, LinkHeader, LinkMessage};
use nix::libc;

/// `RTM_NEWLINK`.
pub(super) const TYPE: u16 = libc::RTM_NEWLINK;

/// The bytes of `struct ifinfomsg`.
const HEADER_LENGTH: usize = 16;

/// Attributes that are read of any link.
const READ: [u16; 12] = [
    libc::IFLA_ADDRESS,
    libc::IFLA_BROADCAST,
    libc::IFLA_IFNAME,
    libc::IFLA_MTU,
    libc::IFLA_LINK,
    libc::IFLA_MASTER,
    libc::IFLA_TXQLEN,
    libc::IFLA_OPERSTATE,
    libc::IFLA_LINKINFO,
    libc::IFLA_IFALIAS,
    libc::IFLA_GROUP,
    libc::IFLA_LINK_NETNSID,
];

/// `IFLA_PROP_LIST`, which holds alternative names.
const PROPERTIES: u16 = 52;

/// Reads the payload of a message of [`TYPE`].
pub(super) fn parse(payload: &[u8]) -> Result<LinkMessage, DecodeError> {
    let header = LinkHeader::parse(payload)?;
    let family = header.interface_family;
    let mut attributes = Vec::with_capacity(READ.len());
    for attribute in NlasIterator::new(payload.get(HEADER_LENGTH..).unwrap_or_default()) {
        let attribute = attribute?;
        if is_read(attribute.kind(), family) {
            attributes.push(LinkAttribute::parse_with_param(&attribute, family)?);
        }
    }
    let mut message = LinkMessage::default();
    message.header = header;
    message.attributes = attributes;
    Ok(message)
}

/// The bridge's answer about its ports has their VLANs where others have statistics by protocol.
fn is_read(kind: u16, family: AddressFamily) -> bool {
    let is_of_port = family == AddressFamily::Bridge && kind == libc::IFLA_AF_SPEC;
    READ.contains(&kind) || kind == PROPERTIES || is_of_port
}
