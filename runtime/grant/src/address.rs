//! Capability `address`: IP addresses of links.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::facts::{LinkFacts, names_links};
use super::fields::{Networks, Verbs};
use super::namespace::Namespace;
use super::operation::{Capability, Fields, Invocation, Miss, Operation, Rule, Verb, any};
use super::overlap::{Overlap, may_overlap};
use super::owner::Owner;
use super::pattern::{Pattern, contains};

/// Adds an address to a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Add {
    pub link: LinkFacts,
    pub address: IpNet,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broadcast: Option<IpAddr>,
    pub no_duplicate_detection: bool,
    pub no_prefix_route: bool,
    /// What of the host its network overlaps, where a rule asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
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

/// Waits until duplicate address detection is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settle {
    pub link: LinkFacts,
    pub timeout_ms: u32,
}

/// An address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub enum Family {
    Ipv4,
    Ipv6,
}

impl Family {
    /// The family of an address.
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

    /// The kernel routes the peer's network over the link and takes the broadcast address as its own,
    /// so that both must be in the networks of the grant as the address must.
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

impl Operation for Delete {
    type Rule = AddressRule;
    const NAME: &'static str = "address.delete";
    const VERB: Verb = Verb::Delete;

    fn requirements(&self) -> Vec<Requirement> {
        vec![Requirement::new(&self.link, Some(self.address), Self::VERB)]
    }

    names_links!(link);
}

impl Operation for List {
    type Rule = AddressRule;
    const NAME: &'static str = "address.list";
    const VERB: Verb = Verb::Read;

    fn requirements(&self) -> Vec<Requirement> {
        vec![Requirement::new(&self.link, None, Self::VERB)]
    }

    names_links!(link);
}

impl Operation for Settle {
    type Rule = AddressRule;
    const NAME: &'static str = "address.settle";
    const VERB: Verb = Verb::Read;

    fn requirements(&self) -> Vec<Requirement> {
        vec![Requirement::new(&self.link, None, Self::VERB)]
    }

    names_links!(link);
}

/// `address:` in a grant. Absent fields match everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AddressRule {
    /// Where; in both, when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    /// Names of links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<Vec<Pattern>>,
    /// Kinds of links, as the kernel reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Vec<String>>,
    /// Whose links, of `host`: this network's, this attachment's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owners: Option<Vec<Owner>>,
    /// Networks that the address must be in.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Networks")]
    pub addresses: Option<Vec<IpNet>>,
    /// What an address or a route of `host` may overlap: routes over links of this network, of this attachment. Nothing
    /// else then, the default route aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlaps: Option<Vec<Owner>>,
    /// What may be done; everything, when left out.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "Verbs::<AddressRule>"
    )]
    pub verbs: Option<Vec<Verb>>,
}

/// One address of one link, and what is done with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub link: LinkFacts,
    /// None for a look at all addresses of the link.
    pub address: Option<IpNet>,
    pub role: Role,
    pub overlap: Option<Overlap>,
    pub verb: Verb,
}

/// What an address is to the link.
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
                write!(f, "{verb} address {address} of {link}")?;
                match &self.overlap {
                    Some(overlap) => write!(f, ", which overlaps {overlap}"),
                    None => Ok(()),
                }
            }
            (Some(peer), Role::Peer) => write!(f, "{verb} peer address {peer} of {link}"),
            (Some(broadcast), Role::Broadcast) => {
                write!(f, "{verb} broadcast address {} of {link}", broadcast.addr())
            }
        }
    }
}

impl Rule for AddressRule {
    type Requirement = Requirement;
    const CAPABILITY: Capability = Capability::Address;
    const VERBS: &'static [Verb] = &[Verb::Create, Verb::Read, Verb::Delete];

    fn miss(&self, r: &Requirement, invocation: &Invocation) -> Option<Miss> {
        let in_networks =
            |address: &IpNet| any(self.addresses.as_deref(), |n| contains(n, address));
        Fields::default()
            .field(
                "namespace",
                self.namespace.is_none_or(|n| n == r.link.namespace),
            )
            .field(
                "kinds",
                r.link.is_absent() || any(self.kinds.as_deref(), |k| *k == r.link.kind),
            )
            .field(
                "links",
                any(self.links.as_deref(), |p| {
                    p.matches(&r.link.name, invocation)
                }),
            )
            .field("verbs", any(self.verbs.as_deref(), |v| *v == r.verb))
            .field(
                "owners",
                r.link.is_absent()
                    || any(self.owners.as_deref(), |o| o.has(&r.link.owner, invocation)),
            )
            .field("addresses", r.address.as_ref().is_none_or(in_networks))
            .field(
                "overlaps",
                may_overlap(self.overlaps.as_deref(), r.overlap.as_ref(), invocation),
            )
            .miss()
    }
}
