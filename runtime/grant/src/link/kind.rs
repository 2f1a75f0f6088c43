//! The kind of a new link, with the attributes of that kind.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{BridgeChanges, LinkFacts, Mac};
use crate::namespace::Namespace;
use crate::word::words;

/// The kind of a link to create, with what only that kind has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum NewKind {
    Veth {
        peer: NewPeer,
    },
    Bridge(BridgeChanges),
    Macvlan {
        lower: LinkFacts,
        mode: MacvlanMode,
        bc_queue_len: Option<u32>,
    },
    Ipvlan {
        lower: LinkFacts,
        mode: IpvlanMode,
    },
    Vlan {
        lower: LinkFacts,
        id: u16,
        protocol: VlanProtocol,
    },
    Dummy,
    Tap(NewTap),
    Vrf {
        table: u32,
    },
    Ifb,
}

impl NewKind {
    /// Returns the kernel's word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Veth { .. } => "veth",
            Self::Bridge(_) => "bridge",
            Self::Macvlan { .. } => "macvlan",
            Self::Ipvlan { .. } => "ipvlan",
            Self::Vlan { .. } => "vlan",
            Self::Dummy => "dummy",
            Self::Tap(_) => "tun",
            Self::Vrf { .. } => "vrf",
            Self::Ifb => "ifb",
        }
    }

    /// Returns the lower device of the new one.
    pub fn lower(&self) -> Option<&LinkFacts> {
        match self {
            Self::Macvlan { lower, .. } | Self::Ipvlan { lower, .. } | Self::Vlan { lower, .. } => {
                Some(lower)
            }
            _ => None,
        }
    }

    pub(super) fn lower_mut(&mut self) -> Option<&mut LinkFacts> {
        match self {
            Self::Macvlan { lower, .. } | Self::Ipvlan { lower, .. } | Self::Vlan { lower, .. } => {
                Some(lower)
            }
            _ => None,
        }
    }
}

words! {
    /// How a macvlan device passes frames on.
    pub enum MacvlanMode {
        Private = "private",
        Vepa = "vepa",
        Bridge = "bridge",
        Passthru = "passthru",
        Source = "source",
    }
}

words! {
    /// The layer at which an ipvlan device passes packets on.
    pub enum IpvlanMode {
        L2 = "l2",
        L3 = "l3",
        L3s = "l3s",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VlanProtocol {
    #[serde(rename = "802.1Q")]
    Ieee8021q,
    #[serde(rename = "802.1ad")]
    Ieee8021ad,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTap {
    /// Called `user` in records, since a new link has an `owner` beside it: the mark.
    #[serde(rename = "user")]
    pub owner: Option<u32>,
    pub group: Option<u32>,
    pub multi_queue: bool,
    pub selinux_context: Option<String>,
}

/// The other end of a veth pair.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewPeer {
    pub namespace: Namespace,
    /// If empty, the kernel chooses `vethN`.
    pub name: String,
    pub mac: Option<Mac>,
    pub mtu: Option<u32>,
    pub up: bool,
    /// The owner's mark of a link in `host`: its alias.
    pub owner: Option<String>,
}
