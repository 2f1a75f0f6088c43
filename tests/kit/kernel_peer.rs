//! A kernel whose replies are given: the other end of a netlink socket that weir reads from.
//!
//! An input is netlink messages as they come from a socket. Each has its length and its sequence
//! number put right, so that it is taken for an answer, and messages of one number make one datagram.
//! When all datagrams are read, the next read fails: whoever waits for more, ends.

use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, send, socketpair};

/// The bytes of `struct nlmsghdr`.
const HEADER: usize = 16;

/// Operations ask a few questions at most; the numbers that messages have in an input are counted on
/// from the socket's first.
const QUESTIONS: u32 = 4;

/// The first sequence number of a socket.
const FIRST: u32 = (1 << 31) + 1;

/// A socket whose other end, the second one, has said what the input says. It must be kept as long as the first.
pub fn saying(input: &[u8]) -> (OwnedFd, OwnedFd) {
    let (socket, peer) = pair();
    for datagram in datagrams(input) {
        // What finds no room is not said.
        let _ = send(peer.as_raw_fd(), &datagram, MsgFlags::MSG_DONTWAIT);
    }
    (socket, peer)
}

fn pair() -> (OwnedFd, OwnedFd) {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags).expect("two descriptors")
}

/// The messages of an input, with sequence numbers from the first on.
fn datagrams(mut input: &[u8]) -> Vec<Vec<u8>> {
    let mut datagrams: Vec<(u32, Vec<u8>)> = Vec::new();
    while let Some((header, _)) = input.split_first_chunk::<HEADER>() {
        let number = |at: usize| {
            u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let length = (number(0) as usize).clamp(HEADER, input.len());
        let sequence = FIRST + number(8).wrapping_sub(1) % QUESTIONS;
        let mut message = input[..length].to_vec();
        message[..4].copy_from_slice(&(length as u32).to_ne_bytes());
        message[8..12].copy_from_slice(&sequence.to_ne_bytes());
        message.resize(length.next_multiple_of(4), 0);
        match datagrams.last_mut() {
            Some((same, datagram)) if *same == sequence => datagram.extend(message),
            _ => datagrams.push((sequence, message)),
        }
        input = input.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    datagrams
        .into_iter()
        .map(|(_, datagram)| datagram)
        .collect()
}
