//! Keys about IP that several plugins have. A key that holds a route is a [`Route`](crate::Route).

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Deserializer, de};
use weir_cni::parse_subnet;

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
    let subnet = parse_subnet(&text).map(Some);
    subnet.map_err(|expected| de::Error::custom(format!("expected {expected}, found {text:?}")))
}

#[cfg(test)]
mod tests {
    use crate::ipam::RangeKeys;

    #[test]
    fn a_subnet_without_its_prefix_length_is_reported_with_a_usual_one() {
        for (text, expected) in [
            (
                "10.1.0.0",
                "a prefix length after the address, such as `10.1.0.0/24`",
            ),
            (
                "fd00::",
                "a prefix length after the address, such as `fd00::/64`",
            ),
            (
                "10.1.0.0/33",
                "a prefix length from 0 to 32 after the address",
            ),
        ] {
            let keys = serde_json::json!({ "subnet": text });
            let error = serde_json::from_value::<RangeKeys>(keys).unwrap_err();
            let expected = format!("expected {expected}, found {text:?}");
            assert_eq!(error.to_string(), expected);
        }
    }
}
