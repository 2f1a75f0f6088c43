//! What the caller asks: the `CNI_*` variables and the few keys of the configuration that matter.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::Ipv4Addr;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// One request, with what follows from it.
pub struct Request {
    pub container_id: String,
    pub interface: String,
    pub namespace: String,
    pub plugin: Plugin,
    pub ipam: Ipam,
    pub gateway: Ipv4Addr,
    pub prefix: u8,
    /// The address in `prevResult`.
    pub assigned: Option<Ipv4Addr>,
    /// `portMappings` of `runtimeConfig`.
    pub mappings: Vec<Mapping>,
}

/// What `type` names.
pub enum Plugin {
    Bridge(Bridge),
    Interface(Interface),
}

/// A bridge, and the host's end of the pair that is attached to it.
pub struct Bridge {
    pub name: String,
    pub host_interface: String,
}

/// A link in the container alone, over the host's link of this name.
pub enum Interface {
    Macvlan(String),
    Ipvlan(String),
    Vlan(String, u16),
    Dummy,
}

/// Where addresses come from.
pub enum Ipam {
    /// `host-local`, with the leases in `<dataDir>/<network>`.
    Leases(PathBuf),
    /// `static`.
    Fixed(Ipv4Addr),
}

/// A port of the host, and that of the container.
pub struct Mapping {
    /// `IPPROTO_…`
    pub protocol: u8,
    pub host_port: u16,
    pub container_port: u16,
}

impl Request {
    pub fn read() -> Result<Self> {
        let configuration: Value =
            serde_json::from_reader(std::io::stdin()).context("standard input")?;
        let container_id = variable("CNI_CONTAINERID")?;
        let plugin = Plugin::of(&configuration, &container_id)?;
        let (ipam, gateway, prefix) = addresses(&configuration)?;
        let assigned = text(&configuration, "/prevResult/ips/0/address").ok();
        Ok(Self {
            interface: variable("CNI_IFNAME")?,
            namespace: variable("CNI_NETNS")?,
            plugin,
            ipam,
            gateway,
            prefix,
            mappings: mappings(&configuration)?,
            assigned: assigned.and_then(|address| Some(with_prefix(address).ok()?.0)),
            container_id,
        })
    }
}

impl Plugin {
    fn of(configuration: &Value, container_id: &str) -> Result<Self> {
        let master = || Ok::<_, anyhow::Error>(text(configuration, "/master")?.to_owned());
        let interface = match text(configuration, "/type")? {
            "bridge" => {
                return Ok(Self::Bridge(Bridge {
                    name: text(configuration, "/bridge")?.to_owned(),
                    host_interface: host_interface(container_id),
                }));
            }
            "macvlan" => Interface::Macvlan(master()?),
            "ipvlan" => Interface::Ipvlan(master()?),
            "vlan" => Interface::Vlan(master()?, number(&configuration["vlanId"], "vlanId")?),
            "dummy" => Interface::Dummy,
            other => bail!("the floor does not know the plugin `{other}`"),
        };
        Ok(Self::Interface(interface))
    }
}

impl Interface {
    /// The host's link that it is over.
    pub fn master(&self) -> Option<&str> {
        match self {
            Self::Macvlan(master) | Self::Ipvlan(master) | Self::Vlan(master, _) => Some(master),
            Self::Dummy => None,
        }
    }
}

/// Where addresses come from, their gateway, and the length of their prefix.
fn addresses(configuration: &Value) -> Result<(Ipam, Ipv4Addr, u8)> {
    match text(configuration, "/ipam/type")? {
        "host-local" => {
            let (network, prefix) = with_prefix(text(configuration, "/ipam/ranges/0/0/subnet")?)?;
            let store = PathBuf::from(text(configuration, "/ipam/dataDir")?);
            // The first address of the subnet that is not its own name.
            let gateway = Ipv4Addr::from_bits(network.to_bits() + 1);
            let store = store.join(text(configuration, "/name")?);
            Ok((Ipam::Leases(store), gateway, prefix))
        }
        "static" => {
            let (address, prefix) = with_prefix(text(configuration, "/ipam/addresses/0/address")?)?;
            let gateway = text(configuration, "/ipam/addresses/0/gateway")?;
            let gateway = gateway.parse().context("gateway")?;
            Ok((Ipam::Fixed(address), gateway, prefix))
        }
        other => bail!("the floor does not know the IPAM plugin `{other}`"),
    }
}

