//! The loopback of a network namespace that weir made.

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkFlags, LinkMessage};

use crate::error::{Result, WhileDoing as _};
use crate::netlink::RouteSocket;

/// The index of a loopback interface.
const LOOPBACK: u32 = 1;

/// Sets the loopback of the calling thread's namespace up, as that of a host is.
pub fn set_loopback_up() -> Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = LOOPBACK;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    RouteSocket::open()
        .and_then(|mut socket| socket.change(RouteNetlinkMessage::SetLink(message), 0))
        .while_doing("set up the loopback")
}
