//! Notifications of changes, to wait without polling.

use std::fmt;
use std::time::{Duration, Instant};

use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, protocols::NETLINK_ROUTE};
use nix::errno::Errno;
use nix::sys::socket::{setsockopt, sockopt::ReceiveTimeout};
use nix::sys::time::{TimeVal, TimeValLike};

use super::socket::errno_of;
use crate::error::{Code, Error, Result};

/// A subscription to one group in one namespace.
pub(crate) struct Notifications {
    socket: Socket,
    buffer: Vec<u8>,
}

/// No notification is larger.
const LARGEST: usize = 16 << 10;

impl Notifications {
    /// Subscribes to a group (`RTNLGRP_*`) in the calling thread's network namespace. Look at the state only after subscribing, so that no change
    /// is missed.
    pub(crate) fn subscribe(group: u32) -> Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.add_membership(group)?;
        Ok(Self {
            socket,
            buffer: Vec::with_capacity(LARGEST),
        })
    }

    /// Waits for a notification about the link with this index. Lost notifications count as one. Returns false on
    /// timeout.
    pub(crate) fn next(&mut self, wait: &Wait, link: u32) -> Result<bool> {
        loop {
            let left = wait.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            match self.receive(left) {
                Ok(()) if self.is_about(link) => return Ok(true),
                Ok(()) | Err(Errno::EAGAIN | Errno::EINTR) => {}
                Err(Errno::ENOBUFS) => return Ok(true),
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    fn receive(&mut self, timeout: Duration) -> nix::Result<()> {
        // A timeout of zero would be none at all.
        let microseconds = i64::try_from(timeout.as_micros())
            .unwrap_or(i64::MAX)
            .max(1);
        let timeout = TimeVal::microseconds(microseconds);
        setsockopt(&self.socket, ReceiveTimeout, &timeout)?;
        self.buffer.clear();
        self.buffer.reserve(LARGEST);
        let received = self.socket.recv(&mut &mut self.buffer, 0);
        received.map(drop).map_err(|e| errno_of(&e))
    }

    /// A notification is one datagram. One that cannot be read may well be about the link.
    fn is_about(&self, link: u32) -> bool {
        use RouteNetlinkMessage::{DelAddress, DelLink, NewAddress, NewLink};
        let Ok(message) = NetlinkMessage::deserialize(&self.buffer) else {
            return true;
        };
        match message.payload {
            NetlinkPayload::InnerMessage(NewLink(change) | DelLink(change)) => {
                change.header.index == link
            }
            NetlinkPayload::InnerMessage(NewAddress(change) | DelAddress(change)) => {
                change.header.index == link
            }
            _ => false,
        }
    }
}

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    start: Instant,
    until: Instant,
}

impl Wait {
    /// From now for that many milliseconds, and until `deadline` at the latest.
    pub(crate) fn new(timeout_ms: u32, deadline: Instant) -> Self {
        let start = Instant::now();
        let until = start + Duration::from_millis(timeout_ms.into());
        Self {
            start,
            until: until.min(deadline),
        }
    }

    /// The error after the deadline. `state` is the state at that time.
    pub(crate) fn timed_out(&self, state: impl fmt::Display) -> Error {
        let waited = self.until.saturating_duration_since(self.start).as_millis();
        Error::new(Code::TimedOut, format!("{state} after {waited} ms"))
    }
}
