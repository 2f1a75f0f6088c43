//! One inverse.

use weir_grant::link::LinkFacts;
use weir_grant::{address, firewall, firewalld, link, neighbour, route, store, sysctl, traffic};

/// The inverse of something that an invocation did.
#[derive(Debug)]
pub enum Undo {
    Link(link::Delete),
    Update(Box<link::Update>),
    Port(link::UpdatePort),
    Move {
        back: link::Move,
        /// The index by which the inverses of what was done before the move name the link.
        index: u32,
    },
    Parameter(sysctl::Write),
    /// A parameter of the host's.
    SharedParameter {
        back: sysctl::Write,
        /// The value that the invocation wrote.
        changed: String,
    },
    Address(address::Delete),
    Route(route::Delete),
    Neighbour(neighbour::Delete),
    Qdisc(traffic::DeleteQdisc),
    Class(traffic::DeleteClass),
    Filter(traffic::DeleteFilter),
    Firewall(firewall::Apply),
    Source(firewalld::RemoveSource),
    Store(store::Revert),
    /// DEL of the IPAM plugin.
    Ipam,
}

impl Undo {
    /// What it takes in memory, in bytes, about.
    pub(super) fn size(&self) -> usize {
        const PLAIN: usize = size_of::<Undo>() + 256;
        PLAIN
            + match self {
                Self::Store(revert) => revert.size(),
                Self::Firewall(apply) => apply.size(),
                Self::Parameter(write) => write.key.len() + write.value.len(),
                Self::SharedParameter { back, changed } => {
                    back.key.len() + back.value.len() + changed.len()
                }
                _ => 0,
            }
    }

    /// The link of an inverse that is still due after the link has moved. All else that a link had,
    /// it has lost by moving.
    pub(super) fn link_that_stays(&mut self) -> Option<&mut LinkFacts> {
        match self {
            Self::Link(delete) => Some(&mut delete.link),
            Self::Update(update) => Some(&mut update.link),
            _ => None,
        }
    }
}
