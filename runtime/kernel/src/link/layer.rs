//! What a link is on the wire.

use netlink_packet_route::link::LinkAttribute;
use weir_grant::link::LinkFacts;

use super::by_index;
use crate::error::{Error, Result};
use crate::namespace::NetworkNamespace;

/// A link's addresses on the wire.
#[derive(Clone, Debug)]
pub(crate) struct LinkLayer {
    pub index: u32,
    pub mac: [u8; 6],
    pub broadcast: [u8; 6],
    /// `ARPHRD_*`, which are ARP's hardware types.
    pub hardware: u16,
}

/// Asks the kernel for it. Errors: `NotFound`; `Unsupported` for a link without Ethernet addresses.
pub(crate) fn link_layer(namespace: &mut NetworkNamespace, link: &LinkFacts) -> Result<LinkLayer> {
    let message = namespace.ask_link(by_index(link.index))?;
    let (mut mac, mut broadcast) = (None, None);
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::Address(bytes) => mac = bytes.try_into().ok(),
            LinkAttribute::Broadcast(bytes) => broadcast = bytes.try_into().ok(),
            _ => {}
        }
    }
    let (Some(mac), Some(broadcast)) = (mac, broadcast) else {
        return Err(Error::unsupported(
            "only links with Ethernet addresses can announce",
        ));
    };
    Ok(LinkLayer {
        index: link.index,
        mac,
        broadcast,
        hardware: message.header.link_layer_type.into(),
    })
}
