//! What is on the machine, as plain data.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;

use super::error::{ENODEV, Result, error, invalid};
use super::parameters;
use crate::bindings::weir::cni::conntrack;
use crate::bindings::weir::cni::device::Device as Hardware;
use crate::bindings::weir::cni::firewall::{self, Chain, Element, Family, Set};
use crate::bindings::weir::cni::link::{BridgeVlan, Details, Link, OperState};
use crate::bindings::weir::cni::neighbour::Neighbour;
use crate::bindings::weir::cni::policy_rule::Rule;
use crate::bindings::weir::cni::route::RouteKind;
use crate::bindings::weir::cni::traffic::{Class, Filter, Qdisc};
use crate::bindings::weir::cni::types::{
    ErrorCode, IpFamily, IpNetwork, LinkReference, MacAddress, Namespace,
};

pub(super) const BOTH: [Namespace; 2] = [Namespace::Host, Namespace::Container];

/// A host, and a container unless it is without.
#[derive(Clone)]
pub(crate) struct Machine {
    pub host: Network,
    pub container: Option<Network>,
    /// The values of stores, by the store's directory.
    pub stores: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
    /// The stores that are open, with their values as they are to be committed.
    pub locked: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
    pub files: BTreeMap<String, Vec<u8>>,
    /// Network devices, by their paths below `/sys/devices`.
    pub devices: BTreeMap<String, Hardware>,
    /// The zones of firewalld with their sources; none where it does not run.
    pub zones: Option<BTreeMap<String, Vec<IpAddr>>>,
    /// What connection tracking was asked to delete.
    pub forgotten: Vec<(Namespace, conntrack::Filter)>,
    /// What links on the host are marked with.
    pub marks: Marks,
    pub last_index: u32,
    pub last_handle: u64,
}

/// The marks of an invocation, which weir gives to links on the host.
#[derive(Clone)]
pub(crate) struct Marks {
    pub attachment: String,
    pub network: String,
    /// The network's name, as a part of the directories of stores.
    pub name: String,
}

impl Default for Marks {
    fn default() -> Self {
        Marks {
            attachment: String::new(),
            network: String::new(),
            name: "test".to_owned(),
        }
    }
}

/// A network namespace.
#[derive(Clone)]
pub(crate) struct Network {
    pub links: Vec<Device>,
    pub addresses: Vec<LinkAddress>,
    /// Those of one destination in the order in which the kernel looks at them.
    pub routes: Vec<RouteEntry>,
    /// Each family's in the order in which the kernel looks at them.
    pub policy_rules: Vec<Rule>,
    /// Each with the index of its link.
    pub neighbours: Vec<(u32, Neighbour)>,
    pub parameters: BTreeMap<String, String>,
    pub tables: Vec<Table>,
}

#[derive(Clone)]
pub(crate) struct Device {
    pub link: Link,
    /// The other end of a veth.
    pub peer: Option<(Namespace, u32)>,
    pub lower: Option<(Namespace, u32)>,
    pub vlans: Vec<BridgeVlan>,
    /// Whether somebody has set a bridge's MTU, which follows its ports otherwise.
    pub has_own_mtu: bool,
    pub traffic: Traffic,
}

/// An address of a link.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LinkAddress {
    pub link: u32,
    pub address: IpNet,
    pub peer: Option<IpAddr>,
    pub broadcast: Option<IpAddr>,
}

/// A route.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RouteEntry {
    pub destination: IpNet,
    pub table: u32,
    pub priority: Option<u32>,
    /// Empty for a multipath route.
    pub hop: Hop,
    /// Of a multipath route, each with its weight.
    pub next_hops: Vec<(Hop, u16)>,
    pub source: Option<IpAddr>,
    pub scope: Option<u8>,
    pub protocol: Option<u8>,
    pub kind: RouteKind,
    pub metrics: Metrics,
}

/// What a route says of the connections over it, in bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Metrics {
    pub mtu: Option<u32>,
    pub advmss: Option<u32>,
}

/// Where a route leads next.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Hop {
    pub gateway: Option<IpAddr>,
    pub link: Option<u32>,
    pub on_link: bool,
}

