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
    pub bridge: String,
    pub host_interface: String,
    /// The first address of the subnet that is not its own name.
    pub gateway: Ipv4Addr,
    pub prefix: u8,
    /// `<dataDir>/<network>`.
    pub store: PathBuf,
    /// The address in `prevResult`.
    pub assigned: Option<Ipv4Addr>,
    /// `portMappings` of `runtimeConfig`.
    pub mappings: Vec<Mapping>,
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
        let text = |pointer: &str| {
            let value = configuration.pointer(pointer).and_then(Value::as_str);
            value.with_context(|| format!("`{pointer}` is not a string"))
        };
        let (network, prefix) = text("/ipam/ranges/0/0/subnet")?
            .split_once('/')
            .context("subnet without a prefix")?;
        let network: Ipv4Addr = network.parse().context("subnet")?;
        let container_id = variable("CNI_CONTAINERID")?;
        Ok(Self {
            interface: variable("CNI_IFNAME")?,
            namespace: variable("CNI_NETNS")?,
            bridge: text("/bridge")?.to_owned(),
            host_interface: host_interface(&container_id),
            gateway: Ipv4Addr::from_bits(network.to_bits() + 1),
            prefix: prefix.parse().context("subnet")?,
            store: PathBuf::from(text("/ipam/dataDir")?).join(text("/name")?),
            mappings: mappings(&configuration)?,
            assigned: text("/prevResult/ips/0/address").ok().and_then(address),
            container_id,
        })
    }
}

fn variable(name: &str) -> Result<String> {
    std::env::var(name).with_context(|| name.to_owned())
}

fn mappings(configuration: &Value) -> Result<Vec<Mapping>> {
    let mappings = configuration.pointer("/runtimeConfig/portMappings");
    let mappings = mappings.and_then(Value::as_array).into_iter().flatten();
    let port = |mapping: &Value, key: &str| {
        let port = mapping[key]
            .as_u64()
            .and_then(|port| u16::try_from(port).ok());
        port.with_context(|| key.to_owned())
    };
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

fn address(with_prefix: &str) -> Option<Ipv4Addr> {
    with_prefix.split_once('/')?.0.parse().ok()
}

/// A name for the host's end that no other container's has.
fn host_interface(container_id: &str) -> String {
    let mut hasher = DefaultHasher::new();
    container_id.hash(&mut hasher);
    format!("veth{:08x}", hasher.finish() as u32)
}
