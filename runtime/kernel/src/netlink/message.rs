//! Messages as bytes: their headers, what the kernel answers, and why it refuses.

use netlink_bindings::utils::find_attr;
use netlink_packet_core::{
    NLM_F_DUMP_INTR, NLM_F_MULTIPART, NLMSG_DONE, NLMSG_ERROR, NLMSG_NOOP, NLMSG_OVERRUN,
    NetlinkBuffer,
};
use nix::errno::Errno;

use crate::error::Error;

/// The bytes of `struct nlmsghdr` and of `struct nfgenmsg`.
const HEADER: usize = 16;
pub(crate) const FAMILY_HEADER: usize = 4;

/// `NLMSGERR_ATTR_MSG`, `NLMSGERR_ATTR_OFFS`.
const ATTRIBUTE_TEXT: u16 = 1;
const ATTRIBUTE_OFFSET: u16 = 2;

/// What a message of nfnetlink is: the subsystem (`NFNL_SUBSYS_…`), and a number of the subsystem's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageType(pub u16);

impl MessageType {
    pub(crate) const fn new(subsystem: u8, number: u8) -> Self {
        Self((subsystem as u16) << 8 | number as u16)
    }
}

/// A refused message.
#[derive(Debug)]
pub struct Refusal {
    pub errno: Errno,
    /// The extended-ack text.
    pub text: Option<String>,
    /// The number of the message; none when a batch as a whole was refused.
    pub sequence: Option<u32>,
    /// Where in the message the attribute stands that is to blame.
    pub offset: Option<usize>,
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Error::kernel(refusal.errno, refusal.text.as_deref())
    }
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        Self {
            errno,
            text: None,
            sequence: None,
            offset: None,
        }
    }
}

/// Begins a message and returns where it starts.
pub(super) fn push_header(
    bytes: &mut Vec<u8>,
    kind: MessageType,
    flags: u16,
    sequence: u32,
) -> usize {
    let start = bytes.len();
    bytes.extend(0_u32.to_ne_bytes());
    bytes.extend(kind.0.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend(0_u32.to_ne_bytes());
    start
}

/// `struct nfgenmsg`, which follows the header.
pub(super) fn push_family_header(bytes: &mut Vec<u8>, family: u8, resource: u16) {
    bytes.extend([family, 0]);
    bytes.extend(resource.to_be_bytes());
}

/// Pads a message and writes its length into its header.
pub(super) fn close(bytes: &mut Vec<u8>, start: usize) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let length = (bytes.len() - start) as u32;
    bytes[start..start + 4].copy_from_slice(&length.to_ne_bytes());
}

/// What a message of the kernel says.
pub(super) enum Answer {
    /// What was asked for, or one object of a list.
    Object,
    Acknowledged,
    /// The end of a list.
    Done,
}

/// A message that the kernel sent, still in bytes.
pub(super) struct Received<'a> {
    pub(super) kind: u16,
    pub(super) sequence: u32,
    flags: u16,
    /// What is behind the header.
    pub(super) content: &'a [u8],
}

impl<'a> Received<'a> {
    /// Splits the next message off a datagram. Errors: `EBADMSG` where it is cut off.
    pub(super) fn next(rest: &mut &'a [u8]) -> Result<Option<Self>, Refusal> {
        if rest.is_empty() {
            return Ok(None);
        }
        let message = NetlinkBuffer::new_checked(*rest).map_err(|_| cut_off())?;
        let length = message.length() as usize;
        *rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Ok(Some(Self {
            kind: message.message_type(),
            sequence: message.sequence_number(),
            flags: message.flags(),
            content: message.payload(),
        }))
    }

    /// What it says; nothing in a message that is there to be skipped.
    pub(super) fn answer(&self) -> Result<Option<Answer>, Refusal> {
        match self.kind {
            NLMSG_NOOP | NLMSG_OVERRUN => Ok(None),
            NLMSG_ERROR => self.acknowledgement().map(Some),
            NLMSG_DONE => done(self.content).map(Some),
            _ => Ok(Some(Answer::Object)),
        }
    }

    /// Whether the list that it is from changed while it was read.
    pub(super) fn is_interrupted(&self) -> bool {
        self.flags & NLM_F_DUMP_INTR != 0
    }

    /// Whether more messages of the same answer follow.
    pub(super) fn is_part(&self) -> bool {
        self.flags & NLM_F_MULTIPART != 0
    }

