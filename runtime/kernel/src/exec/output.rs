//! What a program prints, up to a bound.

use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

/// What happens to output beyond the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beyond {
    /// [`Output::read`] returns false.
    Fails,
    /// It is read and dropped.
    IsDropped,
}

/// The reading end of a pipe, and what came out of it.
pub(super) struct Output<P> {
    /// None once all writers have closed it.
    pipe: Option<P>,
    bytes: Vec<u8>,
    most: usize,
    beyond: Beyond,
}

impl<P: Read + AsFd> Output<P> {
    /// Takes a pipe and makes it non-blocking.
    pub(super) fn new(pipe: P, most: usize, beyond: Beyond) -> io::Result<Self> {
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(Self {
            pipe: Some(pipe),
            bytes: Vec::new(),
            most,
            beyond,
        })
    }

    /// The descriptor to poll, while there is a writer.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Reads what is available. Returns false if that exceeds the bound.
    pub(super) fn read(&mut self) -> io::Result<bool> {
        let mut piece = [0; 16 << 10];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut piece) {
                Ok(0) => self.pipe = None,
                Ok(length) if !self.keep(&piece[..length]) => return Ok(false),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// What was kept.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn keep(&mut self, piece: &[u8]) -> bool {
        let fits = piece.len().min(self.most - self.bytes.len());
        self.bytes.extend_from_slice(&piece[..fits]);
        fits == piece.len() || self.beyond == Beyond::IsDropped
    }
}
