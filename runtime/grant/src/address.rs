//! Capability `address`: IP addresses of links.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::act::{Act, Severity};
use super::facts::LinkFacts;
use super::field::types::{InNamespace, Kinds, LinkNames, Owners};
use super::field::{
    Has::{self, One},
    Networks,
};
use super::invocation::Invocation;
use super::operation::{Operation, names_links, operations, reads};
use super::overlap::{Overlap, overlapping};
use super::rule::declare::rule;
use super::verb::Verb;
use super::word::words;

/// Adds an address to a link.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Add {
    pub link: LinkFacts,
    pub address: IpNet,
    pub peer: Option<IpAddr>,
    pub broadcast: Option<IpAddr>,
    pub no_duplicate_detection: bool,
    pub no_prefix_route: bool,
    /// The host route that its network overlaps, if a rule of the grant bounds `overlaps`.
    pub overlap: Option<Overlap>,
}

impl Add {
    /// What takes it back.
    pub fn inverse(&self) -> Delete {
        Delete {
            link: self.link.clone(),
            address: self.address,
        }
    }
}

/// Removes an address from a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delete {
    pub link: LinkFacts,
    pub address: IpNet,
}

/// Reads a link's addresses, of one family or of both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct List {
    pub link: LinkFacts,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
}

/// Waits for duplicate address detection to finish.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settle {
    pub link: LinkFacts,
    pub timeout_ms: u32,
}

words! {
    /// An address family.
    pub enum Family {
        Ipv4 = "ipv4",
        Ipv6 = "ipv6",
    }
}

impl Family {
    /// Returns the family of an address.
    pub fn of(address: &IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::Ipv4,
            IpAddr::V6(_) => Self::Ipv6,
        }
    }
}

/// One address of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub address: IpNet,
    /// The other end of a point-to-point address.
    pub peer: Option<IpAddr>,
    /// IPv4 only.
    pub broadcast: Option<IpAddr>,
    /// IPv6: duplicate address detection is still under way.
    pub tentative: bool,
    /// IPv6: duplicate address detection found the address taken.
    pub duplicate: bool,
}

impl Operation for Add {
    type Rule = AddressRule;
    const NAME: &'static str = "address.add";
    const VERB: Verb = Verb::Create;

    /// The kernel routes the peer's network over the link and accepts the broadcast address as its own,
    /// so both must be in the networks of the grant, as the address must.
    fn requirements(&self) -> Vec<Requirement> {
        let length = self.address.prefix_len();
        let far = |peer: &IpAddr| IpNet::new(*peer, length).unwrap_or_else(|_| (*peer).into());
        let reached = [
            (Role::Own, Some(self.address)),
            (Role::Peer, self.peer.as_ref().map(far)),
            (Role::Broadcast, self.broadcast.map(IpNet::from)),
        ];
        let needed = reached.into_iter().filter(|(_, address)| address.is_some());
        needed
            .map(|(role, address)| Requirement {
                role,
                overlap: self.overlap.clone(),
                ..Requirement::new(&self.link, address, Self::VERB)
            })
            .collect()
    }

    names_links!(link);
}

impl Act for Add {
    fn act(&self) -> String {
        let mut text = format!("add address {} to {}", self.address, self.link);
        let peer = self.peer.map(|peer| format!(", peer {peer}"));
        let broadcast = self.broadcast.map(|b| format!(", broadcast address {b}"));
        text.extend(peer.into_iter().chain(broadcast));
        text + &overlapping(self.overlap.as_ref())
    }

    fn severity(&self, invocation: &Invocation) -> Severity {
        let link = Severity::of_using(&self.link, invocation);
        match &self.overlap {
            Some(overlap) if !overlap.is_of_network(invocation) => {
                link.max(Severity::of_traffic_in(self.link.namespace))
            }
            _ => link,
        }
    }
}

impl Act for Delete {
    fn act(&self) -> String {
        format!("remove address {} from {}", self.address, self.link)
    }

    fn severity(&self, invocation: &Invocation) -> Severity {
        Severity::of_changing(&self.link, invocation)
    }
}

reads!(List, Settle);

operations! {
    AddressRule;
    Delete: "address.delete", Delete, about(link), |o| Requirement::new(&o.link, Some(o.address), Self::VERB);
    List: "address.list", Read, about(link), |o| Requirement::new(&o.link, None, Self::VERB);
    Settle: "address.settle", Read, about(link), |o| Requirement::new(&o.link, None, Self::VERB);
}

rule! {
    /// `address:` in a grant. Absent fields match everything.
    pub struct AddressRule: Address for r: Requirement, which may "add" Create, "look at" Read, "remove" Delete {
        /// Where; in both, when left out.
        namespace: InNamespace = One(r.link.namespace);
        /// Kinds of links, as the kernel reports them.
        kinds: Kinds = Has::if_any(r.link.kind_if_there());
        /// Names of links.
        links: LinkNames = One(r.link.name());
        => verbs = r.verb;
        /// Owners of the links, in `host`: this network, this attachment.
        owners: Owners = Has::if_any(r.link.owner_if_there()), never_suggested();
        /// Networks that the address must be in.
        #[serde(with = "Networks")]
        addresses: Networks = Has::if_any(r.address), only_for(&[Verb::Create, Verb::Delete]),
            left_out("any-address", "it may give and take any address"), also_in_container();
        /// The routes of `host` that an address or a route may overlap: those over links of this network or of this
        /// attachment, and the default route. Any, when left out.
        overlaps: Owners = Has::if_any(r.overlap.as_ref().map(Overlap::mark)), only_for(&[Verb::Create]), never_suggested(), absent_from_queries();
    } says |rule| {
        let addresses = rule.with("addresses", " within ");
        format!("{} addresses{addresses} of {}", rule.verbs(), rule.interfaces("links"))
    }
}

/// One address of one link, and what is done with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub link: LinkFacts,
    /// None to read all addresses of the link.
    pub address: Option<IpNet>,
    pub role: Role,
    pub overlap: Option<Overlap>,
    pub verb: Verb,
}

/// The role of an address on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Own,
    Peer,
    Broadcast,
}

impl Requirement {
    fn new(link: &LinkFacts, address: Option<IpNet>, verb: Verb) -> Self {
        Self {
            link: link.clone(),
            address,
            role: Role::Own,
            overlap: None,
            verb,
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { link, verb, .. } = self;
        match (self.address, self.role) {
            (None, _) => write!(f, "{verb} the addresses of {link}"),
            (Some(address), Role::Own) => {
                let overlap = overlapping(self.overlap.as_ref());
                write!(f, "{verb} address {address} of {link}{overlap}")
            }
            (Some(peer), Role::Peer) => write!(f, "{verb} peer address {peer} of {link}"),
            (Some(broadcast), Role::Broadcast) => {
                write!(f, "{verb} broadcast address {} of {link}", broadcast.addr())
            }
        }
    }
}
