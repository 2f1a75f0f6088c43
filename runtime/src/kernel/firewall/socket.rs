//! The nfnetlink socket: a batch of messages that is carried out whole or not at all, one object,
//! a list of objects.

use std::ops::RangeInclusive;

use netlink_bindings::utils::find_attr;
use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_NETFILTER};
use nix::errno::Errno;
use nix::sys::socket::{setsockopt, sockopt};

use crate::kernel::error::{Code, Error};

/// The kernel puts no more than this into one datagram.
const LARGEST_DATAGRAM: usize = 64 << 10;

/// A batch that is larger may need more room than a socket has at first.
const USUAL_ROOM: usize = 128 << 10;

/// The bytes of `struct nlmsghdr` and of `struct nfgenmsg`.
const HEADER: usize = 16;
pub(super) const FAMILY_HEADER: usize = 4;

/// `NLMSG_NOOP`, `NLMSG_ERROR`, `NLMSG_DONE`.
const NOOP: u16 = 1;
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// `NLM_F_DUMP_INTR`: the list changed while it was read.
const INTERRUPTED: u16 = 0x10;

/// `NFNL_MSG_BATCH_BEGIN`, `NFNL_MSG_BATCH_END`.
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;

/// `NFNL_SUBSYS_NFTABLES`.
const NFTABLES: u16 = 10;

/// `NLMSGERR_ATTR_MSG`, `NLMSGERR_ATTR_OFFS`.
const ATTRIBUTE_TEXT: u16 = 1;
const ATTRIBUTE_OFFSET: u16 = 2;

/// Sequence numbers of questions, far from those of a batch's messages: what the kernel still says
/// about a batch after its first refusal must not be taken for an answer.
const FIRST_QUESTION: u32 = 1 << 31;

/// A list that changes all the time is read so often.
const MOST_ATTEMPTS: usize = 20;

/// `NFT_MSG_…`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    NewTable = 0,
    DeleteTable = 2,
    NewChain = 3,
    GetChain = 4,
    DeleteChain = 5,
    NewRule = 6,
    GetRule = 7,
    DeleteRule = 8,
    NewSet = 9,
    GetSet = 10,
    DeleteSet = 11,
    NewElements = 12,
    GetElements = 13,
    DeleteElements = 14,
}

impl Kind {
    fn message_type(self) -> u16 {
        NFTABLES << 8 | self as u16
    }
}

/// A refused message.
#[derive(Debug)]
pub(super) struct Refusal {
    pub errno: Errno,
    /// The extended-ack text.
    pub text: Option<String>,
    /// Of the message; none when the batch as a whole was refused.
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

/// The messages of one transaction.
pub(super) struct Batch {
    family: u8,
    bytes: Vec<u8>,
    /// Where each message starts. Its sequence number is its place here and one.
    starts: Vec<usize>,
}

impl Batch {
    /// `family` is an `NFPROTO_…`.
    pub fn new(family: u8) -> Self {
        let mut bytes = Vec::with_capacity(1 << 10);
        let start = push_header(&mut bytes, BATCH_BEGIN, NLM_F_REQUEST, 0);
        push_family_header(&mut bytes, 0, NFTABLES);
        close(&mut bytes, start);
        Self {
            family,
            bytes,
            starts: Vec::new(),
        }
    }

