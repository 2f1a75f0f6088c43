//! The success result of CNI section 5 in its newest shape, 1.1.0.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::error::Error;
use crate::json::Node;
use crate::version::Version;

/// What an `ADD` made: interfaces, addresses, routes and DNS.
///
/// The shape is that of 1.1.0 whatever the configuration's version; [`to_json`](crate::to_json) and
/// [`from_json`](crate::from_json) convert. Serialised by itself it is the JSON of 1.1.0, and any
/// version is understood when deserialised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddResult {
    /// All interfaces the attachment made, those on the host included. Empty in an IPAM plugin's
    /// result.
    pub interfaces: Vec<Interface>,
    /// The addresses.
    pub ips: Vec<IpConfig>,
    /// The routes.
    pub routes: Vec<Route>,
    /// The DNS configuration.
    pub dns: Dns,
}

/// One interface of an attachment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// The interface's name.
    pub name: String,
    /// The hardware address as text, where one is meaningful.
    pub mac: Option<String>,
    /// The maximum transmission unit in bytes (1.1.0). Zero is the same as none.
    pub mtu: Option<u32>,
    /// The network namespace's path, or a hypervisor's id; none for an interface on the host.
    pub sandbox: Option<String>,
    /// The absolute path of a socket that stands for the interface (1.1.0).
    pub socket_path: Option<String>,
    /// The PCI address of the interface's device (1.1.0).
    pub pci_id: Option<String>,
}

/// One address of an attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpConfig {
    /// The index in [`AddResult::interfaces`] of the interface that has the address; none in an
    /// IPAM plugin's result.
    pub interface: Option<u32>,
    /// The address, host bits kept, with the subnet's prefix length.
    pub address: IpNet,
    /// The subnet's gateway.
    pub gateway: Option<IpAddr>,
}

/// One route of an attachment, and an item of a configuration's key `routes`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Route {
    /// The destination.
    pub dst: IpNet,
    /// The next hop. If none, that of [`IpConfig::gateway`] may be used.
    #[serde(default, deserialize_with = "optional_address")]
    pub gw: Option<IpAddr>,
    /// The maximum transmission unit along the path, in bytes (1.1.0). Zero is the same as none.
    pub mtu: Option<u32>,
    /// The maximum segment size to advertise to the destination over TCP, in bytes (1.1.0). Zero
    /// is the same as none.
    pub advmss: Option<u32>,
    /// The priority, lower first (1.1.0). Zero is the same as none.
    pub priority: Option<u32>,
    /// The routing table (1.1.0).
    pub table: Option<u32>,
    /// The scope: global 0, link 253, host 254 (1.1.0).
    pub scope: Option<u8>,
}

impl Route {
    /// Makes a route with nothing but a destination and perhaps a next hop.
    pub fn new(dst: IpNet, gw: Option<IpAddr>) -> Self {
        Route {
            dst,
            gw,
            ..Route::default()
        }
    }
}

/// Reads an address of a configuration, for `deserialize_with`; none for empty text, as in the reference plugins.
pub fn optional_address<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<IpAddr>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let address = text.parse::<IpAddr>();
    let address = address.map_err(|_| de::Error::custom("expected an IP address"))?;
    Ok(Some(address.to_canonical()))
}

/// DNS configuration (CNI section 5), the same in all versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dns {
    /// Name servers, by priority.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nameservers: Vec<String>,
    /// The local domain for short host names; empty for none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub domain: String,
    /// Search domains for short host names, by priority.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub search: Vec<String>,
    /// Options for the resolver.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

impl Dns {
    /// Whether nothing is configured.
    pub fn is_empty(&self) -> bool {
        self.nameservers.is_empty()
            && self.domain.is_empty()
            && self.search.is_empty()
            && self.options.is_empty()
    }

    pub(crate) fn read(node: &Node<'_>) -> Result<Self, Error> {
        let list = |key: &str| match node.key(key)? {
            Some(list) => list.strings(),
            None => Ok(Vec::new()),
        };
        Ok(Dns {
            nameservers: list("nameservers")?,
            domain: node.text("domain")?.unwrap_or_default(),
            search: list("search")?,
            options: list("options")?,
        })
    }
}

impl AddResult {
    /// Returns the interfaces that are on the host.
    pub fn on_host(&self) -> impl Iterator<Item = &Interface> {
        let interfaces = self.interfaces.iter();
        interfaces.filter(|interface| interface.sandbox.is_none())
    }

    /// Returns the interface of this name in the container, for a plugin that changes it.
    pub fn container_interface_mut(&mut self, ifname: &str) -> Option<&mut Interface> {
        let mut interfaces = self.interfaces.iter_mut();
        interfaces.find(|interface| interface.name == ifname && interface.sandbox.is_some())
    }

    /// Returns the addresses, without their prefix lengths.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.ips.iter().map(|ip| ip.address.addr())
    }

    /// Checks what the shape alone cannot: that every `interface` index has an interface, and that
    /// gateways are of their address's or destination's family.
    ///
    /// Errors have code 999: a result that breaks these rules is its plugin's fault.
    pub fn validate(&self) -> Result<(), Error> {
        for (index, ip) in self.ips.iter().enumerate() {
            self.validate_ip(ip)
                .map_err(|msg| Error::internal(format!("result: ips[{index}]{msg}")))?;
        }
        for (index, route) in self.routes.iter().enumerate() {
            check_family(&route.dst, route.gw)
                .map_err(|msg| Error::internal(format!("result: routes[{index}].gw: {msg}")))?;
        }
        Ok(())
    }

    /// Checks that a version's result can have all addresses: before 0.3.0 it has one of each family, and at least one.
    /// Converting passes over the others, whose holder would not be known then.
    ///
    /// Errors: code 7 for more, as the configuration asks for more than its version can say; code 999 for none.
    pub fn check_addresses(&self, version: Version) -> Result<(), Error> {
        if version.has_interfaces() {
            return Ok(());
        }
        if self.ips.is_empty() {
            let details = format!(
                "a result of version {version} must have an address; without one, cniVersion 0.3.0 or later is needed"
            );
            let error = Error::internal("cannot convert: no valid IP addresses");
            return Err(error.with_details(details));
        }
        let ipv4 = self.ips.iter().filter(|ip| ip.address.addr().is_ipv4());
        let ipv4 = ipv4.count();
        let most = ipv4.max(self.ips.len() - ipv4);
        if most > 1 {
            return Err(Error::invalid_config(format!(
                "cniVersion {version} does not support more than 1 address per family, and the \
                 configuration leads to {most} of one family"
            )));
        }
        Ok(())
    }

    fn validate_ip(&self, ip: &IpConfig) -> Result<(), String> {
        let count = self.interfaces.len();
        if let Some(index) = ip.interface
            && usize::try_from(index).is_ok_and(|index| index >= count)
        {
            return Err(format!(
                ".interface: no interface has the index {index}; the result has {count}"
            ));
        }
        check_family(&ip.address, ip.gateway).map_err(|msg| format!(".gateway: {msg}"))
    }
}

fn check_family(net: &IpNet, gateway: Option<IpAddr>) -> Result<(), String> {
    match gateway {
        Some(gateway) if gateway.is_ipv4() != net.addr().is_ipv4() => {
            Err(format!("{gateway} is not of the address family of {net}"))
        }
        _ => Ok(()),
    }
}
