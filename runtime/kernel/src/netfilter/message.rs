//! Messages of nfnetlink: their headers, what the kernel answers, and why it refuses.

use netlink_bindings::utils::find_attr;
use nix::errno::Errno;

use crate::error::Error;

/// The bytes of `struct nlmsghdr` and of `struct nfgenmsg`.
const HEADER: usize = 16;
pub const FAMILY_HEADER: usize = 4;

/// `NLMSG_NOOP`, `NLMSG_ERROR`, `NLMSG_DONE`.
const NOOP: u16 = 1;
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// `NLM_F_DUMP_INTR`: the list changed while it was read.
const INTERRUPTED: u16 = 0x10;

/// `NLMSGERR_ATTR_MSG`, `NLMSGERR_ATTR_OFFS`.
const ATTRIBUTE_TEXT: u16 = 1;
const ATTRIBUTE_OFFSET: u16 = 2;

/// What a message is: the subsystem (`NFNL_SUBSYS_…`), and a number of the subsystem's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageType(pub u16);

impl MessageType {
    pub const fn new(subsystem: u8, number: u8) -> Self {
        Self((subsystem as u16) << 8 | number as u16)
    }
}

/// A refused message.
#[derive(Debug)]
pub struct Refusal {
    pub errno: Errno,
    /// The extended-ack text.
    pub text: Option<String>,
    /// Of the message; none when a batch as a whole was refused.
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
pub fn push_header(bytes: &mut Vec<u8>, kind: MessageType, flags: u16, sequence: u32) -> usize {
    let start = bytes.len();
    bytes.extend(0_u32.to_ne_bytes());
    bytes.extend(kind.0.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend(0_u32.to_ne_bytes());
    start
}

/// `struct nfgenmsg`, which follows the header.
pub fn push_family_header(bytes: &mut Vec<u8>, family: u8, resource: u16) {
    bytes.extend([family, 0]);
    bytes.extend(resource.to_be_bytes());
}

/// Pads a message and writes its length into its header.
pub fn close(bytes: &mut Vec<u8>, start: usize) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let length = (bytes.len() - start) as u32;
    bytes[start..start + 4].copy_from_slice(&length.to_ne_bytes());
}

/// One message of the kernel's.
pub enum Answer<'a> {
    Object {
        kind: MessageType,
        sequence: u32,
        interrupted: bool,
        /// The attributes.
        content: &'a [u8],
    },
    Acknowledged {
        sequence: u32,
    },
    Done,
}

/// A message that the kernel sent, still in bytes.
pub struct Received<'a> {
    pub sequence: u32,
    kind: u16,
    flags: u16,
    /// What is behind the header.
    content: &'a [u8],
}

impl<'a> Received<'a> {
    /// Splits the next message off a datagram.
    pub fn next(rest: &mut &'a [u8]) -> Option<Self> {
        let header = rest.first_chunk::<HEADER>()?;
        let short = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let length = u32::from_ne_bytes(*header.first_chunk()?) as usize;
        let received = Self {
            sequence: u32::from_ne_bytes(*header[8..].first_chunk()?),
            kind: short(4),
            flags: short(6),
            content: rest.get(HEADER..length)?,
        };
        *rest = &rest[length.next_multiple_of(4).min(rest.len())..];
        Some(received)
    }

    /// What it says; nothing in a message that is there to be skipped.
    pub fn answer(&self) -> Result<Option<Answer<'a>>, Refusal> {
        match self.kind {
            NOOP => Ok(None),
            ERROR => acknowledgement(self.sequence, self.content).map(Some),
            DONE => done(self.content).map(Some),
            kind => Ok(Some(Answer::Object {
                kind: MessageType(kind),
                sequence: self.sequence,
                interrupted: self.flags & INTERRUPTED != 0,
                content: self.content.get(FAMILY_HEADER..).unwrap_or_default(),
            })),
        }
    }
}

/// Reads `struct nlmsgerr`: an error number, the header of the message that it is about, and
/// attributes.
fn acknowledgement<'a>(sequence: u32, content: &[u8]) -> Result<Answer<'a>, Refusal> {
    let code = content
        .first_chunk()
        .map_or(0, |bytes| i32::from_ne_bytes(*bytes));
    if code == 0 {
        return Ok(Answer::Acknowledged { sequence });
    }
    let attributes = content.get(4 + HEADER..).unwrap_or_default();
    let text = find_attr(attributes, ATTRIBUTE_TEXT);
    let offset = find_attr(attributes, ATTRIBUTE_OFFSET).and_then(|bytes| bytes.first_chunk());
    Err(Refusal {
        errno: errno_from(code),
        text: text.map(|t| String::from_utf8_lossy(t.strip_suffix(&[0]).unwrap_or(t)).into_owned()),
        sequence: (sequence != 0).then_some(sequence),
        offset: offset.map(|bytes| u32::from_ne_bytes(*bytes) as usize),
    })
}

fn done<'a>(content: &[u8]) -> Result<Answer<'a>, Refusal> {
    match content
        .first_chunk()
        .map_or(0, |bytes| i32::from_ne_bytes(*bytes))
    {
        0 => Ok(Answer::Done),
        code => Err(errno_from(code).into()),
    }
}

fn errno_from(code: i32) -> Errno {
    Errno::from_raw(code.checked_neg().unwrap_or(i32::MAX))
}
