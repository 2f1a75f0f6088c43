//! A synchronous netlink socket: one request, its answer, and the kernel's reason when it refuses.

use std::io;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::os::fd::{AsRawFd, RawFd};

use netlink_sys::SocketAddr;
use nix::errno::Errno;
use nix::libc::MSG_DONTWAIT;
use nix::sys::socket::{setsockopt, sockopt};

use super::message::{Answer, Received, Refusal};
use crate::error::{Error, Result, WhileDoing as _};

/// The kernel puts no more than this into one datagram.
const LARGEST_DATAGRAM: usize = 64 << 10;

/// A request that is larger may need more room than a socket has at first.
const USUAL_ROOM: usize = 128 << 10;

/// Sequence numbers of questions, far from those of a batch's messages: late messages about a refused batch must not be
/// taken for an answer.
const FIRST_QUESTION: u32 = 1 << 31;

/// How often a list that changed while the kernel wrote it is requested again.
const DUMP_ATTEMPTS: u32 = 20;

/// What is spoken over a socket.
pub(crate) trait Protocol {
    /// `NETLINK_…`.
    const NUMBER: isize;

    /// Sets the options that only sockets of this protocol have.
    fn set_options(_: &mut netlink_sys::Socket) -> io::Result<()> {
        Ok(())
    }
}

/// An open socket, in the namespace of the thread that opened it.
pub(crate) struct Socket<P> {
    socket: netlink_sys::Socket,
    sequence: u32,
    buffer: Vec<u8>,
    protocol: PhantomData<P>,
}

impl<P: Protocol> Socket<P> {
    /// Opens a socket in the calling thread's network namespace.
    pub(crate) fn open() -> Result<Self> {
        connect::<P>()
            .map(Self::over)
            .while_doing("open a netlink socket")
    }

    /// A socket whose peer is not the kernel, for tests.
    #[cfg(any(feature = "fuzzing", test))]
    pub(crate) fn with_peer(socket: std::os::fd::OwnedFd) -> Self {
        use std::os::fd::{FromRawFd, IntoRawFd};
        // SAFETY: the descriptor is open, and owned by the new socket.
        Self::over(unsafe { netlink_sys::Socket::from_raw_fd(socket.into_raw_fd()) })
    }

    fn over(socket: netlink_sys::Socket) -> Self {
        Self {
            socket,
            sequence: FIRST_QUESTION,
            buffer: Vec::new(),
            protocol: PhantomData,
        }
    }

    /// The sequence number of the next question.
    pub(super) fn next_sequence(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(1).max(FIRST_QUESTION);
        self.sequence
    }

    /// Sends a request, or several in one.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        if bytes.len() > USUAL_ROOM {
            self.make_room(2 * bytes.len());
        }
        match self.socket.send(bytes, 0) {
            Ok(_) => Ok(()),
            Err(error) => Err(errno_of(&error).into()),
        }
    }

    /// If neither works, sending fails with EMSGSIZE.
    fn make_room(&self, bytes: usize) {
        if setsockopt(&self.socket, sockopt::SndBufForce, &bytes).is_err() {
            let _ = setsockopt(&self.socket, sockopt::SndBuf, &bytes);
        }
    }

    /// Sends the last question, and hands the objects of its answer to `object` until the answer is complete or that
    /// returns true. Returns whether the list that they are was the same from first to last.
    pub(super) fn ask(
        &mut self,
        question: &[u8],
        mut object: impl FnMut(&Received<'_>) -> bool,
    ) -> Result<bool, Refusal> {
        let own = self.sequence;
        self.send(question)?;
        self.receive(own..=own, |message, answer| match answer {
            Answer::Object => object(message),
            Answer::Acknowledged | Answer::Done => true,
        })
    }

    /// Hands the messages that answer to `sequences` to `each` until that returns true for the last one, or the kernel
    /// refuses. Returns whether none of them says that a list changed while it was read.
    pub(super) fn receive(
        &mut self,
        sequences: RangeInclusive<u32>,
        mut each: impl FnMut(&Received<'_>, Answer) -> bool,
    ) -> Result<bool, Refusal> {
        let (mut overrun, mut interrupted) = (false, false);
        loop {
            self.receive_datagram(&mut overrun)?;
            let mut rest = &self.buffer[..];
            while let Some(message) = Received::next(&mut rest)? {
                if !sequences.contains(&message.sequence) {
                    continue;
                }
                interrupted |= message.is_interrupted();
                if let Some(answer) = message.answer()?
                    && each(&message, answer)
                {
                    return Ok(!interrupted);
                }
            }
        }
    }

    /// After an `overrun` of the receive buffer the first messages are still there, but the awaited one may be lost.
    fn receive_datagram(&mut self, overrun: &mut bool) -> Result<(), Refusal> {
        self.buffer.clear();
        self.buffer.reserve(LARGEST_DATAGRAM);
        loop {
            let flags = if *overrun { MSG_DONTWAIT } else { 0 };
            let Err(error) = self.socket.recv(&mut &mut self.buffer, flags) else {
                return Ok(());
            };
            match errno_of(&error) {
                Errno::EINTR => {}
                Errno::ENOBUFS => *overrun = true,
                Errno::EAGAIN => return Err(Errno::ENOBUFS.into()),
                other => return Err(other.into()),
            }
        }
    }

    /// Repeats `once` until its list did not change while it was read.
    ///
    /// Errors: `Busy` when the list changes faster than the kernel can write it.
    pub(super) fn read_unchanged<T>(
        &mut self,
        mut once: impl FnMut(&mut Self) -> Result<(T, bool)>,
    ) -> Result<T> {
        for _ in 0..DUMP_ATTEMPTS {
            if let (list, true) = once(self)? {
                return Ok(list);
            }
        }
        Err(Error::busy("the list keeps changing while it is read"))
    }
}

impl<P> AsRawFd for Socket<P> {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

fn connect<P: Protocol>() -> io::Result<netlink_sys::Socket> {
    let mut socket = netlink_sys::Socket::new(P::NUMBER)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.set_ext_ack(true)?;
    socket.set_cap_ack(true)?;
    P::set_options(&mut socket)?;
    Ok(socket)
}

/// The error number of a call of the kernel.
pub(super) fn errno_of(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}
