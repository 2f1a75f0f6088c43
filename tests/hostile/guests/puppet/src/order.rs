//! What the plugin is told to do.

use std::net::IpAddr;

use serde::Deserialize;
use weir_sdk::bindings::weir::cni::types::{IpAddress, IpNetwork, LinkReference, Namespace};

/// The part of the configuration that is the plugin's.
#[derive(Deserialize)]
pub struct Orders {
    pub orders: Vec<Order>,
    /// Empty to succeed, `trap`, or the text of an error.
    #[serde(default)]
    pub end: String,
    /// The one command that ends like that; all of them when it is empty.
    #[serde(default)]
    pub only: String,
    /// Where it is not empty, ADD returns the previous result with this as one more search domain.
    #[serde(default)]
    pub mark: String,
}

/// One call, or several like it. What a function does not need is ignored.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Order {
    /// As the contract names it: `link.create`, `store.transaction.put`.
    #[serde(rename = "do")]
    pub function: String,
    pub times: u64,
    /// In the container, not on the host.
    pub inside: bool,
    pub link: String,
    pub index: Option<u32>,
    pub name: String,
    pub new_name: Option<String>,
    pub kind: String,
    pub alias: Option<String>,
    /// With a MAC that the plugin chooses.
    pub mac: bool,
    pub master: Option<String>,
    /// A veth's other end, the lower device of others, and where packets are redirected to.
    pub other: String,
    pub other_inside: bool,
    /// `10.0.0.1` or `10.0.0.1/24`; of the prefix length, whatever fits a byte.
    pub address: String,
    pub peer: Option<String>,
    pub broadcast: Option<String>,
    pub gateway: Option<String>,
    pub table: Option<u32>,
    /// So many next hops, VLANs, addresses or rules, all of them alike.
    pub many: usize,
    /// The entry is a proxy entry.
    pub proxy: bool,
    pub promiscuous: bool,
    pub key: String,
    pub value: String,
    /// The value is so many bytes instead.
    pub size: usize,
    pub path: String,
    pub shared: bool,
    pub write: bool,
    pub zone: String,
    pub chain: String,
    pub hook: String,
    pub device: Option<String>,
    pub drops: bool,
    pub statement: String,
}

impl Order {
    pub fn namespace(&self) -> Namespace {
        namespace(self.inside)
    }

    pub fn other_namespace(&self) -> Namespace {
        namespace(self.other_inside)
    }

    pub fn reference(&self) -> LinkReference {
        match self.index {
            Some(index) => LinkReference::Index(index),
            None => LinkReference::Name(self.link.clone()),
        }
    }

    pub fn text(&self) -> String {
        match self.size {
            0 => self.value.clone(),
            size => "x".repeat(size),
        }
    }

    pub fn network(&self) -> IpNetwork {
        let (address, length) = self.address.split_once('/').unwrap_or((&self.address, ""));
        let address = ip(address);
        let whole = match address {
            IpAddress::Ipv4(_) => 32,
            IpAddress::Ipv6(_) => 128,
        };
        IpNetwork {
            address,
            prefix_length: length.parse().unwrap_or(whole),
        }
    }

    pub fn ip(&self) -> IpAddress {
        self.network().address
    }
}

fn namespace(inside: bool) -> Namespace {
    if inside {
        Namespace::Container
    } else {
        Namespace::Host
    }
}

/// An address; what is none is 192.0.2.1.
pub fn ip(text: &str) -> IpAddress {
    match text.parse().unwrap_or(IpAddr::from([192, 0, 2, 1])) {
        IpAddr::V4(v4) => {
            let [a, b, c, d] = v4.octets();
            IpAddress::Ipv4((a, b, c, d))
        }
        IpAddr::V6(v6) => {
            let [a, b, c, d, e, f, g, h] = v6.segments();
            IpAddress::Ipv6((a, b, c, d, e, f, g, h))
        }
    }
}