/// The plugin's nftables table of one family.
#[derive(Clone)]
pub(crate) struct Table {
    pub family: Family,
    pub chains: Vec<Chain>,
    /// Of all chains, each chain's in order.
    pub rules: Vec<firewall::Rule>,
    pub sets: Vec<(Set, Vec<Element>)>,
}

/// What shapes the traffic of a link.
#[derive(Clone, Default)]
pub(crate) struct Traffic {
    pub qdiscs: Vec<Qdisc>,
    pub classes: Vec<Class>,
    pub filters: Vec<Filter>,
}

impl Default for Machine {
    fn default() -> Self {
        Machine {
            host: Network::new(),
            container: Some(Network::new()),
            stores: BTreeMap::new(),
            locked: BTreeMap::new(),
            files: BTreeMap::new(),
            devices: BTreeMap::new(),
            zones: None,
            forgotten: Vec::new(),
            marks: Marks::default(),
            last_index: 1,
            last_handle: 0,
        }
    }
}

impl Machine {
    /// One of the namespaces. Errors: `no-namespace`.
    pub(crate) fn network(&mut self, namespace: Namespace) -> Result<&mut Network> {
        match namespace {
            Namespace::Host => Some(&mut self.host),
            Namespace::Container => self.container.as_mut(),
        }
        .ok_or_else(no_container)
    }

    /// The same to look at. Errors: `no-namespace`.
    pub(super) fn look(&self, namespace: Namespace) -> Result<&Network> {
        match namespace {
            Namespace::Host => Some(&self.host),
            Namespace::Container => self.container.as_ref(),
        }
        .ok_or_else(no_container)
    }

    /// The link's name, for a person to read.
    pub(super) fn name_of(&self, namespace: Namespace, link: &LinkReference) -> String {
        let network = self.look(namespace).ok();
        match (link, network.and_then(|network| network.find(link).ok())) {
            (_, Some(device)) => device.link.name.clone(),
            (LinkReference::Name(name), _) => name.clone(),
            (LinkReference::Index(index), _) => format!("#{index}"),
        }
    }
}

fn no_container() -> crate::bindings::OperationError {
    let why = "this invocation has no container namespace";
    error(ErrorCode::NoNamespace, why)
}

/// A namespace in one word.
pub(super) fn word(namespace: Namespace) -> &'static str {
    match namespace {
        Namespace::Host => "host",
        Namespace::Container => "container",
    }
}

impl Network {
    fn new() -> Self {
        Network {
            links: vec![loopback()],
            addresses: Vec::new(),
            routes: Vec::new(),
            policy_rules: kernels_rules(),
            neighbours: Vec::new(),
            parameters: parameters::of_namespace(&["all", "default", "lo"]),
            tables: Vec::new(),
        }
    }

    /// The link that a plugin names. Errors: `not-found`, `invalid` for what cannot be a name.
    pub(super) fn find(&self, link: &LinkReference) -> Result<&Device> {
        match link {
            LinkReference::Index(index) => self.device(*index),
            LinkReference::Name(name) => {
                check_name(name)?;
                let mut links = self.links.iter();
                let found = links.find(|device| device.link.name == *name);
                found.ok_or_else(|| ENODEV.into())
            }
        }
    }

    /// The index of the link that a plugin names. Errors: those of [`find`](Self::find).
    pub(super) fn index(&self, link: &LinkReference) -> Result<u32> {
        Ok(self.find(link)?.link.index)
    }

    /// The link with an index. Errors: `not-found`.
    pub(super) fn device(&self, index: u32) -> Result<&Device> {
        let mut links = self.links.iter();
        let found = links.find(|device| device.link.index == index);
        found.ok_or_else(|| ENODEV.into())
    }

    /// The same to change. Errors: `not-found`.
    pub(super) fn device_mut(&mut self, index: u32) -> Result<&mut Device> {
        let mut links = self.links.iter_mut();
        let found = links.find(|device| device.link.index == index);
        found.ok_or_else(|| ENODEV.into())
    }

