//! What a link is on the wire.

use netlink_packet_route::link::LinkAttribute;
use weir_grant::link::LinkFacts;

use super::by_index;
use crate::error::Result;
use crate::namespace::NetworkNamespace;

/// A link's addresses on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkLayer {
    pub mac: Vec<u8>,
    pub broadcast: Vec<u8>,
    /// `ARPHRD_*`, which are ARP's hardware types.
    pub hardware: u16,
}

/// Asks the kernel for it. Errors: `NotFound`.
pub(crate) fn link_layer(namespace: &mut NetworkNamespace, link: &LinkFacts) -> Result<LinkLayer> {
    let message = namespace.ask_link(by_index(link.index))?;
    let mut layer = LinkLayer {
        mac: Vec::new(),
        broadcast: Vec::new(),
        hardware: message.header.link_layer_type.into(),
    };
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::Address(bytes) => layer.mac = bytes,
            LinkAttribute::Broadcast(bytes) => layer.broadcast = bytes,
            _ => {}
        }
    }
    Ok(layer)
}
