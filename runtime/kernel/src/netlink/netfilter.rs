//! nfnetlink, which nftables and connection tracking share: a batch of messages, one change, one object, a list of
//! objects.

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST};
use netlink_sys::protocols::NETLINK_NETFILTER;
use nix::errno::Errno;

use super::batch::Batch;
use super::message::{
    Answer, FAMILY_HEADER, MessageType, Received, Refusal, close, push_family_header, push_header,
};
use super::socket::{Protocol, Socket};
use crate::error::Result;

/// The protocol `NETLINK_NETFILTER`.
pub(crate) struct Netfilter;

impl Protocol for Netfilter {
    const NUMBER: isize = NETLINK_NETFILTER;
}

/// An open nfnetlink socket.
pub(crate) type NetfilterSocket = Socket<Netfilter>;

impl NetfilterSocket {
    /// Carries a batch out. `echo` gets the objects that were requested with `NLM_F_ECHO`: type, the message's sequence
    /// number, attributes.
    pub(crate) fn transact(
        &mut self,
        batch: Batch,
        mut echo: impl FnMut(MessageType, u32, &[u8]),
    ) -> Result<(), (Batch, Refusal)> {
        let last = batch.last();
        let batch = batch.finish();
        let outcome = self.send(batch.bytes()).and_then(|()| {
            self.receive(0..=last, |header, answer| match answer {
                Answer::Object => {
                    echo(
                        MessageType(header.kind),
                        header.sequence,
                        attributes(header),
                    );
                    false
                }
                Answer::Acknowledged => header.sequence == last,
                Answer::Done => false,
            })
        });
        outcome.map(drop).map_err(|refusal| (batch, refusal))
    }

    /// Sends one message and waits for its acknowledgement.
    pub(crate) fn change(
        &mut self,
        kind: impl Into<MessageType>,
        family: u8,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Refusal> {
        let request = self.request(kind.into(), family, NLM_F_ACK, write);
        self.ask(&request, |_| false).map(drop)
    }

    /// Requests one object and returns its attributes; none if it does not exist.
    pub(crate) fn get(
        &mut self,
        kind: impl Into<MessageType>,
        family: u8,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Option<Vec<u8>>> {
        let request = self.request(kind.into(), family, NLM_F_ACK, write);
        let mut found = None;
        let answer = self.ask(&request, |seen| {
            found = Some(attributes(seen).to_vec());
            false
        });
        match answer {
            Err(refusal) if refusal.errno == Errno::ENOENT => Ok(None),
            Err(refusal) => Err(refusal.into()),
            Ok(_) => Ok(found),
        }
    }

    /// Requests a list and returns the attributes of each object. Errors: as [`select`](Self::select).
    pub(crate) fn dump(
        &mut self,
        kind: impl Into<MessageType>,
        family: u8,
        write: impl Fn(&mut Vec<u8>),
    ) -> Result<Vec<Vec<u8>>> {
        self.select(kind, family, write, |content| Some(content.to_vec()))
    }

    /// Requests a list and returns what `keep` makes of each object's attributes. Errors: also
    /// `Busy` if the list changes faster than it can be read.
    pub(crate) fn select<T>(
        &mut self,
        kind: impl Into<MessageType>,
        family: u8,
        write: impl Fn(&mut Vec<u8>),
        keep: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Vec<T>> {
        let kind = kind.into();
        self.read_unchanged(|socket| {
            let request = socket.request(kind, family, NLM_F_DUMP, &write);
            let mut objects = Vec::new();
            let is_consistent = socket.ask(&request, |seen| {
                objects.extend(keep(attributes(seen)));
                false
            })?;
            Ok((objects, is_consistent))
        })
    }

    /// One message. `flags` are added to `NLM_F_REQUEST`.
    fn request(
        &mut self,
        kind: MessageType,
        family: u8,
        flags: u16,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Vec<u8> {
        let sequence = self.next_sequence();
        let mut bytes = Vec::with_capacity(256);
        let start = push_header(&mut bytes, kind, NLM_F_REQUEST | flags, sequence);
        push_family_header(&mut bytes, family, 0);
        write(&mut bytes);
        close(&mut bytes, start);
        bytes
    }
}

/// What is behind the family of a message.
fn attributes<'a>(object: &Received<'a>) -> &'a [u8] {
    object.content.get(FAMILY_HEADER..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::{NLM_F_DUMP_INTR, NLM_F_MULTIPART};
    use weir_kit::kernel_peer::saying;

    use super::*;
    use crate::error::Code;

    /// `NLMSG_DONE`.
    const DONE: MessageType = MessageType(3);
    const SETS: MessageType = MessageType::new(10, 9);

    /// A part of the answer to the socket's first question, or a later one.
    fn part(kind: MessageType, flags: u16, question: u32, content: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let start = push_header(&mut bytes, kind, NLM_F_MULTIPART | flags, question);
        push_family_header(&mut bytes, 0, 0);
        bytes.extend(content);
        close(&mut bytes, start);
        bytes
    }

    fn listed(said: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
        let (socket, _peer) = saying(&said.concat());
        NetfilterSocket::with_peer(socket).dump(SETS, 0, |_| {})
    }

    #[test]
    fn a_list_that_changed_meanwhile_is_asked_for_again() {
        let old = part(SETS, NLM_F_DUMP_INTR, 1, b"old!");
        let new = part(SETS, 0, 2, b"new!");
        let said = [old, part(DONE, 0, 1, &[]), new, part(DONE, 0, 2, &[])];
        assert_eq!(listed(&said).expect("a list"), [b"new!"]);
    }

    #[test]
    fn a_list_that_ends_as_interrupted_is_asked_for_again() {
        let said = [
            part(SETS, 0, 1, b"old!"),
            part(DONE, NLM_F_DUMP_INTR, 1, &[]),
            part(DONE, 0, 2, &[]),
        ];
        assert!(listed(&said).expect("a list").is_empty());
    }

    #[test]
    fn a_list_that_breaks_off_is_no_list() {
        let error = listed(&[part(SETS, 0, 1, b"half")]).expect_err("no end");
        assert_eq!(error.code, Code::Exhausted, "{error}");
    }
}
