//! Netlink without waiting for anything but the kernel: one [`Socket`](socket::Socket), and what two protocols say over it.
//!
//! A socket can bypass the gate, so none leaves this crate.

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};

mod batch;
mod link_answer;
mod message;
mod netfilter;
mod notification;
mod route;
mod socket;
mod traffic_answer;

/// The flags of a request that makes something new.
pub(crate) const NEW: u16 = NLM_F_CREATE | NLM_F_EXCL;

pub(crate) use batch::Batch;
pub(crate) use message::{FAMILY_HEADER, MessageType, Refusal};
pub(crate) use netfilter::NetfilterSocket;
pub(crate) use notification::{Notifications, Wait};
pub(crate) use route::RouteSocket;
pub(crate) use traffic_answer::OPTIONS;
