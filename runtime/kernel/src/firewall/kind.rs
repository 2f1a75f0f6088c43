//! The types of nftables messages.

use crate::netlink::MessageType;

/// `NFNL_SUBSYS_NFTABLES`.
pub(super) const SUBSYSTEM: u8 = 10;

/// `NFT_MSG_…`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    NewTable = 0,
    GetTable = 1,
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
    GetGeneration = 16,
}

impl From<Kind> for MessageType {
    fn from(kind: Kind) -> Self {
        Self::new(SUBSYSTEM, kind as u8)
    }
}
