//! Capability `neighbour`: ARP and ND entries, and announcements on the wire.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::act::{Act, Severity};
use super::address::Family;
use super::facts::LinkFacts;
use super::field::types::{InNamespace, LinkNames, Owners};
use super::field::{
    Has::{self, One},
    Networks,
};
use super::invocation::Invocation;
use super::link::Mac;
use super::operation::{Operation, names_links, operations, reads};
use super::phrase::joined;
use super::rule::declare::rule;
use super::verb::Verb;

/// The state of an entry: `NUD_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Incomplete,
    Reachable,
    Stale,
    Delay,
    Probe,
    Failed,
    Noarp,
    Permanent,
}

/// Adds or replaces an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Add {
    pub link: LinkFacts,
    pub address: IpAddr,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<Mac>,
    pub state: State,
    pub proxy: bool,
}

impl Add {
    /// What takes it back, where there was no entry before.
    pub fn inverse(&self) -> Delete {
        Delete {
            link: self.link.clone(),
            address: self.address,
            proxy: Some(self.proxy),
        }
    }
}

/// Removes an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delete {
    pub link: LinkFacts,
    pub address: IpAddr,
    /// Only a proxy entry, or only one that is not; if left out, a proxy entry only if there is no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<bool>,
}

/// Reads the entries of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct List {
    pub link: LinkFacts,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
}

/// Announces addresses: gratuitous ARP and unsolicited neighbour advertisements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Announce {
    pub link: LinkFacts,
    pub addresses: Vec<IpAddr>,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    pub address: IpAddr,
    pub mac: Option<Mac>,
    pub state: State,
    /// A proxy entry (`NTF_PROXY`).
    pub proxy: bool,
}

operations! {
    NeighbourRule;
    Add: "neighbour.add", Create, about(link), |o| Requirement::new(&o.link, Some(o.address), Self::VERB);
    Delete: "neighbour.delete", Delete, about(link), |o| Requirement::new(&o.link, Some(o.address), Self::VERB);
    List: "neighbour.list", Read, about(link), |o| Requirement::new(&o.link, None, Self::VERB);
}

impl Operation for Announce {
    type Rule = NeighbourRule;
    const NAME: &'static str = "neighbour.announce";
    const VERB: Verb = Verb::Announce;

    fn requirements(&self) -> Vec<Requirement> {
        let announced = self.addresses.iter();
        announced
            .map(|a| Requirement::new(&self.link, Some(*a), Self::VERB))
            .collect()
    }

    names_links!(link);
}

reads!(List);

impl Act for Add {
    fn act(&self) -> String {
        let Self { link, address, .. } = self;
        if self.proxy {
            return format!("answer for {address} on {link} (proxy neighbour)");
        }
        let mac = self
            .mac
            .as_ref()
            .map(|mac| format!(" at MAC address {mac}"));
        format!(
            "set neighbour {address}{} on {link}",
            mac.unwrap_or_default()
        )
    }

    fn severity(&self, invocation: &Invocation) -> Severity {
        let link = Severity::of_changing(&self.link, invocation);
        if self.proxy {
            return link.max(Severity::of_traffic_in(self.link.namespace));
        }
        link
    }
}

impl Act for Delete {
    fn act(&self) -> String {
        let proxy = if self.proxy == Some(true) {
            "proxy "
        } else {
            ""
        };
        format!("delete {proxy}neighbour {} on {}", self.address, self.link)
    }

    fn severity(&self, invocation: &Invocation) -> Severity {
        Severity::of_changing(&self.link, invocation)
    }
}

/// The announced addresses that are named one by one.
const MOST_ANNOUNCED: usize = 8;

impl Act for Announce {
    fn act(&self) -> String {
        let addresses = self.addresses.iter().take(MOST_ANNOUNCED);
        let mut addresses: Vec<String> = addresses.map(ToString::to_string).collect();
        if self.addresses.len() > MOST_ANNOUNCED {
            let others = self.addresses.len() - MOST_ANNOUNCED;
            addresses.push(format!("{others} more addresses"));
        }
        let addresses = joined(addresses, "and");
        format!("announce {addresses} as its own on {}", self.link)
    }

    /// Others on the wire believe it, wherever the link is.
    fn severity(&self, _: &Invocation) -> Severity {
        Severity::ReachesOthers
    }
}

rule! {
    /// `neighbour:` in a grant. Absent fields match everything.
    pub struct NeighbourRule: Neighbour for r: Requirement,
    which may "add" Create, "look at" Read, "remove" Delete, "announce" Announce {
        /// Where; in both, when left out.
        namespace: InNamespace = One(r.link.namespace);
        /// Names of links.
        links: LinkNames = One(r.link.name()), left_out("every-name", "it is about every link of the host");
        /// Networks that the address must be in.
        #[serde(with = "Networks")]
        addresses: Networks = Has::if_any(r.address.map(IpNet::from)),
            only_for(&[Verb::Create, Verb::Delete, Verb::Announce]);
        => verbs = r.verb;
        /// Owners of the links, in `host`: this network, this attachment.
        owners: Owners = Has::if_any(r.link.owner_if_there()), never_suggested();
    } says |rule| {
        let addresses = rule.with("addresses", " within ");
        format!("{} entries{addresses} on {}", rule.verbs(), rule.an_interface("links"))
    }
}

/// One address on one link, and what is done with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub link: LinkFacts,
    /// None to read all entries of the link.
    pub address: Option<IpAddr>,
    pub verb: Verb,
}

impl Requirement {
    fn new(link: &LinkFacts, address: Option<IpAddr>, verb: Verb) -> Self {
        Self {
            link: link.clone(),
            address,
            verb,
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { link, verb, .. } = self;
        match self.address {
            Some(address) => write!(f, "{verb} neighbour {address} on {link}"),
            None => write!(f, "{verb} the neighbours on {link}"),
        }
    }
}
