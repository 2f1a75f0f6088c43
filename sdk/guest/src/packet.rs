//! Capability `packet`: sockets bound to one link of the container.

use std::net::SocketAddr;

use weir_cni::Mac;

use crate::Result;
use crate::bindings::weir::cni::packet as raw;

/// A UDP socket bound to one link.
pub struct UdpSocket(raw::UdpSocket);

impl UdpSocket {
    /// Opens a socket bound to a link and a local port. Errors: `not-found`, `busy`.
    pub fn open(link: &str, local_port: u16, broadcast: bool) -> Result<Self> {
        Ok(UdpSocket(raw::open_udp(link, local_port, broadcast)?))
    }

    /// Sends one datagram. Errors: `invalid` for one that is too long.
    pub fn send(&self, to: SocketAddr, payload: &[u8]) -> Result<()> {
        let datagram = raw::Datagram {
            address: to.ip().into(),
            port: to.port(),
            payload: payload.to_vec(),
        };
        Ok(self.0.send(&datagram)?)
    }

    /// Waits for a datagram, at most `timeout` milliseconds. Errors: `timed-out`.
    pub fn receive(&self, timeout: u32) -> Result<(SocketAddr, Vec<u8>)> {
        let datagram = self.0.receive(timeout)?;
        let from = SocketAddr::new(datagram.address.into(), datagram.port);
        Ok((from, datagram.payload))
    }
}

/// A packet socket for one EtherType on one link.
pub struct RawSocket(raw::RawSocket);

impl RawSocket {
    /// Opens a socket. Errors: `not-found`.
    pub fn open(link: &str, ether_type: u16) -> Result<Self> {
        Ok(RawSocket(raw::open_raw(link, ether_type)?))
    }

    /// Sends one frame's payload.
    pub fn send(&self, to: Mac, payload: &[u8]) -> Result<()> {
        Ok(self.0.send(to.as_bytes(), payload)?)
    }

    /// Waits for one frame's payload, at most `timeout` milliseconds. Errors: `timed-out`.
    pub fn receive(&self, timeout: u32) -> Result<Vec<u8>> {
        Ok(self.0.receive(timeout)?)
    }
}