fn text<'a>(configuration: &'a Value, pointer: &str) -> Result<&'a str> {
    let value = configuration.pointer(pointer).and_then(Value::as_str);
    value.with_context(|| format!("`{pointer}` is not a string"))
}

fn number(value: &Value, key: &str) -> Result<u16> {
    let number = value.as_u64().and_then(|number| number.try_into().ok());
    number.with_context(|| key.to_owned())
}

/// An address and the length of its prefix.
fn with_prefix(text: &str) -> Result<(Ipv4Addr, u8)> {
    let parts = text.split_once('/');
    let (address, prefix) = parts.with_context(|| format!("`{text}` has no prefix"))?;
    let parsed = address.parse().ok().zip(prefix.parse().ok());
    parsed.with_context(|| format!("`{text}` is not an IPv4 address with a prefix"))
}

fn variable(name: &str) -> Result<String> {
    std::env::var(name).with_context(|| name.to_owned())
}

fn mappings(configuration: &Value) -> Result<Vec<Mapping>> {
    let mappings = configuration.pointer("/runtimeConfig/portMappings");
    let mappings = mappings.and_then(Value::as_array).into_iter().flatten();
    let port = |mapping: &Value, key: &str| number(&mapping[key], key);
    let mapping = |mapping: &Value| {
        Ok(Mapping {
            protocol: match mapping["protocol"].as_str() {
                Some("tcp") => 6,
                Some("udp") => 17,
                other => bail!("protocol {other:?}"),
            },
            host_port: port(mapping, "hostPort")?,
            container_port: port(mapping, "containerPort")?,
        })
    };
    mappings.map(mapping).collect()
}

/// A name for the host's end that no other container's has.
fn host_interface(container_id: &str) -> String {
    let mut hasher = DefaultHasher::new();
    container_id.hash(&mut hasher);
    format!("veth{:08x}", hasher.finish() as u32)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    fn plugin(configuration: Value) -> Result<Plugin> {
        Plugin::of(&configuration, "container")
    }

    #[test]
    fn a_master_is_of_the_plugins_that_have_one() {
        for (kind, master) in [
            ("macvlan", Some("eth1")),
            ("ipvlan", Some("eth1")),
            ("vlan", Some("eth1")),
            ("dummy", None),
        ] {
            let configuration = json!({"type": kind, "master": "eth1", "vlanId": 7});
            let Ok(Plugin::Interface(interface)) = plugin(configuration) else {
                panic!("{kind} is not an interface");
            };
            assert_eq!(interface.master(), master, "{kind}");
        }
    }

    #[test]
    fn what_the_floor_does_not_know_is_named() {
        let error = plugin(json!({"type": "ptp"})).err().unwrap();
        assert!(error.to_string().contains("`ptp`"), "{error}");
        let error = addresses(&json!({"ipam": {"type": "dhcp"}})).err().unwrap();
        assert!(error.to_string().contains("`dhcp`"), "{error}");
    }

    #[test]
    fn the_gateway_is_the_subnets_first_address_or_the_one_that_is_named() {
        let subnet = json!([[{"subnet": "10.1.0.0/24"}]]);
        let leases = json!({
            "name": "net",
            "ipam": {"type": "host-local", "dataDir": "/data", "ranges": subnet},
        });
        let (ipam, gateway, prefix) = addresses(&leases).unwrap();
        assert_eq!((gateway, prefix), (Ipv4Addr::new(10, 1, 0, 1), 24));
        assert!(matches!(ipam, Ipam::Leases(store) if store == Path::new("/data/net")));
        let fixed = json!([{"address": "10.1.0.7/16", "gateway": "10.1.0.9"}]);
        let fixed = json!({"ipam": {"type": "static", "addresses": fixed}});
        let (ipam, gateway, prefix) = addresses(&fixed).unwrap();
        assert_eq!((gateway, prefix), (Ipv4Addr::new(10, 1, 0, 9), 16));
        assert!(matches!(ipam, Ipam::Fixed(address) if address == Ipv4Addr::new(10, 1, 0, 7)));
    }
}
