//! The configuration: the keys inside `ipam`, and what `args` and `runtimeConfig` put in their
//! place.

use serde::Deserialize;
use weir_sdk::Dns;
use weir_sdk::config::IpamConfig;
use weir_sdk::config::ip::{Address, RouteKeys};

/// The parts of an execution configuration that are this plugin's.
pub type Config = IpamConfig<Ipam, Ips, Ips>;

/// `ipam`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Ipam {
    /// The addresses to assign.
    pub addresses: Vec<AddressKeys>,
    /// Routes to pass on.
    pub routes: Vec<RouteKeys>,
    /// DNS settings to pass on.
    pub dns: Dns,
}

/// One address.
#[derive(Clone, Debug, Deserialize)]
pub struct AddressKeys {
    /// With its prefix length.
    pub address: String,
    /// Its gateway.
    #[serde(default)]
    pub gateway: Address,
}

/// A key `ips`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Ips {
    /// Addresses with their prefix lengths.
    pub ips: Vec<String>,
}
