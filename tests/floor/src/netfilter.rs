//! An nfnetlink socket: a transaction, or one change.

use anyhow::{Context, Result};
use netlink_packet_core::{NLM_F_ACK, NLM_F_CREATE, NLM_F_REQUEST};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_NETFILTER};
use nix::errno::Errno;

/// `NFNL_SUBSYS_…`
pub const NFTABLES: u8 = 10;
pub const CONNTRACK: u8 = 1;

/// `NFNL_MSG_BATCH_BEGIN`, `NFNL_MSG_BATCH_END`.
const BEGIN: u16 = 0x10;
const END: u16 = 0x11;

/// `NFPROTO_INET`, which is `AF_INET` to none but nftables.
const INET: u8 = 1;
const AF_INET: u8 = 2;

/// `NLMSG_ERROR`, and where its code stands.
const ERROR: u16 = 2;
const CODE: usize = 16;

pub struct Netfilter(Socket);

/// The messages of a transaction. Their sequence numbers are their places.
pub struct Batch {
    subsystem: u8,
    bytes: Vec<u8>,
    messages: u32,
}

impl Batch {
    pub fn new(subsystem: u8) -> Self {
        let mut bytes = Vec::new();
        push(&mut bytes, BEGIN, NLM_F_REQUEST, 0, [0, subsystem], |_| {});
        Self {
            subsystem,
            bytes,
            messages: 0,
        }
    }

    /// Each is acknowledged, the last one last.
    pub fn push(&mut self, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
        self.messages += 1;
        let flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
        let kind = u16::from_be_bytes([self.subsystem, kind]);
        push(
            &mut self.bytes,
            kind,
            flags,
            self.messages,
            [INET, 0],
            write,
        );
    }
}

impl Netfilter {
    /// Opens a socket in the namespace that the process is in.
    pub fn open() -> Result<Self> {
        let mut socket = Socket::new(NETLINK_NETFILTER).context("netlink socket")?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self(socket))
    }

    pub fn transact(&mut self, mut batch: Batch) -> Result<()> {
        let subsystem = [0, batch.subsystem];
        push(&mut batch.bytes, END, NLM_F_REQUEST, 0, subsystem, |_| {});
        self.0.send(&batch.bytes, 0)?;
        self.wait_for(batch.messages)
    }

    pub fn change(
        &mut self,
        subsystem: u8,
        kind: u8,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<()> {
        let mut bytes = Vec::new();
        let kind = u16::from_be_bytes([subsystem, kind]);
        let flags = NLM_F_REQUEST | NLM_F_ACK;
        push(&mut bytes, kind, flags, 1, [AF_INET, 0], write);
        self.0.send(&bytes, 0)?;
        self.wait_for(1)
    }

    /// Reads acknowledgements up to this one.
    fn wait_for(&mut self, last: u32) -> Result<()> {
        let mut buffer = Vec::with_capacity(8 << 10);
        loop {
            buffer.clear();
            self.0.recv(&mut buffer, 0)?;
            let mut rest = &buffer[..];
            while let Some(word) = rest.first_chunk() {
                let length = u32::from_ne_bytes(*word) as usize;
                let message = rest.get(..length).context("a message that is cut off")?;
                let code = match u16::from_ne_bytes([message[4], message[5]]) {
                    ERROR => i32::from_ne_bytes(*message[CODE..].first_chunk().context("a code")?),
                    _ => 0,
                };
                if code != 0 {
                    return Err(Errno::from_raw(-code).into());
                }
                if message[8..12] == last.to_ne_bytes() {
                    return Ok(());
                }
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            }
        }
    }
}

/// Adds a message: `struct nlmsghdr`, `struct nfgenmsg`, attributes. `family` is the family and the resource's low byte.
fn push(
    bytes: &mut Vec<u8>,
    kind: u16,
    flags: u16,
    sequence: u32,
    [family, resource]: [u8; 2],
    write: impl FnOnce(&mut Vec<u8>),
) {
    let start = bytes.len();
    bytes.extend(0_u32.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend(0_u32.to_ne_bytes());
    bytes.extend([family, 0, 0, resource]);
    write(bytes);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let length = (bytes.len() - start) as u32;
    bytes[start..start + 4].copy_from_slice(&length.to_ne_bytes());
}
