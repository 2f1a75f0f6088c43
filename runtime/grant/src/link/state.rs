//! A link as the kernel reports it, and how a request names one.

use super::{IpvlanMode, LinkFacts, Mac, MacvlanMode};
use crate::namespace::Namespace;
use crate::word::words;

/// One link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Link {
    pub index: u32,
    pub name: String,
    pub alternative_names: Vec<String>,
    /// `IFLA_INFO_KIND`; `loopback` and `physical` for devices without one.
    pub kind: String,
    pub mac: Mac,
    /// Bytes.
    pub mtu: u32,
    /// Packets.
    pub txqlen: u32,
    /// `IFF_UP`.
    pub up: bool,
    pub oper_state: OperState,
    pub promiscuous: bool,
    pub all_multicast: bool,
    /// The index of its master.
    pub master: Option<u32>,
    /// `IFLA_LINK`: the lower device, or a veth's peer; an index in that one's namespace.
    pub lower: Option<u32>,
    pub alias: String,
    pub details: Details,
    /// The settings of a bridge's port.
    pub port: Option<Port>,
}

words! {
    /// RFC 2863 operational state.
    #[derive(Default)]
    pub enum OperState {
        #[default]
        Unknown = "unknown",
        NotPresent = "not-present",
        Down = "down",
        LowerLayerDown = "lower-layer-down",
        Testing = "testing",
        Dormant = "dormant",
        Up = "up",
    }
}

/// The attributes of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Details {
    #[default]
    None,
    Bridge {
        vlan_filtering: bool,
        /// 0 for none.
        default_pvid: u16,
    },
    Macvlan(MacvlanMode),
    Ipvlan(IpvlanMode),
    /// The VLAN's id.
    Vlan(u16),
    /// The VRF's routing table.
    Vrf(u32),
}

/// A bridge port's flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Port {
    pub hairpin: bool,
    pub isolated: bool,
}

impl Link {
    /// Returns the facts that the gate matches, for a link in `namespace`.
    pub fn facts(&self, namespace: Namespace) -> LinkFacts {
        LinkFacts {
            namespace,
            index: self.index,
            name: self.name.clone(),
            kind: self.kind.clone(),
            // Everything in a container is its owner's.
            by_index: false,
            owner: match namespace {
                Namespace::Host => self.alias.clone(),
                Namespace::Container => String::new(),
            },
        }
    }
}

/// The other end of a veth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    pub index: u32,
    /// None if it is in neither of the two namespaces.
    pub namespace: Option<Namespace>,
}

/// How a request names a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkReference {
    Name(String),
    Index(u32),
}

impl LinkReference {
    /// Returns the facts about a link that does not exist.
    pub fn absent(&self, namespace: Namespace) -> LinkFacts {
        let (index, name) = match self {
            Self::Name(name) => (0, name.clone()),
            Self::Index(index) => (*index, String::new()),
        };
        LinkFacts {
            namespace,
            index,
            name,
            kind: String::new(),
            owner: String::new(),
            by_index: matches!(self, Self::Index(_)),
        }
    }
}
