//! Keys about IP that several plugins have. A key that holds a route is a [`Route`](crate::Route).

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Deserializer, de};
use weir_cni::parse_cidr;

pub use weir_cni::optional_address as address;

/// An address; none for empty text, as in the reference plugins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address(pub Option<IpAddr>);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        address(deserializer).map(Address)
    }
}

/// Returns a subnet, for `deserialize_with`.
pub fn subnet<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<IpNet>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let subnet = parse_cidr(&text).map(Some);
    subnet.map_err(|expected| de::Error::custom(format!("expected {expected}")))
}
