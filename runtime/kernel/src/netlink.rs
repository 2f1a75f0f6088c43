//! A synchronous rtnetlink socket: one request, its answer, and the kernel's reason when it refuses.

use std::os::fd::AsRawFd;

use netlink_packet_core::{
    DecodeError, NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_ECHO, NLM_F_MULTIPART,
    NLM_F_REQUEST, NetlinkBuffer, NetlinkHeader, NetlinkMessage, NetlinkPayload, NlasIterator,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nix::errno::Errno;

use super::error::{Code, Error};
use super::{link_answer, traffic_answer};

/// The kernel puts no more than this into one datagram of a dump.
const LARGEST_DATAGRAM: usize = 32 << 10;

/// No request has more: an attribute's length is 16 bits wide, and what is behind an attribute whose
/// length has wrapped around would be read as attributes that nobody has authorised.
const LARGEST_REQUEST: usize = u16::MAX as usize;

/// The bytes of `struct nlmsghdr`, which an error message repeats.
const HEADER_LENGTH: usize = 16;

/// `NLMSGERR_ATTR_MSG`: the extended-ack text.
const ATTRIBUTE_TEXT: u16 = 1;

/// How often a list is asked for again because it changed while the kernel wrote it.
const DUMP_ATTEMPTS: u32 = 16;

/// An open rtnetlink socket, in the namespace of the thread that opened it.
pub struct RouteSocket {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

/// One message of an answer, still in bytes.
type Message<'a> = NetlinkBuffer<&'a [u8]>;

/// What is known of an answer after one message of it.
enum Progress {
    Object(Box<RouteNetlinkMessage>),
    Done,
    Other,
}

impl RouteSocket {
    /// Opens a socket in the calling thread's network namespace.
    pub fn open() -> Result<Self, Error> {
        let socket = connect().map_err(|e| Error::from(e).while_doing("open a netlink socket"))?;
        Ok(Self {
            socket,
            sequence: 0,
            buffer: Vec::with_capacity(LARGEST_DATAGRAM),
        })
    }

    /// A socket whose other end the fuzz targets hold, and not the kernel.
    #[cfg(fuzzing)]
    pub fn with_peer(socket: std::os::fd::OwnedFd) -> Self {
        use std::os::fd::{FromRawFd, IntoRawFd};
        Self {
            // SAFETY: the descriptor is open, and nobody else's from here on.
            socket: unsafe { Socket::from_raw_fd(socket.into_raw_fd()) },
            sequence: 0,
            buffer: Vec::new(),
        }
    }

    /// Sends a request that changes something and waits for its acknowledgement. `flags` are
    /// added to `NLM_F_REQUEST | NLM_F_ACK`.
    pub fn change(&mut self, message: RouteNetlinkMessage, flags: u16) -> Result<(), Error> {
        self.send(message, NLM_F_REQUEST | NLM_F_ACK | flags)?;
        self.receive_answer(|_| false).map(drop)
    }

    /// Sends a request for one object and returns it.
    pub fn get(&mut self, message: RouteNetlinkMessage) -> Result<RouteNetlinkMessage, Error> {
        // Without NLM_F_ACK the object, or an error, is the whole answer.
        self.send(message, NLM_F_REQUEST)?;
        let mut answer = None;
        self.receive_answer(|object| {
            answer = Some(object);
            true
        })?;
        answer.ok_or_else(|| Error::new(Code::Failed, "the kernel answered without an object"))
    }

    /// Sends a request and returns the objects of which the kernel tells before it acknowledges the
    /// request (`NLM_F_ECHO`): those that it made, or found. `flags` are added to those needed.
    pub fn echo(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> Result<Vec<RouteNetlinkMessage>, Error> {
        self.send(message, NLM_F_REQUEST | NLM_F_ACK | NLM_F_ECHO | flags)?;
        let mut objects = Vec::new();
        self.receive_answer(|object| {
            objects.push(object);
            false
        })?;
        Ok(objects)
    }

    /// Sends a request for a list and returns its objects, and whether the list was the same from first to last: what
    /// was made or removed meanwhile may be there or not, and what stood still is.
    pub fn dump_once(
        &mut self,
        message: &RouteNetlinkMessage,
    ) -> Result<(Vec<RouteNetlinkMessage>, bool), Error> {
        self.send(message.clone(), NLM_F_REQUEST | NLM_F_DUMP)?;
        let mut objects = Vec::new();
        let is_consistent = self.receive_answer(|object| {
            objects.push(object);
            false
        })?;
        Ok((objects, is_consistent))
    }

    /// Sends a request for a list and returns its objects.
    ///
    /// Errors: `Busy` when the list changes faster than the kernel can write it.
    pub fn dump(
        &mut self,
        message: &RouteNetlinkMessage,
    ) -> Result<Vec<RouteNetlinkMessage>, Error> {
        for _ in 0..DUMP_ATTEMPTS {
            if let (objects, true) = self.dump_once(message)? {
                return Ok(objects);
            }
        }
        Err(Error::new(
            Code::Busy,
            "the list keeps changing while it is read",
        ))
    }

    fn send(&mut self, message: RouteNetlinkMessage, flags: u16) -> Result<(), Error> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = flags;
        header.sequence_number = self.sequence;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
        message.finalize();
        let length = message.buffer_len();
        if length > LARGEST_REQUEST {
            return Err(Error::invalid(format!(
                "the request has {length} bytes, and the kernel takes {LARGEST_REQUEST}: put less \
                 into one call"
            )));
        }
        self.buffer.clear();
        self.buffer.resize(length, 0);
        message.serialize(&mut self.buffer);
        self.socket.send(&self.buffer, 0)?;
        Ok(())
    }

    /// Reads datagrams until the answer to the last request is complete, or until `object` says
    /// that it has seen enough. Returns whether the answer is consistent (`NLM_F_DUMP_INTR`).
    ///
    /// An answer that cannot be read is read to its end all the same: the next request must not
    /// find the rest of it.
    fn receive_answer(
        &mut self,
        mut object: impl FnMut(RouteNetlinkMessage) -> bool,
    ) -> Result<bool, Error> {
        let mut consistent = true;
        let mut unreadable = None;
        loop {
            self.receive()?;
            let mut rest = &self.buffer[..];
            while let Some(message) = next_message(&mut rest)? {
                if message.sequence_number() != self.sequence {
                    continue;
                }
                consistent &= message.flags() & NLM_F_DUMP_INTR == 0;
                match interpret(&message) {
                    Ok(Progress::Object(seen)) => {
                        if object(*seen) {
                            return Ok(consistent);
                        }
                    }
                    Ok(Progress::Done) => return unreadable.map_or(Ok(consistent), Err),
                    Ok(Progress::Other) => {}
                    Err(error) if error.errno.is_none() && is_part_of_list(&message) => {
                        unreadable.get_or_insert(error);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }

    fn receive(&mut self) -> Result<(), Error> {
        self.buffer.clear();
        self.buffer.reserve(LARGEST_DATAGRAM);
        loop {
            match self.socket.recv(&mut &mut self.buffer, 0) {
                Err(e) if e.raw_os_error() == Some(Errno::EINTR as i32) => {}
                received => return received.map(drop).map_err(Error::from),
            }
        }
    }
}

impl std::fmt::Debug for RouteSocket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RouteSocket({})", self.socket.as_raw_fd())
    }
}

/// Opens an rtnetlink socket for requests.
fn connect() -> std::io::Result<Socket> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.set_ext_ack(true)?;
    socket.set_cap_ack(true)?;
    // Lets a dump be restricted by the kernel, so that cost does not grow with the host's objects.
    socket.set_netlink_get_strict_chk(true)?;
    Ok(socket)
}

/// Splits the next message off a datagram.
fn next_message<'a>(rest: &mut &'a [u8]) -> Result<Option<Message<'a>>, Error> {
    if rest.is_empty() {
        return Ok(None);
    }
    let message = NetlinkBuffer::new_checked(*rest)
        .map_err(|e| Error::new(Code::Failed, format!("the kernel's answer is cut off: {e}")))?;
    let aligned = (message.length() as usize).next_multiple_of(4);
    *rest = rest.get(aligned..).unwrap_or_default();
    Ok(Some(message))
}

fn interpret(message: &Message<'_>) -> Result<Progress, Error> {
    let kind = message.message_type();
    let unreadable = |error| {
        Error::new(
            Code::Failed,
            format!("cannot read the kernel's answer (message type {kind}): {error}"),
        )
    };
    if let Some(object) = read_in_part(kind, message.payload()) {
        return Ok(Progress::Object(Box::new(object.map_err(unreadable)?)));
    }
    let bytes = message.clone().into_inner();
    let read = NetlinkMessage::<RouteNetlinkMessage>::deserialize(bytes).map_err(unreadable)?;
    match read.payload {
        NetlinkPayload::InnerMessage(object) => Ok(Progress::Object(Box::new(object))),
        NetlinkPayload::Done(done) if done.code != 0 => Err(refusal(done.code, &done.extended_ack)),
        NetlinkPayload::Done(_) => Ok(Progress::Done),
        NetlinkPayload::Error(error) => match error.code {
            None => Ok(Progress::Done),
            Some(code) => {
                let attributes = error.header.get(HEADER_LENGTH..).unwrap_or_default();
                Err(refusal(code.get(), attributes))
            }
        },
        _ => Ok(Progress::Other),
    }
}

/// Objects of which only what somebody needs is read; none for other messages.
fn read_in_part(kind: u16, payload: &[u8]) -> Option<Result<RouteNetlinkMessage, DecodeError>> {
    match kind {
        link_answer::TYPE => Some(link_answer::parse(payload).map(RouteNetlinkMessage::NewLink)),
        _ => traffic_answer::parse(kind, payload),
    }
}

/// `NLM_F_MULTI`: more messages of the same answer follow.
fn is_part_of_list(message: &Message<'_>) -> bool {
    message.flags() & NLM_F_MULTIPART != 0
}

/// A negative errno, and the attributes of an extended acknowledgement.
fn refusal(code: i32, attributes: &[u8]) -> Error {
    let errno = Errno::from_raw(code.checked_neg().unwrap_or(i32::MAX));
    Error::kernel(errno, extended_ack(attributes).as_deref())
}

/// The text among the attributes of an extended acknowledgement.
fn extended_ack(attributes: &[u8]) -> Option<String> {
    let text = NlasIterator::new(attributes)
        .map_while(Result::ok)
        .find(|attribute| attribute.kind() == ATTRIBUTE_TEXT)?;
    let text = String::from_utf8_lossy(text.value());
    Some(text.trim_end_matches('\0').to_owned())
}