    /// Reads `struct nlmsgerr`: an error number, the header of the message that it is about, and
    /// attributes.
    fn acknowledgement(&self) -> Result<Answer, Refusal> {
        let attributes = self.content.get(NUMBER + HEADER..).unwrap_or_default();
        match refusal(self.content, attributes) {
            None => Ok(Answer::Acknowledged),
            Some(refusal) => Err(Refusal {
                sequence: (self.sequence != 0).then_some(self.sequence),
                ..refusal
            }),
        }
    }
}

fn cut_off() -> Refusal {
    Refusal {
        text: Some("the kernel's answer is cut off".to_owned()),
        ..Errno::EBADMSG.into()
    }
}

/// Reads what ends a list: an error number, and attributes.
fn done(content: &[u8]) -> Result<Answer, Refusal> {
    let attributes = content.get(NUMBER..).unwrap_or_default();
    refusal(content, attributes).map_or(Ok(Answer::Done), Err)
}

/// The bytes of an error number.
const NUMBER: usize = 4;

/// What begins with an error number, if it is one: a negative errno.
fn refusal(content: &[u8], attributes: &[u8]) -> Option<Refusal> {
    let code = content.first_chunk();
    let code = code.map_or(0, |bytes| i32::from_ne_bytes(*bytes));
    if code == 0 {
        return None;
    }
    let text = find_attr(attributes, ATTRIBUTE_TEXT);
    let offset = find_attr(attributes, ATTRIBUTE_OFFSET).and_then(|bytes| bytes.first_chunk());
    Some(Refusal {
        errno: Errno::from_raw(code.checked_neg().unwrap_or(i32::MAX)),
        text: text.map(|t| String::from_utf8_lossy(t.strip_suffix(&[0]).unwrap_or(t)).into_owned()),
        sequence: None,
        offset: offset.map(|bytes| u32::from_ne_bytes(*bytes) as usize),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message of that type, with sequence number 7.
    fn message(kind: u16, flags: u16, content: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let start = push_header(&mut bytes, MessageType(kind), flags, 7);
        bytes.extend(content);
        close(&mut bytes, start);
        bytes
    }

    /// An attribute, whose value is padded.
    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = (4 + value.len()) as u16;
        let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn refused(datagram: &[u8]) -> Refusal {
        let received = Received::next(&mut &*datagram).expect("a whole message");
        let answer = received.expect("a message").answer();
        answer.err().expect("a refusal")
    }

    #[test]
    fn a_refusal_has_the_kernels_text_and_the_place_that_it_blames() {
        let mut content = (-22_i32).to_ne_bytes().to_vec();
        content.extend([0; HEADER]);
        content.extend(attribute(ATTRIBUTE_TEXT, b"MTU too large\0"));
        content.extend(attribute(ATTRIBUTE_OFFSET, &36_u32.to_ne_bytes()));
        let refusal = refused(&message(NLMSG_ERROR, 0, &content));
        assert_eq!(refusal.errno, Errno::EINVAL);
        assert_eq!(refusal.text.as_deref(), Some("MTU too large"));
        assert_eq!((refusal.sequence, refusal.offset), (Some(7), Some(36)));
    }

    #[test]
    fn a_list_can_end_with_a_refusal() {
        let mut content = (-1_i32).to_ne_bytes().to_vec();
        content.extend(attribute(ATTRIBUTE_TEXT, b"not yours\0"));
        let refusal = refused(&message(NLMSG_DONE, NLM_F_MULTIPART, &content));
        assert_eq!(refusal.errno, Errno::EPERM);
        assert_eq!(refusal.text.as_deref(), Some("not yours"));
    }

    #[test]
    fn the_messages_of_a_datagram_are_told_apart() {
        let datagram = [
            message(NLMSG_OVERRUN, 0, &[]),
            message(16, NLM_F_MULTIPART, b"abc"),
            message(NLMSG_DONE, NLM_F_MULTIPART, &[0; 4]),
        ]
        .concat();
        let mut rest = &datagram[..];
        let mut kinds = Vec::new();
        while let Some(received) = Received::next(&mut rest).expect("whole messages") {
            kinds.push(received.kind);
        }
        assert_eq!(kinds, [NLMSG_OVERRUN, 16, NLMSG_DONE]);
    }

    #[test]
    fn what_is_cut_off_is_no_answer() {
        let whole = message(16, 0, b"content!");
        for length in 1..whole.len() {
            let cut = Received::next(&mut &whole[..length]);
            assert_eq!(
                cut.err().map(|e| e.errno),
                Some(Errno::EBADMSG),
                "{length} bytes"
            );
        }
        // A length that is less than the header's.
        let mut lying = whole;
        lying[..4].copy_from_slice(&8_u32.to_ne_bytes());
        assert!(Received::next(&mut &lying[..]).is_err());
    }
}
