//! Frames on the wire, as a packet socket hears them.

use std::os::fd::{AsRawFd, OwnedFd};

use anyhow::{Context, Result};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeVal;

/// Ethernet types, as they are in a frame.
pub const ARP: [u8; 2] = [0x08, 0x06];
pub const IPV6: [u8; 2] = [0x86, 0xdd];

/// How long a frame may take, in seconds.
const TIMEOUT: i64 = 10;

/// A socket that hears every frame of a network namespace.
pub struct Ear(OwnedFd);

impl Ear {
    /// Opens one in the network namespace of the calling thread.
    pub fn open() -> Result<Self> {
        let (flags, all) = (SockFlag::SOCK_CLOEXEC, SockProtocol::EthAll);
        let ear = socket(AddressFamily::Packet, SockType::Raw, flags, all);
        let ear = ear.context("a packet socket")?;
        setsockopt(&ear, sockopt::ReceiveTimeout, &TimeVal::new(TIMEOUT, 0))?;
        Ok(Self(ear))
    }

    /// Returns the first frame of an Ethernet type that has these bytes at this place. Errors: none came in time.
    pub fn hear(&self, kind: [u8; 2], at: usize, expected: &[u8]) -> Result<Vec<u8>> {
        loop {
            let mut frame = vec![0; 2048];
            let length = recv(self.0.as_raw_fd(), &mut frame, MsgFlags::empty());
            frame.truncate(length.context("waiting for a frame")?);
            let found = frame.get(at..at + expected.len());
            if frame.get(12..14) == Some(&kind) && found == Some(expected) {
                return Ok(frame);
            }
        }
    }
}
