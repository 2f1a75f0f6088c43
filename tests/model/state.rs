//! What is on a machine, as plain data.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;

use ipnet::IpNet;
use weir_grant::address::Address;
use weir_grant::device::Device as Hardware;
use weir_grant::link::{BridgeVlan, Link};
use weir_grant::neighbour::Neighbour;
use weir_grant::policy_rule::PolicyRule;
use weir_grant::route::Route;
use weir_grant::{Namespace, conntrack, firewall};
use weir_kernel::{Code, Error, Result};
use weir_sdk::testing::parameters;

use super::link::loopback;
use super::policy_rule;
use super::traffic::Traffic;

/// A machine, and the numbers that it gives out.
pub(crate) struct Machine {
    pub state: State,
    /// Of links of both namespaces.
    pub last_index: u32,
    /// Of nftables' rules.
    pub last_handle: u64,
    /// Of handles of queueing disciplines that the kernel chose.
    pub last_qdisc: u16,
    /// Of ADDs.
    pub last_add: u32,
    /// Whether another ADD is under way.
    pub is_shared: bool,
    /// The stores that are open.
    pub locked: BTreeSet<PathBuf>,
    /// Parameters of the host that an ADD under way has changed, and its number.
    pub parameter_notes: BTreeMap<String, u32>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Self {
            state: State {
                host: NetworkState::new(),
                container: Some(NetworkState::new()),
                stores: BTreeMap::new(),
                files: BTreeMap::new(),
                devices: BTreeMap::new(),
                zones: None,
                forgotten: Vec::new(),
            },
            last_index: 1,
            last_handle: 0,
            last_qdisc: 0,
            last_add: 0,
            is_shared: false,
            locked: BTreeSet::new(),
            parameter_notes: BTreeMap::new(),
        }
    }
}

/// Everything that is on a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub host: NetworkState,
    pub container: Option<NetworkState>,
    /// The values of stores, by the store's directory and the key.
    pub stores: BTreeMap<(PathBuf, String), Vec<u8>>,
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    /// Network devices, by their paths below `/sys/devices`.
    pub devices: BTreeMap<String, Hardware>,
    /// The zones of firewalld and their sources; none where it does not run.
    pub zones: Option<BTreeMap<String, Vec<IpAddr>>>,
    /// What was asked of connection tracking.
    pub forgotten: Vec<conntrack::Delete>,
}

impl State {
    /// One of the namespaces, where it is there.
    pub fn network(&mut self, namespace: Namespace) -> Option<&mut NetworkState> {
        match namespace {
            Namespace::Host => Some(&mut self.host),
            Namespace::Container => self.container.as_mut(),
        }
    }

    /// What this has and another has not, and the other way round, line by line. Empty where they are the same.
    pub fn difference(&self, other: &Self) -> Vec<String> {
        let (own, others) = (format!("{self:#?}"), format!("{other:#?}"));
        if own == others {
            return Vec::new();
        }
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let (own, others) = (lines(&own), lines(&others));
        let only_own = own.iter().filter(|line| !others.contains(line));
        let only_others = others.iter().filter(|line| !own.contains(line));
        let marked = only_own.map(|line| format!("+ {line}"));
        let mut all: Vec<_> = marked
            .chain(only_others.map(|line| format!("- {line}")))
            .collect();
        if all.is_empty() {
            all.push("the same lines, in other places".to_owned());
        }
        all
    }

    /// One of the namespaces. Errors: `NoNamespace`.
    pub(crate) fn of(&mut self, namespace: Namespace) -> Result<&mut NetworkState> {
        let found = self.network(namespace);
        found.ok_or_else(|| {
            Error::new(
                Code::NoNamespace,
                "this invocation has no container namespace",
            )
        })
    }
}

/// A network namespace.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkState {
    pub links: Vec<Device>,
    /// Each with the index of its link.
    pub addresses: Vec<(u32, Address)>,
    /// Those of one destination in the order in which the kernel looks at them.
    pub routes: Vec<Route<u32>>,
    /// Each family's in the order in which the kernel looks at them.
    pub policy_rules: Vec<PolicyRule>,
    /// Each with the index of its link.
    pub neighbours: Vec<(u32, Neighbour)>,
    pub parameters: BTreeMap<String, String>,
    pub tables: Vec<Table>,
    pub listening: BTreeSet<u16>,
}

impl NetworkState {
    fn new() -> Self {
        Self {
            links: vec![loopback()],
            addresses: Vec::new(),
            routes: Vec::new(),
            policy_rules: policy_rule::of_every_namespace(),
            neighbours: Vec::new(),
            parameters: parameters::of_namespace(&["all", "default", "lo"]),
            tables: Vec::new(),
            listening: BTreeSet::new(),
        }
    }

    /// The link of that name.
    pub fn link(&self, name: &str) -> Option<&Link> {
        let mut links = self.links.iter().map(|device| &device.link);
        links.find(|link| link.name == name)
    }

    /// The addresses of a link.
    pub fn addresses_of(&self, name: &str) -> Vec<IpNet> {
        let index = self.link(name).map(|link| link.index);
        let its = self
            .addresses
            .iter()
            .filter(|(link, _)| Some(*link) == index);
        its.map(|(_, address)| address.address).collect()
    }
}

/// A link.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    pub link: Link,
    /// The other end of a veth.
    pub peer: Option<(Namespace, u32)>,
    /// Its lower device.
    pub lower: Option<(Namespace, u32)>,
    /// Bridge VLANs.
    pub vlans: Vec<BridgeVlan>,
    /// Its queueing disciplines, with classes and filters.
    pub traffic: Traffic,
    /// Of a bridge, that somebody has set its MTU: it follows its ports otherwise.
    pub has_own_mtu: bool,
}

/// An nftables table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub family: firewall::Family,
    pub name: String,
    pub chains: Vec<firewall::Chain>,
    /// Of all chains, each chain's in order.
    pub rules: Vec<firewall::Rule>,
    pub sets: Vec<(firewall::Set, Vec<firewall::Element>)>,
}