    /// The addresses of a link.
    pub(super) fn addresses_of(&self, index: u32) -> impl Iterator<Item = &LinkAddress> {
        self.addresses.iter().filter(move |held| held.link == index)
    }
}

impl RouteEntry {
    /// A unicast route with nothing else.
    pub(super) fn new(destination: IpNet) -> Self {
        RouteEntry {
            destination,
            table: 254,
            priority: None,
            hop: Hop::default(),
            next_hops: Vec::new(),
            source: None,
            scope: None,
            protocol: None,
            kind: RouteKind::Unicast,
            metrics: Metrics::default(),
        }
    }

    pub(super) fn is_ipv6(&self) -> bool {
        self.destination.addr().is_ipv6()
    }

    /// Where it leads next: one hop, or those of a multipath route.
    pub(super) fn hops(&self) -> impl Iterator<Item = &Hop> {
        let further = self.next_hops.iter().map(|(hop, _)| hop);
        std::iter::once(&self.hop).chain(further)
    }

    /// Whether it goes through a link, alone or as one of several next hops.
    pub(super) fn is_over(&self, index: u32) -> bool {
        self.hops().any(|hop| hop.link == Some(index))
    }
}

impl LinkAddress {
    /// The network that the address leads to: its own, or its peer's.
    pub(super) fn network(&self) -> IpNet {
        let far = self.peer.unwrap_or(self.address.addr());
        let network = IpNet::new(far, self.address.prefix_len());
        network.unwrap_or(self.address).trunc()
    }
}

/// The link that every namespace has.
fn loopback() -> Device {
    Device::new(Link {
        index: 1,
        mtu: 65536,
        ..new_link("lo", "loopback", vec![0; 6])
    })
}

/// The policy rules that every namespace has, for the tables `local`, `main` and `default`.
fn kernels_rules() -> Vec<Rule> {
    use IpFamily::{Ipv4, Ipv6};
    let kernels = [
        (Ipv4, 0, 255),
        (Ipv4, 32766, 254),
        (Ipv4, 32767, 253),
        (Ipv6, 0, 255),
        (Ipv6, 32766, 254),
    ];
    let rules = kernels.into_iter();
    rules
        .map(|(family, priority, table)| Rule::new(family, table).at(priority))
        .collect()
}

/// A link that is down, without index.
pub(super) fn new_link(name: &str, kind: &str, mac: MacAddress) -> Link {
    Link {
        index: 0,
        name: name.to_owned(),
        alternative_names: Vec::new(),
        kind: kind.to_owned(),
        mac,
        mtu: 1500,
        txqlen: 1000,
        up: false,
        oper_state: OperState::Down,
        promiscuous: false,
        all_multicast: false,
        master: None,
        lower: None,
        alias: String::new(),
        details: Details::None,
        port: None,
    }
}

impl Device {
    pub(super) fn new(link: Link) -> Self {
        Device {
            link,
            peer: None,
            lower: None,
            vlans: Vec::new(),
            has_own_mtu: false,
            traffic: Traffic::default(),
        }
    }

    pub(super) fn is_bridge(&self) -> bool {
        matches!(self.link.details, Details::Bridge(_))
    }
}

/// Errors: `invalid` for what cannot be a link's name.
pub(super) fn check_name(name: &str) -> Result<()> {
    let forbidden = |c: char| c.is_whitespace() || c.is_control() || "/:%".contains(c);
    let is_wrong =
        !(1..=15).contains(&name.len()) || name.contains(forbidden) || matches!(name, "." | "..");
    if is_wrong {
        let shown = name.escape_debug();
        Err(invalid(format!(
            "`{shown}` is not a link's name: expected 1 to 15 bytes without spaces, `/`, `:` and `%`"
        )))
    } else {
        Ok(())
    }
}

/// A network as the kernel counts. Errors: `invalid` for a prefix that is too long.
pub(super) fn network(network: IpNetwork) -> Result<IpNet> {
    let length = network.prefix_length;
    let address: IpAddr = network.address.into();
    IpNet::new(address, length)
        .map_err(|_| invalid(format!("prefix length {length}: too long for {address}")))
}