    /// Adds a message and returns its sequence number. `flags` are added to `NLM_F_REQUEST`.
    pub fn push<E>(
        &mut self,
        kind: Kind,
        flags: u16,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<u32, E> {
        let sequence = self.starts.len() as u32 + 1;
        let start = push_header(
            &mut self.bytes,
            kind.message_type(),
            NLM_F_REQUEST | flags,
            sequence,
        );
        push_family_header(&mut self.bytes, self.family, 0);
        write(&mut self.bytes)?;
        close(&mut self.bytes, start);
        self.starts.push(start);
        Ok(sequence)
    }

    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// In bytes.
    pub fn length(&self) -> usize {
        self.bytes.len()
    }

    /// A message and what follows it.
    pub fn message(&self, sequence: u32) -> Option<&[u8]> {
        let start = *self.starts.get((sequence as usize).checked_sub(1)?)?;
        self.bytes.get(start..)
    }

    /// Asks for the acknowledgement of the last message, which comes behind everything that the
    /// kernel has to say about the batch, and ends it. Older kernels do not acknowledge the end.
    fn finish(mut self) -> Self {
        if let Some(start) = self.starts.last() {
            let flags = start + 6;
            let old = u16::from_ne_bytes([self.bytes[flags], self.bytes[flags + 1]]);
            self.bytes[flags..flags + 2].copy_from_slice(&(old | NLM_F_ACK).to_ne_bytes());
        }
        let start = push_header(&mut self.bytes, BATCH_END, NLM_F_REQUEST, 0);
        push_family_header(&mut self.bytes, 0, NFTABLES);
        close(&mut self.bytes, start);
        self
    }
}

fn push_header(bytes: &mut Vec<u8>, kind: u16, flags: u16, sequence: u32) -> usize {
    let start = bytes.len();
    bytes.extend(0_u32.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend(0_u32.to_ne_bytes());
    start
}

fn push_family_header(bytes: &mut Vec<u8>, family: u8, resource: u16) {
    bytes.extend([family, 0]);
    bytes.extend(resource.to_be_bytes());
}

/// Pads a message and writes its length into its header.
fn close(bytes: &mut Vec<u8>, start: usize) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let length = (bytes.len() - start) as u32;
    bytes[start..start + 4].copy_from_slice(&length.to_ne_bytes());
}

/// One message of the kernel's.
enum Answer<'a> {
    Object {
        kind: u16,
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

/// An open nfnetlink socket, in the namespace of the thread that opened it.
pub(super) struct NetfilterSocket {
    socket: Socket,
    buffer: Vec<u8>,
    sequence: u32,
}

impl NetfilterSocket {
    /// Opens a socket in the calling thread's network namespace.
    pub fn open() -> Result<Self, Error> {
        let socket = connect().map_err(|e| Error::from(e).while_doing("open a netlink socket"))?;
        Ok(Self {
            socket,
            buffer: Vec::with_capacity(LARGEST_DATAGRAM),
            sequence: FIRST_QUESTION,
        })
    }

    /// Carries a batch out. `echo` gets the objects of which the kernel was asked to tell
    /// (`NLM_F_ECHO`): kind, the message's sequence number, attributes.
    pub fn transact(
        &mut self,
        batch: Batch,
        mut echo: impl FnMut(Kind, u32, &[u8]),
    ) -> Result<(), (Batch, Refusal)> {
        let last = batch.starts.len() as u32;
        let batch = batch.finish();
        let outcome = self.send(&batch.bytes).and_then(|()| {
            self.receive(0..=last, |answer| match answer {
                Answer::Object {
                    kind,
                    sequence,
                    content,
                    ..
                } => {
                    let told = [Kind::NewTable, Kind::NewRule];
                    if let Some(kind) = told.into_iter().find(|k| k.message_type() == kind) {
                        echo(kind, sequence, content);
                    }
                    false
                }
                Answer::Acknowledged { sequence } => sequence == last,
                Answer::Done => false,
            })
        });
        outcome.map_err(|refusal| (batch, refusal))
    }

    /// Asks for one object and returns its attributes; none when there is no such object.
    pub fn get<E: From<Refusal>>(
        &mut self,
        kind: Kind,
        family: u8,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<Option<Vec<u8>>, E> {
        let request = self.request(kind, family, NLM_F_REQUEST | NLM_F_ACK, write)?;
        let mut found = None;
        let own = self.sequence;
        let outcome = self.send(&request).and_then(|()| {
            self.receive(own..=own, |answer| match answer {
                Answer::Object { content, .. } => {
                    found = Some(content.to_vec());
                    false
                }
                Answer::Acknowledged { .. } => true,
                Answer::Done => false,
            })
        });
        match outcome {
            Err(refusal) if refusal.errno == Errno::ENOENT => Ok(None),
            Err(refusal) => Err(refusal.into()),
            Ok(()) => Ok(found),
        }
    }

    /// Asks for a list and returns the attributes of each object. Errors: also `Busy`, when the
    /// list changes faster than it can be read.
    pub fn dump(
        &mut self,
        kind: Kind,
        family: u8,
        write: impl Fn(&mut Vec<u8>),
    ) -> Result<Vec<Vec<u8>>, Error> {
        for _ in 0..MOST_ATTEMPTS {
            let whole = |bytes: &mut Vec<u8>| {
                write(bytes);
                Ok::<_, Error>(())
            };
            let request = self.request(kind, family, NLM_F_REQUEST | NLM_F_DUMP, whole)?;
            let own = self.sequence;
            let mut objects = Vec::new();
            let mut changed = false;
            self.send(&request)?;
            self.receive(own..=own, |answer| match answer {
                Answer::Object {
                    interrupted,
                    content,
                    ..
                } => {
                    changed |= interrupted;
                    objects.push(content.to_vec());
                    false
                }
                Answer::Done => true,
                Answer::Acknowledged { .. } => false,
            })?;
            if !changed {
                return Ok(objects);
            }
        }
        Err(Error::new(
            Code::Busy,
            "the firewall changes faster than it can be read",
        ))
    }

    fn request<E>(
        &mut self,
        kind: Kind,
        family: u8,
        flags: u16,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<Vec<u8>, E> {
        self.sequence += 1;
        let mut bytes = Vec::with_capacity(256);
        let start = push_header(&mut bytes, kind.message_type(), flags, self.sequence);
        push_family_header(&mut bytes, family, 0);
        write(&mut bytes)?;
        close(&mut bytes, start);
        Ok(bytes)
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        if bytes.len() > USUAL_ROOM {
            self.make_room(2 * bytes.len());
        }
        match self.socket.send(bytes, 0) {
            Ok(_) => Ok(()),
            Err(error) => Err(errno_of(&error).into()),
        }
    }

    /// Where neither is possible, sending says so: EMSGSIZE.
    fn make_room(&self, bytes: usize) {
        if setsockopt(&self.socket, sockopt::SndBufForce, &bytes).is_err() {
            let _ = setsockopt(&self.socket, sockopt::SndBuf, &bytes);
        }
    }

    /// Hands the messages that answer to `sequences` to `each`, until it says that the last one has
    /// come, or until the kernel refuses.
    fn receive(
        &mut self,
        sequences: RangeInclusive<u32>,
        mut each: impl FnMut(Answer<'_>) -> bool,
    ) -> Result<(), Refusal> {
        loop {
            self.receive_datagram()?;
            let mut rest = &self.buffer[..];
            while let Some((header, length)) = Header::read(rest) {
                let content = &rest[HEADER..length];
                rest = &rest[length.next_multiple_of(4).min(rest.len())..];
                if sequences.contains(&header.sequence)
                    && let Some(answer) = answer(&header, content)?
                    && each(answer)
                {
                    return Ok(());
                }
            }
        }
    }

    fn receive_datagram(&mut self) -> Result<(), Refusal> {
        self.buffer.clear();
        self.buffer.reserve(LARGEST_DATAGRAM);
        loop {
            let Err(error) = self.socket.recv(&mut &mut self.buffer, 0) else {
                return Ok(());
            };
            match errno_of(&error) {
                Errno::EINTR => {}
                // The kernel had more to say than there is room for. What came first is there, but
                // what is waited for may not be.
                Errno::ENOBUFS => self
                    .socket
                    .set_non_blocking(true)
                    .map_err(|e| errno_of(&e))?,
                Errno::EAGAIN => return Err(Errno::ENOBUFS.into()),
                other => return Err(other.into()),
            }
        }
    }
}

fn connect() -> std::io::Result<Socket> {
    let mut socket = Socket::new(NETLINK_NETFILTER)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.set_ext_ack(true)?;
    socket.set_cap_ack(true)?;
    Ok(socket)
}

fn errno_of(error: &std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}

/// What is needed of `struct nlmsghdr`.
struct Header {
    kind: u16,
    flags: u16,
    sequence: u32,
}

impl Header {
    /// The header of the next message and the message's length.
    fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let header = bytes.first_chunk::<HEADER>()?;
        let short = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let length = u32::from_ne_bytes(*header.first_chunk()?) as usize;
        let read = Self {
            kind: short(4),
            flags: short(6),
            sequence: u32::from_ne_bytes(*header[8..].first_chunk()?),
        };
        (HEADER..=bytes.len())
            .contains(&length)
            .then_some((read, length))
    }
}

fn answer<'a>(header: &Header, content: &'a [u8]) -> Result<Option<Answer<'a>>, Refusal> {
    match header.kind {
        NOOP => Ok(None),
        ERROR => acknowledgement(header.sequence, content).map(Some),
        DONE => done(content).map(Some),
        kind => Ok(Some(Answer::Object {
            kind,
            sequence: header.sequence,
            interrupted: header.flags & INTERRUPTED != 0,
            content: content.get(FAMILY_HEADER..).unwrap_or_default(),
        })),
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
