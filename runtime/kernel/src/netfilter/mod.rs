//! The nfnetlink socket, which nftables and connection tracking share: a batch of messages, one
//! change, one object, a list of objects.

mod batch;
mod message;

use std::ops::RangeInclusive;

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_NETFILTER};
use nix::errno::Errno;
use nix::sys::socket::{setsockopt, sockopt};

use self::message::{Answer, Received, close, push_family_header, push_header};
use super::error::{Code, Error};

pub use self::batch::Batch;
pub use self::message::{FAMILY_HEADER, MessageType, Refusal};

/// The kernel puts no more than this into one datagram.
const LARGEST_DATAGRAM: usize = 64 << 10;

/// A batch that is larger may need more room than a socket has at first.
const USUAL_ROOM: usize = 128 << 10;

/// Sequence numbers of questions, far from those of a batch's messages: what the kernel still says
/// about a batch after its first refusal must not be taken for an answer.
const FIRST_QUESTION: u32 = 1 << 31;

/// A list that changes all the time is read so often.
const MOST_ATTEMPTS: usize = 20;

/// An open nfnetlink socket, in the namespace of the thread that opened it.
pub struct NetfilterSocket {
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

    /// A socket whose other end the fuzz targets hold, and not the kernel.
    #[cfg(fuzzing)]
    pub fn with_peer(socket: std::os::fd::OwnedFd) -> Self {
        use std::os::fd::{FromRawFd, IntoRawFd};
        Self {
            // SAFETY: the descriptor is open, and nobody else's from here on.
            socket: unsafe { Socket::from_raw_fd(socket.into_raw_fd()) },
            buffer: Vec::new(),
            sequence: FIRST_QUESTION,
        }
    }

    /// Carries a batch out. `echo` gets the objects of which the kernel was asked to tell
    /// (`NLM_F_ECHO`): type, the message's sequence number, attributes.
    pub fn transact(
        &mut self,
        batch: Batch,
        mut echo: impl FnMut(MessageType, u32, &[u8]),
    ) -> Result<(), (Batch, Refusal)> {
        let last = batch.last();
        let batch = batch.finish();
        let outcome = self.send(batch.bytes()).and_then(|()| {
            self.receive(0..=last, |answer| match answer {
                Answer::Object {
                    kind,
                    sequence,
                    content,
                    ..
                } => {
                    echo(kind, sequence, content);
                    false
                }
                Answer::Acknowledged { sequence } => sequence == last,
                Answer::Done => false,
            })
        });
        outcome.map_err(|refusal| (batch, refusal))
    }

    /// Sends one message and waits for its acknowledgement.
    pub fn change(
        &mut self,
        kind: impl Into<MessageType>,
        family: u8,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Refusal> {
        let request = self.request(kind.into(), family, NLM_F_ACK, |bytes| {
            write(bytes);
            Ok::<_, Refusal>(())
        })?;
        self.ask(&request, |_| {})
    }

    /// Asks for one object and returns its attributes; none when there is no such object.
    pub fn get<E: From<Refusal>>(
        &mut self,
        kind: impl Into<MessageType>,
        family: u8,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<Option<Vec<u8>>, E> {
        let request = self.request(kind.into(), family, NLM_F_ACK, write)?;
        let mut found = None;
        match self.ask(&request, |content| found = Some(content.to_vec())) {
            Err(refusal) if refusal.errno == Errno::ENOENT => Ok(None),
            Err(refusal) => Err(refusal.into()),
            Ok(()) => Ok(found),
        }
    }

    /// Asks for a list and returns the attributes of each object. Errors: as [`select`](Self::select).
    pub fn dump(
        &mut self,
        kind: impl Into<MessageType>,
        family: u8,
        write: impl Fn(&mut Vec<u8>),
    ) -> Result<Vec<Vec<u8>>, Error> {
        self.select(kind, family, write, |content| Some(content.to_vec()))
    }

    /// Asks for a list and returns what `keep` makes of each object's attributes. Errors: also
    /// `Busy`, when the list changes faster than it can be read.
    pub fn select<T>(
        &mut self,
        kind: impl Into<MessageType>,
        family: u8,
        write: impl Fn(&mut Vec<u8>),
        keep: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Vec<T>, Error> {
        let kind = kind.into();
        for _ in 0..MOST_ATTEMPTS {
            let request = self.request(kind, family, NLM_F_DUMP, |bytes| {
                write(bytes);
                Ok::<_, Error>(())
            })?;
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
                    objects.extend(keep(content));
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
            "the list changes faster than it can be read",
        ))
    }

    /// A message of its own. `flags` are added to `NLM_F_REQUEST`.
    fn request<E>(
        &mut self,
        kind: MessageType,
        family: u8,
        flags: u16,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<Vec<u8>, E> {
        self.sequence += 1;
        let mut bytes = Vec::with_capacity(256);
        let start = push_header(&mut bytes, kind, NLM_F_REQUEST | flags, self.sequence);
        push_family_header(&mut bytes, family, 0);
        write(&mut bytes)?;
        close(&mut bytes, start);
        Ok(bytes)
    }

    /// Sends the last request, and hands the objects of the answer to `object` until the kernel
    /// acknowledges the request.
    fn ask(&mut self, request: &[u8], mut object: impl FnMut(&[u8])) -> Result<(), Refusal> {
        let own = self.sequence;
        self.send(request)?;
        self.receive(own..=own, |answer| match answer {
            Answer::Object { content, .. } => {
                object(content);
                false
            }
            Answer::Acknowledged { .. } => true,
            Answer::Done => false,
        })
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
            while let Some(message) = Received::next(&mut rest) {
                if sequences.contains(&message.sequence)
                    && let Some(answer) = message.answer()?
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
