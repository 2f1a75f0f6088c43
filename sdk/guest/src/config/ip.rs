//! Keys about IP that several plugins have: addresses and routes.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Deserializer, de};
use weir_cni::Route;

/// One item of the key `routes`.
#[derive(Clone, Debug, Deserialize)]
pub struct RouteKeys {
    dst: IpNet,
    #[serde(default)]
    gw: Address,
    mtu: Option<u32>,
    advmss: Option<u32>,
    priority: Option<u32>,
    table: Option<u32>,
    scope: Option<u8>,
}

impl From<&RouteKeys> for Route {
    fn from(keys: &RouteKeys) -> Self {
        Route {
            dst: keys.dst,
            gw: keys.gw.0,
            mtu: keys.mtu,
            advmss: keys.advmss,
            priority: keys.priority,
            table: keys.table,
            scope: keys.scope,
        }
    }
}

/// An address; none for empty text, as in the reference plugins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address(pub Option<IpAddr>);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Ok(Address(None));
        };
        let address = text.parse::<IpAddr>();
        let address = address.map_err(|_| de::Error::custom("expected an IP address"))?;
        Ok(Address(Some(address.to_canonical())))
    }
}

/// Returns an address, for `deserialize_with`; none for empty text, as in the reference plugins.
pub fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<IpAddr>, D::Error> {
    Address::deserialize(deserializer).map(|address| address.0)
}

/// Returns a subnet, for `deserialize_with`.
pub fn subnet<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<IpNet>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let subnet = text.parse().map(Some);
    subnet.map_err(|_| de::Error::custom("expected a subnet such as `10.1.0.0/16`"))
}
