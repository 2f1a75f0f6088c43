//! Capability `packet`: the links carry no packets, so that no socket can be opened.

use super::Call;
use super::error::Result;
use crate::bindings::weir::cni::packet::{RawSocket, UdpSocket};

/// Opens a UDP socket bound to a link of the container and a local port. Errors: `not-found`, `busy` for a port
/// in use.
pub fn open_udp(link: &str, local_port: u16, broadcast: bool) -> Result<UdpSocket> {
    let text = format!("{link} port {local_port} broadcast={broadcast}");
    Call::of("packet.open-udp").with(text).unsupported()
}

/// Opens a packet socket for one EtherType on a link of the container. Errors: `not-found`.
pub fn open_raw(link: &str, ether_type: u16) -> Result<RawSocket> {
    let text = format!("{link} {ether_type:#06x}");
    Call::of("packet.open-raw").with(text).unsupported()
}
