//! The messages of one nfnetlink transaction.

use netlink_bindings::utils as attributes;
use netlink_packet_core::{NLM_F_ACK, NLM_F_REQUEST};

use super::message::{MessageType, close, push_family_header, push_header};

/// `NFNL_MSG_BATCH_BEGIN`, `NFNL_MSG_BATCH_END`.
const BEGIN: MessageType = MessageType(0x10);
const END: MessageType = MessageType(0x11);

/// `NFNL_BATCH_GENID`.
const GENERATION: u16 = 1;

/// Messages to one subsystem.
pub(crate) struct Batch {
    subsystem: u8,
    family: u8,
    bytes: Vec<u8>,
    /// Where each message starts. Its sequence number is its place here and one.
    starts: Vec<usize>,
}

impl Batch {
    /// `subsystem` is an `NFNL_SUBSYS_…`, `family` an `NFPROTO_…`. The kernel refuses the batch with `ERESTART` if the
    /// subsystem is not at this generation any more.
    pub(crate) fn new(subsystem: u8, family: u8, generation: Option<u32>) -> Self {
        let mut bytes = Vec::with_capacity(1 << 10);
        let start = push_header(&mut bytes, BEGIN, NLM_F_REQUEST, 0);
        push_family_header(&mut bytes, 0, subsystem.into());
        if let Some(generation) = generation {
            attributes::push_header(&mut bytes, GENERATION, 4);
            bytes.extend(generation.to_be_bytes());
        }
        close(&mut bytes, start);
        Self {
            subsystem,
            family,
            bytes,
            starts: Vec::new(),
        }
    }

    /// Adds a message. `flags` are added to `NLM_F_REQUEST`.
    pub(crate) fn push(
        &mut self,
        kind: impl Into<MessageType>,
        flags: u16,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let sequence = self.last() + 1;
        let flags = NLM_F_REQUEST | flags;
        let start = push_header(&mut self.bytes, kind.into(), flags, sequence);
        push_family_header(&mut self.bytes, self.family, 0);
        write(&mut self.bytes);
        close(&mut self.bytes, start);
        self.starts.push(start);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// In bytes.
    pub(crate) fn length(&self) -> usize {
        self.bytes.len()
    }

    /// The sequence number of the last message.
    pub(super) fn last(&self) -> u32 {
        self.starts.len() as u32
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A message and what follows it.
    pub(crate) fn message(&self, sequence: u32) -> Option<&[u8]> {
        let start = *self.starts.get((sequence as usize).checked_sub(1)?)?;
        self.bytes.get(start..)
    }

    /// Asks for the acknowledgement of the last message, which comes behind everything that the
    /// kernel has to say about the batch, and ends it. Older kernels do not acknowledge the end.
    pub(super) fn finish(mut self) -> Self {
        if let Some(start) = self.starts.last() {
            let flags = start + 6;
            let old = u16::from_ne_bytes([self.bytes[flags], self.bytes[flags + 1]]);
            self.bytes[flags..flags + 2].copy_from_slice(&(old | NLM_F_ACK).to_ne_bytes());
        }
        let start = push_header(&mut self.bytes, END, NLM_F_REQUEST, 0);
        push_family_header(&mut self.bytes, 0, self.subsystem.into());
        close(&mut self.bytes, start);
        self
    }
}
