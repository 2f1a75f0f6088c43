//! Keys about IP that several plugins have: addresses and routes.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Deserializer, de};
use weir_cni::Route;

/// One item of the key `routes`.
#[derive(Clone, Debug, Deserialize)]
pub struct RouteKeys {
    dst: IpNet,
    #[serde(default, deserialize_with = "address")]
    gw: Option<IpAddr>,
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
            gw: keys.gw,
            mtu: keys.mtu,
            advmss: keys.advmss,
            priority: keys.priority,
            table: keys.table,
            scope: keys.scope,
        }
    }
}

/// Returns an address, for `deserialize_with`; none for empty text, as in the reference plugins.
pub fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<IpAddr>, D::Error> {
    let Some(text) = text(deserializer)? else {
        return Ok(None);
    };
    let address = text.parse::<IpAddr>();
    let address = address.map_err(|_| de::Error::custom("expected an IP address"))?;
    Ok(Some(address.to_canonical()))
}

/// Returns text, for `deserialize_with`; none for empty text.
pub fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()))
}
